/* Specialisations: "Function Specializations" in docs/ABI/Mangling.rst of Swift. */
#include "demangle/swift_parse.h"

#include <string.h>

/* SPEC-INFO: the compiler pass, and how it was run. */
static struct swift_node *read_info(struct swift_parser *p, const char *words)
{
    struct swift_node *spec = swift_new_words(p->arena, SW_SPECIALIZATION, words);
    if (spec == NULL)
        return NULL;
    if (swift_next_if(p, 'q'))
        spec->flags |= SW_SPEC_SERIALIZED;
    if (!swift_next_if(p, 'a'))
        swift_next_if(p, 'r');
    char pass = swift_next(p);
    return pass >= '0' && pass <= '9' ? spec : NULL;
}

static struct swift_node *read_generic(struct swift_parser *p, const char *words)
{
    struct swift_node *spec = read_info(p, words);
    struct swift_node *types = swift_pop_type_list(p);
    for (uint32_t i = 0; types != NULL && i < types->count; i++)
        spec = swift_add(p->arena, spec, swift_new_1(p->arena, SW_SPEC_PARAM, types->kids[i]));
    return types != NULL ? spec : NULL;
}

static struct swift_node *read_partial(struct swift_parser *p, const char *words)
{
    struct swift_node *spec = read_info(p, words);
    struct swift_node *param = swift_new_1(p->arena, SW_SPEC_PARAM, swift_pop_type(p));
    if (spec != NULL)
        spec->flags |= SW_SPEC_PARTIAL;
    return swift_add(p->arena, spec, param);
}

/* ---- Tf ---- */

static struct swift_node *constant(struct swift_parser *p, enum swift_spec what)
{
    struct swift_node *node = swift_new(p->arena, SW_SPEC_CONSTANT);
    if (node != NULL)
        node->number = what;
    return node;
}

/* A number, kept as it is written. */
static struct swift_node *number_constant(struct swift_parser *p, enum swift_spec what)
{
    const char *start = p->at;
    while (swift_peek(p) >= '0' && swift_peek(p) <= '9')
        p->at++;
    if (p->at == start)
        return NULL;
    return swift_add(p->arena, constant(p, what),
                     swift_new_text(p->arena, SW_WORDS, start, (size_t)(p->at - start)));
}

static struct swift_node *string_constant(struct swift_parser *p)
{
    char c = swift_next(p);
    const char *words = c == 'b' ? "u8" : c == 'w' ? "u16" : c == 'c' ? "objc" : NULL;
    return words == NULL ? NULL
                         : swift_add(p->arena, constant(p, SW_SPEC_STRING),
                                     swift_new_words(p->arena, SW_WORDS, words));
}

/* CONST-PROP */
static struct swift_node *read_constant(struct swift_parser *p)
{
    switch (swift_next(p)) {
    case 'S': return constant(p, SW_SPEC_STRUCT);
    case 'd': return number_constant(p, SW_SPEC_FLOAT);
    case 'f': return constant(p, SW_SPEC_FUNCTION);
    case 'g': return constant(p, SW_SPEC_GLOBAL);
    case 'i': return number_constant(p, SW_SPEC_INTEGER);
    case 'k': return constant(p, SW_SPEC_KEY_PATH);
    case 's': return string_constant(p);
    default: return NULL;
    }
}

static struct swift_node *options(struct swift_parser *p, unsigned set, bool all)
{
    if (all && set == SW_SPEC_EXISTENTIAL && swift_next_if(p, 'D'))
        set |= SW_SPEC_DEAD;
    if (all && swift_next_if(p, 'G'))
        set |= SW_SPEC_TO_GUARANTEED;
    if (all && swift_next_if(p, 'O'))
        set |= SW_SPEC_TO_OWNED;
    if (swift_next_if(p, 'X'))
        set |= SW_SPEC_EXPLODED;
    struct swift_node *node = constant(p, SW_SPEC_OPTIONS);
    if (node != NULL)
        node->flags = (uint16_t)set;
    return node;
}

/* ARG-SPEC-KIND */
static struct swift_node *read_argument(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *node = swift_new(p->arena, kind), *value;
    char c = swift_next(p);
    switch (c) {
    case 'n': return node;
    case 'p':
        value = read_constant(p);
        /* A struct is followed by what it is made of. */
        if (value != NULL && value->number == SW_SPEC_STRUCT)
            while (swift_peek(p) != '\0' && strchr("Sdfgiks", swift_peek(p)) != NULL) {
                node = swift_add(p->arena, node, value);
                value = read_constant(p);
            }
        break;
    case 'C': value = number_constant(p, SW_SPEC_SAME_AS); break;
    case 'E': value = constant(p, SW_SPEC_ESCAPING_CLOSURE); break;
    case 'c': value = constant(p, SW_SPEC_CLOSURE); break;
    case 'd': value = options(p, SW_SPEC_DEAD, true); break;
    case 'e': value = options(p, SW_SPEC_EXISTENTIAL, true); break;
    case 'g': value = options(p, SW_SPEC_TO_GUARANTEED, false); break;
    case 'i': value = constant(p, SW_SPEC_BOX_TO_VALUE); break;
    case 'o': value = options(p, SW_SPEC_TO_OWNED, false); break;
    case 'r': value = constant(p, SW_SPEC_INOUT_TO_OUT); break;
    case 's': value = constant(p, SW_SPEC_BOX_TO_STACK); break;
    case 'x': value = options(p, SW_SPEC_EXPLODED, false); break;
    default: return NULL;
    }
    return swift_add(p->arena, node, value);
}

/* Takes what a constant is made of from the stack. False: it is not there. */
static bool pop_payload(struct swift_parser *p, struct swift_node *node)
{
    enum swift_spec what = (enum swift_spec)node->number;
    if (what == SW_SPEC_STRUCT)
        return swift_add(p->arena, node, swift_pop_type(p)) != NULL;
    bool typed =
        what == SW_SPEC_CLOSURE || what == SW_SPEC_ESCAPING_CLOSURE || what == SW_SPEC_KEY_PATH;
    bool named =
        typed || what == SW_SPEC_FUNCTION || what == SW_SPEC_GLOBAL || what == SW_SPEC_STRING;
    if (!named)
        return true;
    uint32_t first = node->count;
    for (struct swift_node *type; typed && (type = swift_pop_type(p)) != NULL;)
        if (swift_add(p->arena, node, type) == NULL)
            return false;
    struct swift_node *name = swift_pop_kind(p, SW_IDENTIFIER);
    if (name == NULL)
        return false;
    /* In a string "_" escapes a digit or "_" at the front. */
    uint32_t skip = what == SW_SPEC_STRING && name->text[0] == '_';
    struct swift_node *payload =
        swift_new_text(p->arena, SW_PAYLOAD, name->text + skip, name->length - skip);
    if (swift_add(p->arena, node, payload) == NULL)
        return false;
    swift_reverse(node, first);
    return true;
}

static struct swift_node *read_signature_specialization(struct swift_parser *p)
{
    struct swift_node *spec = read_info(p, "function signature specialization");
    while (spec != NULL && !swift_next_if(p, '_'))
        spec = swift_add(p->arena, spec, read_argument(p, SW_SPEC_ARGUMENT));
    if (spec != NULL && !swift_next_if(p, 'n'))
        spec = swift_add(p->arena, spec, read_argument(p, SW_SPEC_RETURN));
    if (spec == NULL)
        return NULL;
    for (uint32_t i = spec->count; i-- > 0;) {
        struct swift_node *argument = spec->kids[i];
        for (uint32_t k = argument->count; argument->kind == SW_SPEC_ARGUMENT && k-- > 0;)
            if (!pop_payload(p, argument->kids[k]))
                return NULL;
    }
    return spec;
}

struct swift_node *swift_read_specialization(struct swift_parser *p, char kind)
{
    while (kind == 't') { /* an argument that is dropped: not shown */
        swift_natural(p);
        kind = swift_next(p);
    }
    switch (kind) {
    case 'B':
    case 'g': return read_generic(p, "generic specialization");
    case 'G': return read_generic(p, "generic not re-abstracted specialization");
    case 'P': return read_partial(p, "generic not-reabstracted partial specialization");
    case 'f': return read_signature_specialization(p);
    case 'i': return read_generic(p, "inlined generic function");
    case 'p': return read_partial(p, "generic partial specialization");
    case 's': return read_generic(p, "generic pre-specialization");
    default: return NULL;
    }
}
