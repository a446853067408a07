/* Types of the Swift mangling: built-in, function, tuple, bound generic, existential and others. */
#include "demangle/swift_parse.h"

#include <string.h>

/* ---- B ---- */

enum { MAX_BITS = 4096 };

static struct swift_node *builtin_text(struct swift_parser *p, const char *before, int number,
                                       const char *after, size_t after_length)
{
    char digits[12];
    int used = 0;
    do
        digits[used++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    size_t length = strlen(before) + (size_t)used + after_length;
    char *text = swift_take(p->arena, length), *at = text;
    if (text == NULL)
        return NULL;
    for (; *before != '\0'; before++)
        *at++ = *before;
    while (used > 0)
        *at++ = digits[--used];
    if (after_length != 0)
        memcpy(at, after, after_length);
    return swift_new_text(p->arena, SW_BUILTIN, text, length);
}

static struct swift_node *read_sized_builtin(struct swift_parser *p, const char *name)
{
    int size = swift_index(p) - 1;
    return size > 0 && size <= MAX_BITS ? builtin_text(p, name, size, "", 0) : NULL;
}

struct swift_node *swift_vector(struct swift_parser *p, int size, const struct swift_node *element)
{
    static const char prefix[] = "Builtin.";
    if (size <= 0 || size > MAX_BITS || element == NULL || element->length < sizeof(prefix))
        return NULL;
    size_t length = element->length - (sizeof(prefix) - 1);
    char *name = swift_take(p->arena, length + 1);
    if (name == NULL)
        return NULL;
    name[0] = 'x';
    memcpy(name + 1, element->text + sizeof(prefix) - 1, length);
    return builtin_text(p, "Builtin.Vec", size, name, length + 1);
}

struct swift_node *swift_read_builtin(struct swift_parser *p)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {
        {'A', "Builtin.ImplicitActor"},
        {'B', "Builtin.UnsafeValueBuffer"},
        {'D', "Builtin.DefaultActorStorage"},
        {'I', "Builtin.IntLiteral"},
        {'O', "Builtin.UnknownObject"},
        {'P', "Builtin.PackIndex"},
        {'T', "Builtin.TheTupleType"},
        {'b', "Builtin.BridgeObject"},
        {'c', "Builtin.RawUnsafeContinuation"},
        {'d', "Builtin.NonDefaultDistributedActorStorage"},
        {'e', "Builtin.Executor"},
        {'j', "Builtin.Job"},
        {'o', "Builtin.NativeObject"},
        {'p', "Builtin.RawPointer"},
        {'t', "Builtin.SILToken"},
        {'w', "Builtin.Word"},
    };
    char c = swift_next(p);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].letter == c)
            return swift_new_words(p->arena, SW_BUILTIN, names[i].name);
    struct swift_node *type;
    int size;
    switch (c) {
    case 'f': return read_sized_builtin(p, "Builtin.FPIEEE");
    case 'i': return read_sized_builtin(p, "Builtin.Int");
    case 'v':
        size = swift_index(p) - 1;
        return swift_vector(p, size, swift_pop_kind(p, SW_BUILTIN));
    case 'V':
        type = swift_pop_type(p);
        return swift_new_2(p->arena, SW_FIXED_ARRAY, swift_pop_type(p), type);
    case 'W': return swift_new_1(p->arena, SW_BORROW, swift_pop_type(p));
    default: return NULL;
    }
}

/* ---- function types ---- */

/* A raw C type behind its length. */
static struct swift_node *read_clang_type(struct swift_parser *p)
{
    int length = swift_natural(p);
    if (length <= 0 || length > p->end - p->at)
        return NULL;
    p->at += length;
    return swift_new_text(p->arena, SW_WORDS, p->at - length, (size_t)length);
}

static struct swift_node *pop_parameters(struct swift_parser *p)
{
    return swift_pop_kind(p, SW_EMPTY_LIST) != NULL ? swift_new(p->arena, SW_TUPLE)
                                                    : swift_pop_type(p);
}

struct swift_node *swift_pop_function(struct swift_parser *p, unsigned representation,
                                      bool clang_type)
{
    struct swift_node *type = swift_new_slots(p->arena, SW_FUNCTION_TYPE, SW_FN_SLOTS);
    if (type == NULL)
        return NULL;
    struct swift_node **slot = type->kids;
    if (clang_type && (slot[SW_FN_CLANG] = read_clang_type(p)) == NULL)
        return NULL;
    type->index = representation;
    if (swift_pop_kind(p, SW_SENDING_RESULT) != NULL)
        type->index |= SW_FN_SENDING;
    struct swift_node *top = swift_top(p);
    if (swift_kind_is(top, SW_GLOBAL_ACTOR) || swift_kind_is(top, SW_ISOLATED_ANY) ||
        swift_kind_is(top, SW_NONISOLATED_CALLER))
        slot[SW_FN_ISOLATION] = swift_pop(p);
    slot[SW_FN_DIFFERENTIABLE] = swift_pop_kind(p, SW_DIFFERENTIABLE);
    slot[SW_FN_THROWN] = swift_pop_kind(p, SW_THROWS);
    if (slot[SW_FN_THROWN] == NULL)
        slot[SW_FN_THROWN] = swift_pop_kind(p, SW_TYPED_THROWS);
    if (swift_pop_kind(p, SW_SENDABLE) != NULL)
        type->index |= SW_FN_SENDABLE;
    if (swift_pop_kind(p, SW_ASYNC) != NULL)
        type->index |= SW_FN_ASYNC;
    slot[SW_FN_PARAMS] = pop_parameters(p);
    slot[SW_FN_RESULT] = pop_parameters(p);
    return slot[SW_FN_PARAMS] != NULL && slot[SW_FN_RESULT] != NULL ? type : NULL;
}

struct swift_node *swift_read_annotation(struct swift_parser *p)
{
    struct swift_arena *arena = p->arena;
    char c = swift_next(p);
    switch (c) {
    case 'A': return swift_new(arena, SW_ISOLATED_ANY);
    case 'C': return swift_new(arena, SW_NONISOLATED_CALLER);
    case 'K': return swift_new_1(arena, SW_TYPED_THROWS, swift_pop_type(p));
    case 'T': return swift_new(arena, SW_SENDING_RESULT);
    case 'a': return swift_new(arena, SW_ASYNC);
    case 'b': return swift_new(arena, SW_SENDABLE);
    case 'c': return swift_new_1(arena, SW_GLOBAL_ACTOR, swift_pop_type(p));
    case 'g': return swift_new_1(arena, SW_CONST_VALUE, swift_pop_type(p));
    case 'i': return swift_new_1(arena, SW_ISOLATED, swift_pop_type(p));
    case 'j':
        c = swift_next(p);
        return c == 'f' || c == 'r' || c == 'd' || c == 'l'
                   ? swift_new_index(arena, SW_DIFFERENTIABLE, (uint64_t)c)
                   : NULL;
    case 'k': return swift_new_1(arena, SW_NO_DERIVATIVE, swift_pop_type(p));
    case 't': return swift_new_1(arena, SW_COMPILE_TIME, swift_pop_type(p));
    case 'u': return swift_new_1(arena, SW_SENDING, swift_pop_type(p));
    default: return NULL;
    }
}

/* ---- tuples, packs ---- */

static struct swift_node *pop_element(struct swift_parser *p)
{
    bool variadic = swift_pop_kind(p, SW_VARIADIC_MARK) != NULL;
    struct swift_node *label = swift_pop_kind(p, SW_IDENTIFIER);
    struct swift_node *element = swift_new_1(p->arena, SW_ELEMENT, swift_pop_type(p));
    if (element == NULL)
        return NULL;
    element->flags = variadic;
    if (label != NULL) {
        element->text = label->text;
        element->length = label->length;
    }
    return element;
}

struct swift_node *swift_read_tuple(struct swift_parser *p)
{
    return swift_pop_list(p, SW_TUPLE, pop_element);
}

/* ---- G ---- */

/* Whether generic arguments for this declaration stand in their own list. */
static bool takes_arguments(const struct swift_node *node)
{
    switch (node->kind) {
    case SW_VARIABLE:
    case SW_SUBSCRIPT:
    case SW_CLOSURE:
    case SW_DEFAULT_ARGUMENT:
    case SW_INITIALIZER:
    case SW_STATIC: return false;
    default: return true;
    }
}

struct swift_node *swift_pop_arguments(struct swift_parser *p)
{
    while (swift_pop_kind(p, SW_RETROACTIVE) != NULL)
        continue;
    struct swift_node *lists = swift_new(p->arena, SW_TYPE_LIST);
    for (;;) {
        struct swift_node *list = swift_new(p->arena, SW_TYPE_LIST);
        for (struct swift_node *type; (type = swift_pop_type(p)) != NULL;)
            list = swift_add(p->arena, list, type);
        if (list == NULL)
            return NULL;
        swift_reverse(list, 0);
        if (swift_add(p->arena, lists, list) == NULL)
            return NULL;
        if (swift_pop_kind(p, SW_EMPTY_LIST) != NULL)
            return lists;
        if (swift_pop_kind(p, SW_FIRST_MARK) == NULL)
            return NULL;
    }
}

static struct swift_node *bind(struct swift_arena *arena, struct swift_node *node,
                               struct swift_node *arguments)
{
    if (arguments->count == 0)
        return node;
    bool function = node->kind == SW_FUNCTION || node->kind == SW_CONSTRUCTOR;
    if (!function && !swift_is(node, SW_IS_NOMINAL))
        return NULL;
    return swift_new_2(arena, function ? SW_BOUND_FUNCTION : SW_BOUND_GENERIC, node, arguments);
}

enum { MAX_BOUND_DEPTH = 64 };

/* The contexts of a nested type take the outer lists. From the type outwards the contexts are
 * collected, then rebuilt from the outermost inwards: no recursion. */
static struct swift_node *bind_all(struct swift_parser *p, struct swift_node *nominal,
                                   const struct swift_node *lists)
{
    struct {
        struct swift_node *node, *arguments;
    } chain[MAX_BOUND_DEPTH];
    unsigned depth = 0;
    uint32_t list = 0;
    for (struct swift_node *node = nominal; list < lists->count;) {
        if (depth == MAX_BOUND_DEPTH || node == NULL || node->count == 0)
            return NULL;
        bool extension = node->kind == SW_EXTENSION;
        bool takes = !extension && takes_arguments(node);
        chain[depth].node = node;
        chain[depth++].arguments = takes ? lists->kids[list] : NULL;
        list += takes;
        node = extension ? swift_kid(node, 1) : swift_kid(node, SW_IN);
    }
    struct swift_node *inner = NULL;
    while (depth > 0) {
        struct swift_node *node = chain[--depth].node;
        if (inner != NULL) {
            node = swift_copy(p->arena, node);
            if (node == NULL)
                return NULL;
            node->kids[node->kind == SW_EXTENSION ? 1 : 0] = inner;
        }
        if (chain[depth].arguments != NULL)
            node = bind(p->arena, node, chain[depth].arguments);
        if (node == NULL)
            return NULL;
        inner = node;
    }
    return inner;
}

struct swift_node *swift_read_bound_generic(struct swift_parser *p)
{
    struct swift_node *lists = swift_pop_arguments(p);
    struct swift_node *nominal = swift_pop_nominal(p);
    if (lists == NULL || nominal == NULL)
        return NULL;
    return swift_substitutable(p, bind_all(p, nominal, lists));
}

/* ---- existentials ---- */

struct swift_node *swift_read_protocol_list(struct swift_parser *p)
{
    return swift_pop_list(p, SW_PROTOCOLS, swift_pop_protocol);
}

static struct swift_node *read_constrained(struct swift_parser *p)
{
    struct swift_node *list = swift_new(p->arena, SW_COMMA_LIST);
    for (bool first = false; !first;) {
        first = swift_pop_kind(p, SW_FIRST_MARK) != NULL;
        if (swift_add(p->arena, list, swift_pop_flags(p, SW_IS_REQUIREMENT)) == NULL)
            return NULL;
    }
    swift_reverse(list, 0);
    return swift_new_2(p->arena, SW_CONSTRAINED, swift_pop_type(p), list);
}

static struct swift_node *read_metatype(struct swift_parser *p, enum swift_kind kind)
{
    char c = swift_next(p);
    const char *words = c == 't'   ? "@thin"
                        : c == 'T' ? "@thick"
                        : c == 'o' ? "@objc_metatype"
                                   : NULL;
    if (words == NULL)
        return NULL;
    struct swift_node *type = swift_new_1(p->arena, kind, swift_pop_type(p));
    return swift_add(p->arena, type, swift_new_words(p->arena, SW_WORDS, words));
}

/* ---- X ---- */

static struct swift_node *read_layout_box(struct swift_parser *p, bool generic)
{
    struct swift_node *signature = NULL, *arguments = NULL;
    if (generic) {
        signature = swift_pop_kind(p, SW_SIGNATURE);
        arguments = swift_pop_type_list(p);
        if (signature == NULL || arguments == NULL)
            return NULL;
    }
    struct swift_node *types = swift_pop_type_list(p);
    struct swift_node *fields = swift_new(p->arena, SW_TYPE_LIST);
    for (uint32_t i = 0; types != NULL && i < types->count; i++) {
        struct swift_node *type = types->kids[i];
        bool mutable = type->kind == SW_INOUT;
        fields = swift_add(p->arena, fields,
                           swift_new_1(p->arena, mutable ? SW_MUTABLE_FIELD : SW_FIXED_FIELD,
                                       mutable ? type->kids[0] : type));
    }
    if (types == NULL || fields == NULL)
        return NULL;
    struct swift_node *box = swift_new_slots(p->arena, SW_LAYOUT_BOX, 3);
    if (box == NULL)
        return NULL;
    box->kids[0] = fields;
    box->kids[1] = signature;
    box->kids[2] = arguments;
    return box;
}

static struct swift_node *read_sugar(struct swift_parser *p)
{
    char c = swift_next(p);
    struct swift_node *type = swift_pop_type(p);
    switch (c) {
    case 'q': return swift_new_1(p->arena, SW_SUGARED_OPTIONAL, type);
    case 'a': return swift_new_1(p->arena, SW_SUGARED_ARRAY, type);
    case 'p': return swift_new_1(p->arena, SW_SUGARED_PAREN, type);
    case 'D': return swift_new_2(p->arena, SW_SUGARED_DICTIONARY, swift_pop_type(p), type);
    case 'A': return swift_new_2(p->arena, SW_SUGARED_INLINE_ARRAY, swift_pop_type(p), type);
    default: return NULL;
    }
}

/* XZ: a context that the runtime did not know. */
static struct swift_node *read_anonymous(struct swift_parser *p)
{
    struct swift_node *types = swift_pop_type_list(p);
    struct swift_node *name = swift_pop_kind(p, SW_IDENTIFIER);
    return swift_new_3(p->arena, SW_ANONYMOUS, swift_pop_context(p), name, types);
}

/* XG, Xg: the shape of an existential type, with or without generic parameters of its own. */
static struct swift_node *read_shape(struct swift_parser *p, bool generic)
{
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *signature = generic ? swift_pop_kind(p, SW_SIGNATURE) : NULL;
    if (generic && signature == NULL)
        return NULL;
    struct swift_node *shape = swift_new_1(p->arena, SW_EXISTENTIAL_SHAPE, type);
    return signature != NULL ? swift_add(p->arena, shape, signature) : shape;
}

static struct swift_node *read_clang_function(struct swift_parser *p)
{
    switch (swift_next(p)) {
    case 'B': return swift_pop_function(p, SW_FN_BLOCK, true);
    case 'C': return swift_pop_function(p, SW_FN_C, true);
    default: return NULL;
    }
}

struct swift_node *swift_read_special_type(struct swift_parser *p)
{
    struct swift_arena *arena = p->arena;
    struct swift_node *type;
    char c = swift_next(p);
    switch (c) {
    case 'A': return swift_pop_function(p, SW_FN_ESCAPING_AUTOCLOSURE, false);
    case 'B': return swift_pop_function(p, SW_FN_BLOCK, false);
    case 'C': return swift_pop_function(p, SW_FN_C, false);
    case 'D': /* the type is not shown */
        return swift_pop_type(p) != NULL ? swift_new(arena, SW_DYNAMIC_SELF) : NULL;
    case 'E': return swift_pop_function(p, SW_FN_NOESCAPE, false);
    case 'G':
    case 'g': return read_shape(p, c == 'G');
    case 'K': return swift_pop_function(p, SW_FN_AUTOCLOSURE, false);
    case 'L': return swift_pop_function(p, SW_FN_ESCAPING_BLOCK, false);
    case 'M': return read_metatype(p, SW_METATYPE);
    case 'P': return read_constrained(p);
    case 'S': return read_sugar(p);
    case 'U': return swift_pop_function(p, SW_FN_UNCURRIED, false);
    case 'X':
    case 'x': return read_layout_box(p, c == 'X');
    case 'Y': return swift_read_nominal(p, SW_OTHER_NOMINAL);
    case 'Z': return read_anonymous(p);
    case 'b': return swift_new_1(arena, SW_BOX, swift_pop_type(p));
    case 'c':
        type = swift_pop_type(p);
        return swift_new_2(arena, SW_PROTOCOLS_CLASS, swift_read_protocol_list(p), type);
    case 'e': return swift_new(arena, SW_ERROR_TYPE);
    case 'f': return swift_pop_function(p, SW_FN_THIN, false);
    case 'l': return swift_new_1(arena, SW_PROTOCOLS_ANYOBJECT, swift_read_protocol_list(p));
    case 'm': return read_metatype(p, SW_EXISTENTIAL_METATYPE);
    case 'o': return swift_new_1(arena, SW_UNOWNED, swift_pop_type(p));
    case 'p': return swift_new_1(arena, SW_EXISTENTIAL_METATYPE, swift_pop_type(p));
    case 'u': return swift_new_1(arena, SW_UNMANAGED, swift_pop_type(p));
    case 'w': return swift_new_1(arena, SW_WEAK, swift_pop_type(p));
    case 'z': return read_clang_function(p);
    default: return NULL;
    }
}
