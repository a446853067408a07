/* Generic parameters, signatures and requirements, archetypes, and conformances to protocols. */
#include "demangle/swift_parse.h"

struct swift_node *swift_param(struct swift_parser *p, uint64_t depth, uint64_t index)
{
    return swift_new_index(p->arena, SW_PARAM, depth << 32 | index);
}

struct swift_node *swift_read_param(struct swift_parser *p)
{
    if (swift_next_if(p, 'd')) {
        int depth = swift_index(p);
        int index = depth >= 0 ? swift_index(p) : SWIFT_BAD_NUMBER;
        return index >= 0 ? swift_param(p, (uint64_t)depth + 1, (uint64_t)index) : NULL;
    }
    if (swift_next_if(p, 'z'))
        return swift_param(p, 0, 0);
    if (swift_next_if(p, 's'))
        return swift_new(p->arena, SW_EXISTENTIAL_SELF);
    int index = swift_index(p);
    return index >= 0 ? swift_param(p, 0, (uint64_t)index + 1) : NULL;
}

/* ---- l, r, u ---- */

struct swift_node *swift_read_signature(struct swift_parser *p, bool counts)
{
    struct swift_node *signature = swift_new(p->arena, SW_SIGNATURE);
    while (counts && !swift_next_if(p, 'l')) {
        int count = 0;
        if (!swift_next_if(p, 'z') && (count = swift_index(p) + 1) == 0)
            return NULL;
        signature =
            swift_add(p->arena, signature, swift_new_index(p->arena, SW_COUNT, (uint64_t)count));
        if (signature == NULL)
            return NULL;
    }
    if (!counts)
        signature = swift_add(p->arena, signature, swift_new_index(p->arena, SW_COUNT, 1));
    if (signature == NULL)
        return NULL;
    uint32_t first = signature->count;
    for (struct swift_node *req; (req = swift_pop_flags(p, SW_IS_REQUIREMENT)) != NULL;)
        if (swift_add(p->arena, signature, req) == NULL)
            return NULL;
    swift_reverse(signature, first);
    return signature;
}

struct swift_node *swift_read_generic_type(struct swift_parser *p)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    return swift_new_2(p->arena, SW_GENERIC_TYPE, signature, swift_pop_type(p));
}

/* ---- associated types ---- */

struct swift_node *swift_pop_assoc_name(struct swift_parser *p)
{
    struct swift_node *protocol = NULL;
    if (swift_is(swift_top(p), SW_IS_TYPE) && (protocol = swift_pop_kind(p, SW_PROTOCOL)) == NULL)
        return NULL;
    struct swift_node *name =
        swift_new_1(p->arena, SW_ASSOC_NAME, swift_pop_kind(p, SW_IDENTIFIER));
    return protocol != NULL ? swift_add(p->arena, name, protocol) : name;
}

struct swift_node *swift_pop_assoc_path(struct swift_parser *p)
{
    return swift_pop_list(p, SW_ASSOC_PATH, swift_pop_assoc_name);
}

/* The associated type of `base`, or of the type below its name. */
static struct swift_node *simple_member(struct swift_parser *p, bool has_base,
                                        struct swift_node *base)
{
    struct swift_node *name = swift_pop_assoc_name(p);
    if (!has_base)
        base = swift_pop_type(p);
    return swift_substitutable(p, swift_new_2(p->arena, SW_MEMBER, base, name));
}

static struct swift_node *compound_member(struct swift_parser *p, bool has_base,
                                          struct swift_node *base)
{
    struct swift_node *path = swift_pop_assoc_path(p);
    if (!has_base)
        base = swift_pop_type(p);
    for (uint32_t i = 0; path != NULL && i < path->count; i++)
        base = swift_new_2(p->arena, SW_MEMBER, base, path->kids[i]);
    return path != NULL ? swift_substitutable(p, base) : NULL;
}

/* ---- Q ---- */

static struct swift_node *read_opaque(struct swift_parser *p)
{
    struct swift_node *index = swift_index_node(p);
    if (swift_pop_arguments(p) == NULL) /* not shown */
        return NULL;
    struct swift_node *name = swift_pop(p);
    return swift_substitutable(p, swift_new_2(p->arena, SW_OPAQUE, name, index));
}

static struct swift_node *pop_type(struct swift_parser *p)
{
    return swift_pop_type(p);
}

static struct swift_node *read_pack(struct swift_parser *p, const char *before)
{
    struct swift_node *pack = swift_pop_list(p, SW_PACK, pop_type);
    return swift_say(pack, before);
}

static struct swift_node *read_pack_element(struct swift_parser *p)
{
    struct swift_node *type = swift_pop_type(p);
    return swift_new_2(p->arena, SW_PACK_ELEMENT, type, swift_index_node(p));
}

struct swift_node *swift_read_archetype(struct swift_parser *p)
{
    struct swift_node *type;
    switch (swift_next(p)) {
    case 'O': return swift_new_1(p->arena, SW_OPAQUE_RESULT_OF, swift_pop_context(p));
    case 'P': return read_pack(p, "");
    case 'R':
    case 'U': return swift_index(p) >= 0 ? swift_new(p->arena, SW_OPAQUE_RESULT) : NULL;
    case 'S':
        return swift_next_if(p, 'd')   ? read_pack(p, "@direct ")
               : swift_next_if(p, 'i') ? read_pack(p, "@indirect ")
                                       : NULL;
    case 'X': return compound_member(p, false, NULL);
    case 'Y': return compound_member(p, true, swift_read_param(p));
    case 'Z': return compound_member(p, true, swift_param(p, 0, 0));
    case 'a':
        type = swift_pop_kind(p, SW_IDENTIFIER);
        return swift_substitutable(
            p, swift_new_2(p->arena, SW_ASSOC_TYPE_REF, swift_pop_type(p), type));
    case 'e': return read_pack_element(p);
    case 'o': return read_opaque(p);
    case 'p':
        type = swift_pop_type(p); /* the count */
        return swift_new_2(p->arena, SW_PACK_EXPANSION, swift_pop_type(p), type);
    case 'r':
    case 'u': return swift_new(p->arena, SW_OPAQUE_RESULT);
    case 'x': return simple_member(p, false, NULL);
    case 'y': return simple_member(p, true, swift_read_param(p));
    case 'z': return simple_member(p, true, swift_param(p, 0, 0));
    default: return NULL;
    }
}

/* ---- R ---- */

/* What a requirement is about: a parameter, an associated type of one, or a substitution. */
enum subject { PARAMETER, ASSOCIATED, COMPOUND, SUBSTITUTED };

static struct swift_node *read_subject(struct swift_parser *p, enum subject subject)
{
    switch (subject) {
    case PARAMETER: return swift_read_param(p);
    case ASSOCIATED: return simple_member(p, true, swift_read_param(p));
    case COMPOUND: return compound_member(p, true, swift_read_param(p));
    default: return swift_pop_type(p);
    }
}

static struct swift_node *read_layout(struct swift_parser *p, struct swift_node *subject)
{
    char letter = swift_next(p);
    static const char letters[] = "URNCDTBSEeMm";
    bool known = false;
    for (size_t i = 0; letters[i] != '\0'; i++)
        known |= letters[i] == letter;
    struct swift_node *layout = known ? swift_new_1(p->arena, SW_REQ_LAYOUT, subject) : NULL;
    if (layout == NULL)
        return NULL;
    layout->index = (uint64_t)letter;
    bool size = letter == 'E' || letter == 'e' || letter == 'M' || letter == 'm';
    if (size)
        layout = swift_add(p->arena, layout, swift_index_node(p));
    if (letter == 'E' || letter == 'M')
        layout = swift_add(p->arena, layout, swift_index_node(p));
    return layout;
}

/* The letter after "R" says what is required, and of what. */
static const struct requirement {
    char letter;
    enum subject subject;
    enum swift_kind kind;
    bool base_class;
} requirements[] = {
    {'B', SUBSTITUTED, SW_REQ_CONFORMS, true}, {'C', COMPOUND, SW_REQ_CONFORMS, true},
    {'I', SUBSTITUTED, SW_REQ_INVERSE, false}, {'J', COMPOUND, SW_REQ_INVERSE, false},
    {'L', SUBSTITUTED, SW_REQ_LAYOUT, false},  {'M', COMPOUND, SW_REQ_LAYOUT, false},
    {'P', COMPOUND, SW_REQ_CONFORMS, false},   {'Q', SUBSTITUTED, SW_REQ_CONFORMS, false},
    {'S', SUBSTITUTED, SW_REQ_SAME, false},    {'T', COMPOUND, SW_REQ_SAME, false},
    {'V', PARAMETER, SW_VALUE_MARKER, false},  {'b', PARAMETER, SW_REQ_CONFORMS, true},
    {'c', ASSOCIATED, SW_REQ_CONFORMS, true},  {'h', PARAMETER, SW_REQ_SHAPE, false},
    {'i', PARAMETER, SW_REQ_INVERSE, false},   {'j', ASSOCIATED, SW_REQ_INVERSE, false},
    {'l', PARAMETER, SW_REQ_LAYOUT, false},    {'m', ASSOCIATED, SW_REQ_LAYOUT, false},
    {'p', ASSOCIATED, SW_REQ_CONFORMS, false}, {'s', PARAMETER, SW_REQ_SAME, false},
    {'t', ASSOCIATED, SW_REQ_SAME, false},     {'v', PARAMETER, SW_PACK_MARKER, false},
};

struct swift_node *swift_read_requirement(struct swift_parser *p)
{
    /* Without a letter of these, the index of the parameter follows at once. */
    struct requirement row = {'\0', PARAMETER, SW_REQ_CONFORMS, false};
    for (size_t i = 0; i < sizeof(requirements) / sizeof(requirements[0]); i++)
        if (requirements[i].letter == swift_peek(p)) {
            row = requirements[i];
            p->at++;
            break;
        }
    struct swift_arena *arena = p->arena;
    struct swift_node *bit = NULL;
    if (row.kind == SW_REQ_INVERSE && (bit = swift_index_node(p)) == NULL)
        return NULL;
    struct swift_node *subject = read_subject(p, row.subject);
    if (subject == NULL)
        return NULL;
    switch (row.kind) {
    case SW_PACK_MARKER: return swift_new_1(arena, row.kind, subject);
    case SW_REQ_INVERSE: return swift_new_2(arena, row.kind, subject, bit);
    case SW_REQ_LAYOUT: return read_layout(p, subject);
    case SW_REQ_CONFORMS:
        if (!row.base_class)
            return swift_new_2(arena, row.kind, subject, swift_pop_protocol(p));
        /* fall through */
    default: return swift_new_2(arena, row.kind, subject, swift_pop_type(p));
    }
}

/* ---- conformances ---- */

struct swift_node *swift_pop_conformance(struct swift_parser *p)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *module = swift_pop_module(p);
    struct swift_node *protocol = swift_pop_protocol(p);
    struct swift_node *type = swift_pop_type(p), *behavior = NULL;
    if (type == NULL) {
        behavior = swift_pop_kind(p, SW_IDENTIFIER);
        type = swift_pop_type(p);
    }
    if (signature != NULL)
        type = swift_new_2(p->arena, SW_GENERIC_TYPE, signature, type);
    return swift_new_3(p->arena, behavior != NULL ? SW_BEHAVIOR : SW_CONFORMANCE, type, protocol,
                       module);
}

static struct swift_node *pop_any_conformance(struct swift_parser *p)
{
    return swift_pop_flags(p, SW_IS_CONFORMANCE);
}

static struct swift_node *read_concrete(struct swift_parser *p)
{
    struct swift_node *conditions = swift_pop_list(p, SW_CONFORMANCES, pop_any_conformance);
    struct swift_node *reference = swift_pop_kind(p, SW_REF_TYPE_MODULE);
    if (reference == NULL)
        reference = swift_pop_kind(p, SW_REF_PROTOCOL_MODULE);
    if (reference == NULL) {
        struct swift_node *module = swift_pop_module(p);
        reference = swift_new_2(p->arena, SW_REF_OTHER_MODULE, swift_pop_protocol(p), module);
    }
    return swift_new_3(p->arena, SW_CONCRETE, swift_pop_type(p), reference, conditions);
}

/* An index of 1 means that the position is not known; 0 is not used. */
static struct swift_node *read_dependent(struct swift_parser *p, const char *words,
                                         struct swift_node *(*pop)(struct swift_parser *p))
{
    int position = swift_index(p);
    if (position <= 0)
        return NULL;
    struct swift_node *second = pop(p);
    struct swift_node *first =
        words[0] == 'r' ? swift_pop_type(p) : swift_pop_flags(p, SW_IS_CONFORMANCE);
    struct swift_node *node = swift_new_2(p->arena, SW_DEPENDENT, first, second);
    if (node == NULL)
        return NULL;
    swift_say(node, words);
    return position == 1 ? node
                         : swift_add(p->arena, node,
                                     swift_new_index(p->arena, SW_INDEX, (uint64_t)position - 2));
}

static struct swift_node *pop_assoc_conformance(struct swift_parser *p)
{
    struct swift_node *protocol = swift_pop_protocol(p);
    return swift_new_2(p->arena, SW_ASSOC_CONFORMANCE, swift_pop_type(p), protocol);
}

static const struct swift_phrase record_phrases[] = {
    {"c", 0, "protocol conformance descriptor runtime record for ", NULL},
    {"n", 0, "nominal type descriptor runtime record for ", NULL},
    {"o", 0, "opaque type descriptor runtime record for ", NULL},
    {"r", 0, "protocol descriptor runtime record for ", NULL},
    {"F", 0, "accessible function runtime record for ", ""},
};

static struct swift_node *record(struct swift_parser *p, char code, struct swift_node *of)
{
    const struct swift_phrase *phrase = swift_find_phrase(
        record_phrases, sizeof(record_phrases) / sizeof(record_phrases[0]), &code, 1);
    struct swift_node *node =
        code == 'F' ? swift_new(p->arena, SW_ATTRIBUTE) : swift_new_1(p->arena, SW_PHRASE, of);
    if (node != NULL)
        node->phrase = phrase;
    return node;
}

struct swift_node *swift_read_conformance(struct swift_parser *p)
{
    struct swift_node *node;
    char c = swift_next(p);
    switch (c) {
    case 'A': return read_dependent(p, "associated", pop_assoc_conformance);
    case 'C': return read_concrete(p);
    case 'D': return read_dependent(p, "root", swift_pop_protocol);
    case 'F': return record(p, c, NULL);
    case 'I': return read_dependent(p, "inherited", swift_pop_protocol);
    case 'O':
        node = swift_pop_type(p);
        return swift_new_2(p->arena, SW_OPAQUE_CONFORMANCE, swift_pop_flags(p, SW_IS_CONFORMANCE),
                           node);
    case 'P': return swift_new_1(p->arena, SW_REF_TYPE_MODULE, swift_pop_protocol(p));
    case 'X':
        return swift_new_1(p->arena, SW_PACK_CONFORMANCE,
                           swift_pop_list(p, SW_CONFORMANCES, pop_any_conformance));
    case 'c': return record(p, c, swift_pop_conformance(p));
    case 'n': return record(p, c, swift_pop_type(p));
    case 'o': return record(p, c, swift_pop(p));
    case 'p': return swift_new_1(p->arena, SW_REF_PROTOCOL_MODULE, swift_pop_protocol(p));
    case 'r': return record(p, c, swift_pop_protocol(p));
    default: return NULL;
    }
}

struct swift_node *swift_read_retroactive(struct swift_parser *p)
{
    struct swift_node *index = swift_index_node(p);
    return swift_new_2(p->arena, SW_RETROACTIVE, index, pop_any_conformance(p));
}
