/* Symbols in the mangling of Swift 1 to 3: metadata, witnesses, thunks and specialisations. */
#include "demangle/swift_old.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool next_if_text(struct swift_parser *p, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, text, length) != 0)
        return false;
    p->at += length;
    return true;
}

static struct swift_node *read_global(struct swift_parser *p);

/* ---- phrases ---- */

enum { TYPE, PROTOCOL, CONFORMANCE };

static const struct swift_phrase phrases[] = {
    {"MP", TYPE, "generic type metadata pattern for ", NULL},
    {"Ma", TYPE, "type metadata accessor for ", NULL},
    {"ML", TYPE, "lazy cache variable for type metadata for ", NULL},
    {"Mm", TYPE, "metaclass for ", NULL},
    {"Mn", TYPE, "nominal type descriptor for ", NULL},
    {"Mf", TYPE, "full type metadata for ", NULL},
    {"Mp", PROTOCOL, "protocol descriptor for ", NULL},
    {"M", TYPE, "type metadata for ", NULL},
    {"WV", TYPE, "value witness table for ", NULL},
    {"WP", CONFORMANCE, "protocol witness table for ", NULL},
    {"WG", CONFORMANCE, "generic protocol witness table for ", NULL},
    {"WI", CONFORMANCE, "instantiation function for generic protocol witness table for ", NULL},
    {"Wa", CONFORMANCE, "protocol witness table accessor for ", NULL},
};

static const struct swift_phrase attributes[] = {
    {"To", 0, "@objc ", NULL}, {"TO", 0, "@nonobjc ", NULL}, {"TD", 0, "dynamic ", NULL},
    {"Td", 0, "super ", NULL}, {"TV", 0, "override ", NULL},
};

static struct swift_node *with_phrase(struct swift_node *node, const struct swift_phrase *phrase)
{
    if (node != NULL)
        node->phrase = phrase;
    return node;
}

static struct swift_node *read_operand(struct swift_parser *p, int operand)
{
    return operand == TYPE       ? swift_old_type(p)
           : operand == PROTOCOL ? swift_old_protocol(p)
                                 : swift_old_conformance(p);
}

/* ---- specialisations ---- */

static struct swift_node *constant(struct swift_parser *p, enum swift_spec what,
                                   struct swift_node *first)
{
    struct swift_node *node = swift_new_1(p->arena, SW_SPEC_CONSTANT, first);
    if (node != NULL)
        node->number = what;
    return node;
}

static struct swift_node *read_payload(struct swift_parser *p)
{
    struct swift_node *name = swift_old_identifier(p);
    return name != NULL ? swift_new_text(p->arena, SW_PAYLOAD, name->text, name->length) : NULL;
}

static struct swift_node *read_number(struct swift_parser *p)
{
    const char *start = p->at;
    while (p->at < p->end && *p->at != '_')
        p->at++;
    return swift_new_text(p->arena, SW_WORDS, start, (size_t)(p->at - start));
}

static struct swift_node *read_closure(struct swift_parser *p)
{
    struct swift_node *node = constant(p, SW_SPEC_CLOSURE, read_payload(p));
    while (node != NULL && swift_peek(p) != '_')
        node = swift_add(p->arena, node, swift_old_type(p));
    return node;
}

static struct swift_node *read_string(struct swift_parser *p)
{
    char encoding = swift_next_if(p, 'e') ? swift_next(p) : '\0';
    if ((encoding != '0' && encoding != '1') || !swift_next_if(p, 'v'))
        return NULL;
    struct swift_node *words = swift_new_words(p->arena, SW_WORDS, encoding == '0' ? "u8" : "u16");
    return swift_add(p->arena, constant(p, SW_SPEC_STRING, words), read_payload(p));
}

static struct swift_node *read_options(struct swift_parser *p)
{
    static const char letters[] = "edgos"; /* in the order of enum swift_spec_option */
    struct swift_node *node = swift_new(p->arena, SW_SPEC_CONSTANT);
    for (unsigned bit = 0; node != NULL && letters[bit] != '\0'; bit++)
        if (swift_next_if(p, letters[bit]))
            node->flags |= (uint16_t)(1u << bit);
    return node != NULL && node->flags != 0 ? node : NULL;
}

static struct swift_node *read_argument(struct swift_parser *p)
{
    static const struct {
        const char *code;
        enum swift_spec what;
    } plain[] = {
        {"i_", SW_SPEC_BOX_TO_VALUE}, {"k_", SW_SPEC_BOX_TO_STACK}, {"r_", SW_SPEC_INOUT_TO_OUT}};
    struct swift_node *argument = swift_new(p->arena, SW_SPEC_ARGUMENT), *value;
    if (next_if_text(p, "n_"))
        return argument;
    for (size_t i = 0; i < COUNT(plain); i++)
        if (next_if_text(p, plain[i].code)) {
            value = swift_new(p->arena, SW_SPEC_CONSTANT);
            if (value != NULL)
                value->number = plain[i].what;
            return swift_add(p->arena, argument, value);
        }
    if (next_if_text(p, "cpfr"))
        value = constant(p, SW_SPEC_FUNCTION, read_payload(p));
    else if (next_if_text(p, "cpg"))
        value = constant(p, SW_SPEC_GLOBAL, read_payload(p));
    else if (next_if_text(p, "cpi"))
        value = constant(p, SW_SPEC_INTEGER, read_number(p));
    else if (next_if_text(p, "cpfl"))
        value = constant(p, SW_SPEC_FLOAT, read_number(p));
    else if (next_if_text(p, "cps"))
        value = read_string(p);
    else if (next_if_text(p, "cl"))
        value = read_closure(p);
    else
        value = read_options(p);
    argument = swift_add(p->arena, argument, value);
    return argument != NULL && swift_next_if(p, '_') ? argument : NULL;
}

static struct swift_node *read_generic_param(struct swift_parser *p)
{
    struct swift_node *param = swift_new_1(p->arena, SW_SPEC_PARAM, swift_old_type(p));
    while (param != NULL && !swift_next_if(p, '_'))
        param = swift_add(p->arena, param, swift_old_conformance(p));
    return param;
}

static struct swift_node *read_specialization(struct swift_parser *p)
{
    char c = swift_next(p);
    const char *words = c == 'g'   ? "generic specialization"
                        : c == 'r' ? "generic not re-abstracted specialization"
                        : c == 'f' ? "function signature specialization"
                                   : NULL;
    struct swift_node *spec =
        words != NULL ? swift_new_words(p->arena, SW_SPECIALIZATION, words) : NULL;
    if (spec == NULL)
        return NULL;
    if (swift_next_if(p, 'q'))
        spec->flags = SW_SPEC_SERIALIZED;
    char pass = swift_next(p);
    if (pass < '0' || pass > '9')
        return NULL;
    while (spec != NULL && !swift_next_if(p, '_'))
        spec = swift_add(p->arena, spec, c == 'f' ? read_argument(p) : read_generic_param(p));
    return spec;
}

/* ---- symbols ---- */

static struct swift_node *read_witness(struct swift_parser *p)
{
    struct swift_node *type, *conformance, *name;
    char c = swift_next(p);
    switch (c) {
    case 'L':
    case 'l':
        type = swift_old_type(p);
        conformance = type != NULL ? swift_old_conformance(p) : NULL;
        return swift_new_2(p->arena, c == 'l' ? SW_LAZY_WITNESS_ACCESSOR : SW_LAZY_WITNESS_CACHE,
                           type, conformance);
    case 'T':
        conformance = swift_old_conformance(p);
        name = conformance != NULL ? swift_old_name(p) : NULL;
        type = name != NULL ? swift_old_protocol(p) : NULL;
        return swift_new_3(p->arena, SW_ASSOC_WITNESS_ACCESSOR, conformance, name, type);
    case 't':
        conformance = swift_old_conformance(p);
        name = conformance != NULL ? swift_old_name(p) : NULL;
        return swift_new_2(p->arena, SW_ASSOC_METADATA_ACCESSOR, conformance, name);
    case 'v':
        c = swift_next(p);
        if (c != 'd' && c != 'i')
            return NULL;
        name = swift_new_words(p->arena, SW_WORDS, c == 'd' ? "direct " : "indirect ");
        return swift_new_2(p->arena, SW_FIELD_OFFSET, name, swift_old_entity(p));
    default: return NULL;
    }
}

static struct swift_node *read_thunk(struct swift_parser *p)
{
    char c = swift_next(p);
    if (c == 'W') {
        struct swift_node *conformance = swift_old_conformance(p);
        return swift_new_2(p->arena, SW_WITNESS, conformance,
                           conformance != NULL ? swift_old_entity(p) : NULL);
    }
    if (c != 'R' && c != 'r')
        return NULL;
    struct swift_node *signature = NULL, *to, *from;
    if (swift_next_if(p, 'G') && (signature = swift_old_signature(p)) == NULL)
        return NULL;
    to = swift_old_type(p);
    from = to != NULL ? swift_old_type(p) : NULL;
    struct swift_node *node =
        swift_new_slots(p->arena, c == 'R' ? SW_REABSTRACTION_HELPER : SW_REABSTRACTION, 4);
    if (from == NULL || node == NULL)
        return NULL;
    if (signature != NULL)
        node->kids[0] = swift_new_1(p->arena, SW_SPACED, signature);
    node->kids[1] = from;
    node->kids[2] = to;
    return node;
}

static struct swift_node *read_value_witness(struct swift_parser *p)
{
    const char *name = p->end - p->at >= 2 ? swift_value_witness(p->at) : NULL;
    if (name == NULL)
        return NULL;
    p->at += 2;
    struct swift_node *words = swift_new_words(p->arena, SW_WORDS, name);
    return swift_new_2(p->arena, SW_VALUE_WITNESS, words, swift_old_type(p));
}

static struct swift_node *read_partial_apply(struct swift_parser *p)
{
    struct swift_node *node = swift_new_index(p->arena, SW_PARTIAL_APPLY, swift_next_if(p, 'o'));
    if (!next_if_text(p, "__T") || ++p->depth > SWIFT_MAX_OLD_DEPTH)
        return node;
    return swift_add(p->arena, node, read_global(p));
}

static struct swift_node *read_global(struct swift_parser *p)
{
    for (size_t i = 0; i < COUNT(phrases); i++)
        if (next_if_text(p, phrases[i].code))
            return with_phrase(
                swift_new_1(p->arena, SW_PHRASE, read_operand(p, phrases[i].operand)), &phrases[i]);
    if (next_if_text(p, "PA"))
        return read_partial_apply(p);
    if (swift_next_if(p, 't'))
        return swift_new_1(p->arena, SW_TYPE_MANGLING, swift_old_type(p));
    if (swift_next_if(p, 'w'))
        return read_value_witness(p);
    if (swift_next_if(p, 'W'))
        return read_witness(p);
    if (swift_next_if(p, 'T'))
        return read_thunk(p);
    return swift_old_entity(p);
}

struct swift_node *swift_parse_old(struct swift_arena *arena, const char *name, size_t length)
{
    struct swift_parser parser = {.at = name, .end = name + length, .arena = arena};
    struct swift_parser *p = &parser;
    struct swift_node *symbol = swift_new(arena, SW_SYMBOL);
    if (next_if_text(p, "TS")) {
        do {
            if (swift_add(arena, symbol, read_specialization(p)) == NULL)
                return NULL;
            p->substitutions.count = 0; /* each part counts for itself */
        } while (next_if_text(p, "_TTS"));
        if (!next_if_text(p, "_T"))
            return NULL;
    } else {
        for (size_t i = 0; i < COUNT(attributes); i++)
            if (next_if_text(p, attributes[i].code)) {
                symbol = swift_add(arena, symbol,
                                   with_phrase(swift_new(arena, SW_ATTRIBUTE), &attributes[i]));
                break;
            }
    }
    symbol = swift_add(arena, symbol, read_global(p));
    if (p->at == p->end)
        return symbol;
    return swift_add(arena, symbol,
                     swift_new_text(arena, SW_SUFFIX, p->at, (size_t)(p->end - p->at)));
}
