/* Types, generic signatures and conformances in the mangling of Swift 1 to 3. */
#include "demangle/swift_old.h"

#include <string.h>

static struct swift_node *wrap(struct swift_parser *p, enum swift_kind kind)
{
    return swift_new_1(p->arena, kind, swift_old_type(p));
}

/* ---- built-in types ---- */

/* The letters and sizes are those of the current mangling, but for a vector's element, which comes
 * behind the count. */
static struct swift_node *read_builtin(struct swift_parser *p)
{
    char c = swift_peek(p);
    if (c == 'v') {
        p->at++;
        int count = swift_natural(p);
        c = swift_next_if(p, 'B') ? swift_peek(p) : '\0';
        bool known = c == 'i' || c == 'f' || c == 'p';
        return known ? swift_vector(p, count, swift_read_builtin(p)) : NULL;
    }
    return c != '\0' && strchr("bBfiOoptw", c) != NULL ? swift_read_builtin(p) : NULL;
}

/* ---- generics ---- */

/* 'x' is the first parameter; no 'z' here. */
static struct swift_node *read_param(struct swift_parser *p)
{
    if (swift_next_if(p, 'x'))
        return swift_param(p, 0, 0);
    return swift_peek(p) == 'z' || swift_peek(p) == 's' ? NULL : swift_read_param(p);
}

static struct swift_node *read_member(struct swift_parser *p, struct swift_node *base)
{
    struct swift_node *name, *protocol = NULL;
    if (swift_next_if(p, 'S')) {
        name = swift_old_substitution(p);
        return swift_kind_is(name, SW_ASSOC_NAME) ? swift_new_2(p->arena, SW_MEMBER, base, name)
                                                  : NULL;
    }
    if (swift_next_if(p, 'P') && (protocol = swift_old_protocol(p)) == NULL)
        return NULL;
    name = swift_new_1(p->arena, SW_ASSOC_NAME, swift_old_identifier(p));
    if (protocol != NULL)
        name = swift_add(p->arena, name, protocol);
    return swift_new_2(p->arena, SW_MEMBER, base, swift_substitutable(p, name));
}

static struct swift_node *read_members(struct swift_parser *p)
{
    struct swift_node *base = read_param(p);
    while (base != NULL && !swift_next_if(p, '_'))
        base = read_member(p, base);
    return base;
}

static struct swift_node *read_subject(struct swift_parser *p)
{
    if (swift_next_if(p, 'w'))
        return read_member(p, read_param(p));
    return swift_next_if(p, 'W') ? read_members(p) : read_param(p);
}

static struct swift_node *natural_node(struct swift_parser *p)
{
    int value = swift_natural(p);
    return value >= 0 ? swift_new_index(p->arena, SW_INDEX, (uint64_t)value) : NULL;
}

static struct swift_node *read_layout(struct swift_parser *p, struct swift_node *subject)
{
    char letter = swift_next(p);
    struct swift_node *layout = letter != '\0' && strchr("URNTEeMm", letter) != NULL
                                    ? swift_new_1(p->arena, SW_REQ_LAYOUT, subject)
                                    : NULL;
    if (layout == NULL)
        return NULL;
    layout->index = (uint64_t)letter;
    if (strchr("EeMm", letter) != NULL)
        layout = swift_add(p->arena, layout, natural_node(p));
    if (letter != 'E' && letter != 'M')
        return layout;
    return swift_next_if(p, '_') ? swift_add(p->arena, layout, natural_node(p)) : NULL;
}

static struct swift_node *read_requirement(struct swift_parser *p)
{
    struct swift_node *subject = read_subject(p), *constraint;
    if (subject == NULL)
        return NULL;
    if (swift_next_if(p, 'z'))
        return swift_new_2(p->arena, SW_REQ_SAME, subject, swift_old_type(p));
    if (swift_next_if(p, 'l'))
        return read_layout(p, subject);
    const char *start = p->at;
    if (swift_peek(p) == 'C') {
        constraint = swift_old_type(p);
    } else if (swift_next_if(p, 'S')) { /* a type, or the module of a protocol */
        constraint = swift_old_substitution(p);
        if (swift_kind_is(constraint, SW_MODULE)) {
            p->at = start;
            constraint = swift_old_protocol(p);
        } else if (!swift_kind_is(constraint, SW_PROTOCOL) &&
                   !swift_kind_is(constraint, SW_CLASS)) {
            return NULL;
        }
    } else {
        constraint = swift_old_protocol(p);
    }
    return swift_new_2(p->arena, SW_REQ_CONFORMS, subject, constraint);
}

/* INDEX of the last parameter at a depth. This mangling has no limit to it. */
static int read_last_param(struct swift_parser *p)
{
    const char *start = p->at;
    int index = swift_index(p);
    if (index != SWIFT_BAD_NUMBER)
        return index;
    while (swift_peek(p) >= '0' && swift_peek(p) <= '9')
        p->at++;
    return p->at > start && swift_next_if(p, '_') ? 1 << 27 : SWIFT_BAD_NUMBER;
}

struct swift_node *swift_old_signature(struct swift_parser *p)
{
    struct swift_node *signature = swift_new(p->arena, SW_SIGNATURE);
    while (swift_peek(p) != 'R' && swift_peek(p) != 'r') {
        int count = 0;
        if (!swift_next_if(p, 'z') && (count = read_last_param(p) + 1) == 0)
            return NULL;
        signature =
            swift_add(p->arena, signature, swift_new_index(p->arena, SW_COUNT, (uint64_t)count));
        if (signature == NULL)
            return NULL;
    }
    if (signature != NULL && signature->count == 0)
        signature = swift_add(p->arena, signature, swift_new_index(p->arena, SW_COUNT, 1));
    if (signature == NULL || swift_next_if(p, 'r'))
        return signature;
    p->at++; /* 'R' */
    while (!swift_next_if(p, 'r'))
        if (swift_add(p->arena, signature, read_requirement(p)) == NULL)
            return NULL;
    return signature;
}

struct swift_node *swift_old_conformance(struct swift_parser *p)
{
    struct swift_node *type = swift_old_type(p);
    struct swift_node *protocol = type != NULL ? swift_old_protocol(p) : NULL;
    struct swift_node *context = protocol != NULL ? swift_old_context(p) : NULL;
    return swift_new_3(p->arena, SW_CONFORMANCE, type, protocol, context);
}

/* ---- functions, tuples ---- */

static struct swift_node *read_function(struct swift_parser *p, unsigned representation)
{
    struct swift_node *type = swift_new_slots(p->arena, SW_FUNCTION_TYPE, SW_FN_SLOTS);
    if (type == NULL)
        return NULL;
    type->index = representation;
    if (swift_next_if(p, 'z'))
        type->kids[SW_FN_THROWN] = swift_new(p->arena, SW_THROWS);
    if (swift_next_if(p, 'y'))
        type->index |= SW_FN_SENDABLE;
    if (swift_next_if(p, 'Z'))
        type->index |= SW_FN_ASYNC;
    if (p->end - p->at >= 2 && p->at[0] == 'D' && memchr("dflr", p->at[1], 4) != NULL) {
        type->kids[SW_FN_DIFFERENTIABLE] =
            swift_new_index(p->arena, SW_DIFFERENTIABLE, (uint64_t)p->at[1]);
        p->at += 2;
    }
    if (swift_next_if(p, 'Y')) {
        type->kids[SW_FN_ISOLATION] = wrap(p, SW_GLOBAL_ACTOR);
        if (type->kids[SW_FN_ISOLATION] == NULL)
            return NULL;
    }
    struct swift_node *params = swift_old_type(p);
    struct swift_node *result = params != NULL ? swift_old_type(p) : NULL;
    type->kids[SW_FN_PARAMS] = params;
    type->kids[SW_FN_RESULT] = result;
    return result != NULL ? type : NULL;
}

static struct swift_node *read_tuple(struct swift_parser *p, bool variadic)
{
    struct swift_node *tuple = swift_new(p->arena, SW_TUPLE);
    while (!swift_next_if(p, '_')) {
        struct swift_node *label = NULL;
        char c = swift_peek(p);
        bool labelled = (c >= '0' && c <= '9') || c == 'o';
        if (labelled && (label = swift_old_identifier(p)) == NULL)
            return NULL;
        struct swift_node *element = wrap(p, SW_ELEMENT);
        if (element != NULL && label != NULL) {
            element->text = label->text;
            element->length = label->length;
        }
        if (swift_add(p->arena, tuple, element) == NULL)
            return NULL;
    }
    if (variadic && tuple != NULL && tuple->count != 0)
        tuple->kids[tuple->count - 1]->flags = true;
    return tuple;
}

/* ---- XF ---- */

/* What a convention's letter means for a callee, a parameter and a result. */
static const char *convention(struct swift_parser *p, unsigned of)
{
    static const struct {
        char letter;
        const char *words[3];
    } conventions[] = {
        {'D', {NULL, NULL, "@unowned_inner_pointer"}},
        {'a', {NULL, NULL, "@autoreleased"}},
        {'b', {NULL, "@inout_aliasable", NULL}},
        {'d', {"@callee_unowned", "@unowned", "@unowned"}},
        {'e', {NULL, "@deallocating", NULL}},
        {'g', {"@callee_guaranteed", "@guaranteed", NULL}},
        {'i', {NULL, "@in", "@out"}},
        {'l', {NULL, "@inout", NULL}},
        {'o', {"@callee_owned", "@owned", "@owned"}},
        {'t', {"@convention(thin)", NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof(conventions) / sizeof(conventions[0]); i++)
        if (conventions[i].words[of] != NULL && swift_next_if(p, conventions[i].letter))
            return conventions[i].words[of];
    return NULL;
}

static bool read_values(struct swift_parser *p, struct swift_node *list, unsigned of)
{
    while (!swift_next_if(p, '_')) {
        const char *before = of == 2 && swift_next_if(p, 'z') ? "@error " : "";
        const char *words = convention(p, of);
        struct swift_node *value =
            words != NULL ? swift_new_slots(p->arena, SW_IMPL_VALUE, 4) : NULL;
        if (value == NULL || (value->kids[3] = swift_old_type(p)) == NULL)
            return false;
        swift_say(value, before);
        value->kids[0] = swift_new_words(p->arena, SW_WORDS, words);
        if (swift_add(p->arena, list, value) == NULL)
            return false;
    }
    return true;
}

static bool read_attributes(struct swift_parser *p, struct swift_node *list)
{
    static const char letters[] = "bcmOw";
    static const char *const words[] = {"@convention(block)", "@convention(c)",
                                        "@convention(method)", "@convention(objc_method)",
                                        "@convention(witness_method)"};
    while (swift_next_if(p, 'C')) {
        char c = swift_next(p);
        const char *at = c != '\0' ? strchr(letters, c) : NULL;
        if (at == NULL ||
            swift_add(p->arena, list, swift_new_words(p->arena, SW_WORDS, words[at - letters])) ==
                NULL)
            return false;
    }
    if (!swift_next_if(p, 'G') && !swift_next_if(p, 'g'))
        return true;
    return swift_add(p->arena, list, swift_old_signature(p)) != NULL;
}

static struct swift_node *read_impl_function(struct swift_parser *p)
{
    struct swift_node *type = swift_new_slots(p->arena, SW_IMPL_FUNCTION, 6);
    const char *callee = convention(p, 0);
    if (type == NULL || callee == NULL)
        return NULL;
    for (unsigned i = 0; i < 4; i++)
        if (i != 1 && (type->kids[i] = swift_new(p->arena, SW_TYPE_LIST)) == NULL)
            return NULL;
    bool fine = swift_add(p->arena, type->kids[0], swift_new_words(p->arena, SW_WORDS, callee)) &&
                read_attributes(p, type->kids[0]) && swift_next_if(p, '_') &&
                read_values(p, type->kids[2], 1) && read_values(p, type->kids[3], 2);
    return fine ? type : NULL;
}

/* ---- types ---- */

static struct swift_node *read_metatype(struct swift_parser *p, enum swift_kind kind)
{
    char c = swift_next(p);
    const char *words = c == 't'   ? "@thin"
                        : c == 'T' ? "@thick"
                        : c == 'o' ? "@objc_metatype"
                                   : NULL;
    struct swift_node *type = words != NULL ? wrap(p, kind) : NULL;
    return type != NULL ? swift_add(p->arena, type, swift_new_words(p->arena, SW_WORDS, words))
                        : NULL;
}

/* A box with fields, perhaps generic: then arguments follow. The slots are those of "XX" in
 * swift_parse_types.c. */
static struct swift_node *read_layout_box(struct swift_parser *p)
{
    struct swift_node *box = swift_new_slots(p->arena, SW_LAYOUT_BOX, 3);
    struct swift_node *fields = swift_new(p->arena, SW_TYPE_LIST);
    if (box == NULL || fields == NULL ||
        (swift_next_if(p, 'G') && (box->kids[1] = swift_old_signature(p)) == NULL))
        return NULL;
    while (!swift_next_if(p, '_')) {
        char c = swift_next(p);
        enum swift_kind kind = c == 'm' ? SW_MUTABLE_FIELD : SW_FIXED_FIELD;
        if ((c != 'm' && c != 'i') || swift_add(p->arena, fields, wrap(p, kind)) == NULL)
            return NULL;
    }
    box->kids[0] = fields;
    if (box->kids[1] == NULL)
        return box;
    struct swift_node *arguments = swift_new(p->arena, SW_TYPE_LIST);
    while (!swift_next_if(p, '_'))
        if (swift_add(p->arena, arguments, swift_old_type(p)) == NULL)
            return NULL;
    box->kids[2] = arguments;
    return box;
}

static struct swift_node *read_special(struct swift_parser *p)
{
    switch (swift_next(p)) {
    case 'B': return read_layout_box(p);
    case 'F': return read_impl_function(p);
    case 'M': return read_metatype(p, SW_METATYPE);
    case 'P': return swift_next_if(p, 'M') ? read_metatype(p, SW_EXISTENTIAL_METATYPE) : NULL;
    case 'b': return wrap(p, SW_BOX);
    case 'f': return read_function(p, SW_FN_THIN);
    case 'o': return wrap(p, SW_UNOWNED);
    case 'u': return wrap(p, SW_UNMANAGED);
    case 'w': return wrap(p, SW_WEAK);
    default: return NULL;
    }
}

static struct swift_node *read_protocols(struct swift_parser *p)
{
    struct swift_node *list = swift_new(p->arena, SW_PROTOCOLS);
    while (!swift_next_if(p, '_'))
        if (swift_add(p->arena, list, swift_old_protocol(p)) == NULL)
            return NULL;
    return list;
}

static struct swift_node *read_dependent(struct swift_parser *p)
{
    char c = swift_peek(p);
    if (c == 'd' || c == '_' || (c >= '0' && c <= '9'))
        return read_param(p);
    struct swift_node *base = swift_old_type(p);
    return base != NULL ? read_member(p, base) : NULL;
}

static struct swift_node *read_archetype(struct swift_parser *p)
{
    struct swift_node *root = NULL;
    unsigned deep = 0;
    while (swift_next_if(p, 'Q'))
        deep++;
    if (swift_next_if(p, 'S'))
        root = swift_old_substitution(p);
    else if (swift_next_if(p, 's'))
        root = swift_new_words(p->arena, SW_MODULE, "Swift");
    for (unsigned i = 0; root != NULL && i <= deep; i++)
        root = swift_substitutable(
            p, swift_new_2(p->arena, SW_ASSOC_TYPE_REF, root, swift_old_identifier(p)));
    return root;
}

static struct swift_node *read_type(struct swift_parser *p)
{
    struct swift_node *signature;
    char c = swift_next(p);
    switch (c) {
    case 'B': return read_builtin(p);
    case 'C':
    case 'O':
    case 'S':
    case 'V': p->at--; return swift_old_nominal(p);
    case 'D': return swift_old_type(p) != NULL ? swift_new(p->arena, SW_DYNAMIC_SELF) : NULL;
    case 'E':
        return swift_next_if(p, 'R') && swift_next_if(p, 'R') ? swift_new(p->arena, SW_ERROR_TYPE)
                                                              : NULL;
    case 'F': return read_function(p, SW_FN_PLAIN);
    case 'G': return swift_old_bound_generic(p);
    case 'K': return read_function(p, SW_FN_AUTOCLOSURE);
    case 'M': return wrap(p, SW_METATYPE);
    case 'P': return swift_next_if(p, 'M') ? wrap(p, SW_EXISTENTIAL_METATYPE) : read_protocols(p);
    case 'Q': return read_archetype(p);
    case 'R': return wrap(p, SW_INOUT);
    case 'T':
    case 't': return read_tuple(p, c == 't');
    case 'W': return read_members(p);
    case 'X': return read_special(p);
    case 'a': return swift_old_declaration(p, SW_ALIAS);
    case 'b': return read_function(p, SW_FN_BLOCK);
    case 'c': return read_function(p, SW_FN_C);
    case 'f': return read_function(p, SW_FN_UNCURRIED);
    case 'q': return read_dependent(p);
    case 'u':
        signature = swift_old_signature(p);
        return signature != NULL
                   ? swift_new_2(p->arena, SW_GENERIC_TYPE, signature, swift_old_type(p))
                   : NULL;
    case 'w': return read_member(p, read_param(p));
    case 'x': return swift_param(p, 0, 0);
    default: return NULL;
    }
}

struct swift_node *swift_old_type(struct swift_parser *p)
{
    if (p->depth >= SWIFT_MAX_OLD_DEPTH)
        return NULL;
    p->depth++;
    struct swift_node *type = read_type(p);
    p->depth--;
    return type;
}
