/* Symbols of the Swift mangling that are not declarations: metadata, witness tables and thunks. */
#include "demangle/swift_parse.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What a phrase takes from the stack. */
enum swift_operand { TYPE, NOMINAL, PROTOCOL, MODULE, CONTEXT, ENTITY, CONFORMANCE, ASSOC, ANY };

static struct swift_node *pop_operand(struct swift_parser *p, int operand)
{
    switch ((enum swift_operand)operand) {
    case TYPE: return swift_pop_type(p);
    case NOMINAL: return swift_pop_nominal(p);
    case PROTOCOL: return swift_pop_protocol(p);
    case MODULE: return swift_pop_module(p);
    case CONTEXT: return swift_pop_context(p);
    case ENTITY: return swift_pop_entity(p);
    case CONFORMANCE: return swift_pop_conformance(p);
    case ASSOC: return swift_pop_assoc_name(p);
    case ANY: return swift_pop(p);
    default: return NULL;
    }
}

static struct swift_node *phrase_about(struct swift_parser *p, const struct swift_phrase *phrase)
{
    if (phrase == NULL)
        return NULL;
    struct swift_node *node = swift_new_1(p->arena, SW_PHRASE, pop_operand(p, phrase->operand));
    if (node != NULL)
        node->phrase = phrase;
    return node;
}

/* Looks the letters at p->at up. NULL: none of the table. */
static const struct swift_phrase *find(struct swift_parser *p, const struct swift_phrase *table,
                                       size_t count, size_t length)
{
    if ((size_t)(p->end - p->at) < length)
        return NULL;
    const struct swift_phrase *phrase = swift_find_phrase(table, count, p->at, length);
    if (phrase != NULL)
        p->at += length;
    return phrase;
}

/* ---- M, N ---- */

static const struct swift_phrase metadata[] = {
    {"A", CONFORMANCE, "reflection metadata associated type descriptor ", NULL},
    {"B", TYPE, "reflection metadata builtin descriptor ", NULL},
    {"C", NOMINAL, "reflection metadata superclass descriptor ", NULL},
    {"D", TYPE, "demangling cache variable for type metadata for ", NULL},
    {"F", TYPE, "reflection metadata field descriptor ", NULL},
    {"I", TYPE, "type metadata instantiation cache for ", NULL},
    {"J", TYPE, "cache variable for noncanonical specialized generic type metadata for ", NULL},
    {"K", ANY, "metadata instantiation cache for ", NULL},
    {"L", TYPE, "lazy cache variable for type metadata for ", NULL},
    {"M", TYPE, "specialized generic metaclass for ", NULL},
    {"N", TYPE, "noncanonical specialized generic type metadata for ", NULL},
    {"P", TYPE, "generic type metadata pattern for ", NULL},
    {"Q", ANY, "opaque type descriptor for ", NULL},
    {"S", PROTOCOL, "protocol self-conformance descriptor for ", NULL},
    {"U", TYPE, "ObjC metadata update function for ", NULL},
    {"V", ENTITY, "property descriptor for ", NULL},
    {"a", TYPE, "type metadata accessor for ", NULL},
    {"b", TYPE, "canonical specialized generic type metadata accessor for ", NULL},
    {"c", CONFORMANCE, "protocol conformance descriptor for ", NULL},
    {"f", TYPE, "full type metadata for ", NULL},
    {"g", ANY, "opaque type descriptor accessor for ", NULL},
    {"h", ANY, "opaque type descriptor accessor impl for ", NULL},
    {"i", TYPE, "type metadata instantiation function for ", NULL},
    {"j", ANY, "opaque type descriptor accessor key for ", NULL},
    {"k", ANY, "opaque type descriptor accessor var for ", NULL},
    {"l", TYPE, "type metadata singleton initialization cache for ", NULL},
    {"m", TYPE, "metaclass for ", NULL},
    {"n", TYPE, "nominal type descriptor for ", NULL},
    {"o", TYPE, "class metadata base offset for ", NULL},
    {"p", PROTOCOL, "protocol descriptor for ", NULL},
    {"q", ANY, "uniquable ", NULL},
    {"r", TYPE, "type metadata completion function for ", NULL},
    {"s", TYPE, "ObjC resilient class stub for ", NULL},
    {"t", TYPE, "full ObjC resilient class stub for ", NULL},
    {"u", TYPE, "method lookup function for ", NULL},
    {"z", TYPE, "flag for loading of canonical specialized generic type metadata for ", NULL},
};

static const struct swift_phrase descriptors[] = {
    {"A", ANY, "generic parameter reference for associated type ", NULL},
    {"E", CONTEXT, "extension descriptor ", NULL},
    {"M", MODULE, "module descriptor ", NULL},
    {"X", CONTEXT, "anonymous descriptor ", NULL},
    {"Y", CONTEXT, "anonymous descriptor ", NULL},
};

struct swift_node *swift_read_metadata(struct swift_parser *p)
{
    if (!swift_next_if(p, 'X'))
        return phrase_about(p, find(p, metadata, COUNT(metadata), 1));
    if (swift_peek(p) == 'Y' && swift_pop_kind(p, SW_IDENTIFIER) == NULL)
        return NULL; /* a discriminator, which is not shown */
    return phrase_about(p, find(p, descriptors, COUNT(descriptors), 1));
}

struct swift_node *swift_read_type_metadata(struct swift_parser *p)
{
    static const struct swift_phrase phrase = {"", TYPE, "type metadata for ", NULL};
    return phrase_about(p, &phrase);
}

/* ---- w, W ---- */

struct swift_node *swift_read_value_witness(struct swift_parser *p)
{
    if (p->end - p->at < 2)
        return NULL;
    const char *name = swift_value_witness(p->at);
    if (name == NULL)
        return NULL;
    p->at += 2;
    struct swift_node *type = swift_pop_type(p);
    return swift_new_2(p->arena, SW_VALUE_WITNESS, swift_new_words(p->arena, SW_WORDS, name), type);
}

static const struct swift_phrase witnesses[] = {
    {"C", ENTITY, "enum case for ", NULL},
    {"G", CONFORMANCE, "generic protocol witness table for ", NULL},
    {"I", CONFORMANCE, "instantiation function for generic protocol witness table for ", NULL},
    {"P", CONFORMANCE, "protocol witness table for ", NULL},
    {"S", PROTOCOL, "protocol self-conformance witness table for ", NULL},
    {"V", TYPE, "value witness table for ", NULL},
    {"a", CONFORMANCE, "protocol witness table accessor for ", NULL},
    {"p", CONFORMANCE, "protocol witness table pattern for ", NULL},
    {"r", CONFORMANCE, "resilient protocol witness table for ", NULL},
};

static struct swift_node *read_outlined(struct swift_parser *p)
{
    static const struct {
        char letters[3];
        const char *words;
    } operations[] = {
        {"Bb", "init with take"},   {"Cc", "init with copy"}, {"Dd", "assign with take"},
        {"Ff", "assign with copy"}, {"Hh", "destroy"},        {"ee", "consume"},
        {"gg", "enum get tag"},     {"ii", "enum tag store"}, {"jj", "enum project data for load"},
        {"rr", "retain"},           {"ss", "release"},        {"yy", "copy"},
    };
    char c = swift_next(p);
    for (size_t i = 0; i < COUNT(operations); i++) {
        if (operations[i].letters[0] != c && operations[i].letters[1] != c)
            continue;
        struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
        struct swift_node *type = swift_pop_type(p);
        struct swift_node *words = swift_new_words(p->arena, SW_WORDS, operations[i].words);
        struct swift_node *node = swift_new_2(p->arena, SW_OUTLINED, words, type);
        bool shown = signature != NULL && (c == 'y' || c == 'e');
        return shown ? swift_add(p->arena, node, signature) : node;
    }
    return NULL;
}

/* WZ, Wz: the variables that are initialised together, each name behind "_". */
static struct swift_node *read_once(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *names = swift_new(p->arena, SW_ONCE_NAMES);
    while (swift_pop_kind(p, SW_FIRST_MARK) != NULL)
        if (swift_add(p->arena, names, swift_pop_flags(p, SW_IS_NAME)) == NULL)
            return NULL;
    if (names != NULL)
        swift_reverse(names, 0);
    return swift_pop_context(p) != NULL ? swift_new_1(p->arena, kind, names) : NULL;
}

static struct swift_node *read_field_offset(struct swift_parser *p)
{
    char c = swift_next(p);
    if (c != 'd' && c != 'i')
        return NULL;
    struct swift_node *entity = swift_pop_entity(p);
    return swift_new_2(p->arena, SW_FIELD_OFFSET,
                       swift_new_words(p->arena, SW_WORDS, c == 'd' ? "direct " : "indirect "),
                       entity);
}

struct swift_node *swift_read_witness(struct swift_parser *p)
{
    const struct swift_phrase *phrase = find(p, witnesses, COUNT(witnesses), 1);
    if (phrase != NULL)
        return phrase_about(p, phrase);
    struct swift_node *conformance, *name, *type;
    char c = swift_next(p);
    switch (c) {
    case 'J': return swift_read_diff_witness(p);
    case 'L':
    case 'l':
        conformance = swift_pop_conformance(p);
        return swift_new_2(p->arena, c == 'l' ? SW_LAZY_WITNESS_ACCESSOR : SW_LAZY_WITNESS_CACHE,
                           swift_pop_type(p), conformance);
    case 'O': return read_outlined(p);
    case 'T':
        type = swift_pop_type(p);
        name = swift_pop_assoc_path(p);
        return swift_new_3(p->arena, SW_ASSOC_WITNESS_ACCESSOR, swift_pop_conformance(p), name,
                           type);
    case 'Z':
    case 'z': return read_once(p, c == 'Z' ? SW_ONCE_FUNCTION : SW_ONCE_TOKEN);
    case 'b':
        type = swift_pop_type(p);
        return swift_new_2(p->arena, SW_BASE_WITNESS_ACCESSOR, swift_pop_conformance(p), type);
    case 't':
        name = swift_pop_flags(p, SW_IS_NAME);
        return swift_new_2(p->arena, SW_ASSOC_METADATA_ACCESSOR, swift_pop_conformance(p), name);
    case 'v': return read_field_offset(p);
    default: return NULL;
    }
}

/* ---- T ---- */

/* Said of the whole symbol. */
static const struct swift_phrase attributes[] = {
    {"D", 0, "dynamic ", NULL},
    {"E", 0, "distributed thunk ", ""},
    {"F", 0, "distributed accessor for ", ""},
    {"I", 0, "dynamically replaceable thunk for ", ""},
    {"O", 0, "@nonobjc ", NULL},
    {"X", 0, "dynamically replaceable variable for ", ""},
    {"d", 0, "super ", NULL},
    {"m", 0, "merged ", ""},
    {"o", 0, "@objc ", NULL},
    {"u", 0, "async function pointer to ", NULL},
    {"x", 0, "dynamically replaceable key for ", ""},
};

static const struct swift_phrase more_attributes[] = {
    /* Tw */
    {"B", 0, "back deployment fallback for ", NULL}, {"S", 0, "#_hasSymbol query for ", NULL},
    {"b", 0, "back deployment thunk for ", ""},      {"c", 0, "coro function pointer to ", NULL},
    {"d", 0, "default override of ", NULL},
};

static const struct swift_phrase thunks[] = {
    {"C", TYPE, "coroutine continuation prototype for ", NULL},
    {"L", PROTOCOL, "protocol requirements base descriptor for ", NULL},
    {"M", ASSOC, "default associated type metadata accessor for ", NULL},
    {"S", ENTITY, "protocol self-conformance witness for ", NULL},
    {"c", ENTITY, "curry thunk of ", NULL},
    {"j", ENTITY, "dispatch thunk of ", NULL},
    {"l", ASSOC, "associated type descriptor for ", NULL},
    {"q", ENTITY, "method descriptor for ", NULL},
};

static struct swift_node *attribute(struct swift_parser *p, const struct swift_phrase *phrase)
{
    struct swift_node *node = phrase != NULL ? swift_new(p->arena, SW_ATTRIBUTE) : NULL;
    if (node != NULL)
        node->phrase = phrase;
    return node;
}

static struct swift_node *read_reabstraction(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *self = kind == SW_REABSTRACTION_SELF ? swift_pop_type(p) : NULL;
    struct swift_node *to = swift_pop_type(p), *from = swift_pop_type(p);
    struct swift_node *node = swift_new_slots(p->arena, kind, 4);
    if (to == NULL || from == NULL || node == NULL ||
        (self == NULL && kind == SW_REABSTRACTION_SELF))
        return NULL;
    if (signature != NULL)
        node->kids[0] = swift_new_1(p->arena, SW_SPACED, signature);
    node->kids[1] = from;
    node->kids[2] = to;
    node->kids[3] = self;
    return node;
}

static struct swift_node *read_outlined_variable(struct swift_parser *p)
{
    struct swift_node *index = swift_index_node(p);
    const char *words = swift_next_if(p, 'r') ? "read-only object" : "variable";
    return swift_new_2(p->arena, SW_OUTLINED_VARIABLE, swift_new_words(p->arena, SW_WORDS, words),
                       index);
}

static struct swift_node *read_bridged_method(struct swift_parser *p)
{
    const char *start = p->at;
    char kind = swift_next(p);
    if (kind != 'm' && kind != 'a' && kind != 'p' && kind != 'o')
        return NULL;
    while (swift_next_if(p, 'b') || swift_next_if(p, 'n') || swift_next_if(p, 'g'))
        continue;
    size_t length = (size_t)(p->at - start);
    if (!swift_next_if(p, '_'))
        return NULL;
    return swift_new_1(p->arena, SW_BRIDGED_METHOD,
                       swift_new_text(p->arena, SW_WORDS, start, length));
}

/* TK, Tk, Tkmu, TkMA */
static struct swift_node *read_key_path(struct swift_parser *p, char letter)
{
    const char *words = letter == 'K' ? "getter for " : "setter for ";
    if (letter == 'k' && p->end - p->at >= 2 && p->at[0] == 'm' && p->at[1] == 'u')
        words = "unapplied method ";
    else if (letter == 'k' && p->end - p->at >= 2 && p->at[0] == 'M' && p->at[1] == 'A')
        words = "applied method ";
    if (words[0] == 'u' || words[0] == 'a')
        p->at += 2;
    bool serialized = swift_next_if(p, 'q');
    struct swift_node *types = swift_new(p->arena, SW_KEY_PATH);
    for (struct swift_node *type; (type = swift_pop_type(p)) != NULL;)
        if (swift_add(p->arena, types, type) == NULL)
            return NULL;
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *declaration = swift_pop(p);
    if (types == NULL || types->count == 0 || declaration == NULL)
        return NULL;
    if (signature != NULL && swift_add(p->arena, types, signature) == NULL)
        return NULL;
    if (swift_add(p->arena, types, declaration) == NULL)
        return NULL;
    swift_reverse(types, 0);
    types->flags = serialized;
    return swift_say(types, words);
}

/* TH, Th: of all that is below. */
static struct swift_node *read_key_path_index(struct swift_parser *p, const char *words)
{
    swift_next_if(p, 'q'); /* serialized: not shown */
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *types = swift_new(p->arena, SW_COMMA_LIST);
    while (swift_top(p) != NULL)
        if (swift_add(p->arena, types, swift_pop_type(p)) == NULL)
            return NULL;
    if (types == NULL || (types->count == 0 && signature == NULL))
        return NULL;
    swift_reverse(types, 0);
    struct swift_node *node =
        swift_new_2(p->arena, SW_KEY_PATH_INDEX, types, swift_new_words(p->arena, SW_WORDS, words));
    return signature != NULL ? swift_add(p->arena, node, signature) : node;
}

/* Tz, TZ */
static struct swift_node *read_completion_handler(struct swift_parser *p, bool checked)
{
    struct swift_node *flag = swift_index_node(p);
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *result = swift_pop_type(p), *type = swift_pop_type(p);
    struct swift_node *node = swift_new_3(p->arena, SW_COMPLETION_HANDLER, type, result, flag);
    swift_say(node, checked ? "checked " : "");
    return signature != NULL ? swift_add(p->arena, node, signature) : node;
}

static struct swift_node *read_associated_conformance(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *requirement = swift_pop_protocol(p);
    /* The subject is a path of names, or a type. */
    struct swift_node *top = swift_top(p), *subject;
    bool path = swift_kind_is(top, SW_FIRST_MARK) || swift_kind_is(top, SW_IDENTIFIER) ||
                swift_kind_is(top, SW_PROTOCOL) || swift_kind_is(top, SW_EMPTY_LIST);
    subject = path ? swift_pop_assoc_path(p) : swift_pop_type(p);
    return swift_new_3(p->arena, kind, swift_pop_type(p), subject, requirement);
}

static struct swift_node *read_pair(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *second, *first;
    switch (kind) {
    case SW_BASE_CONFORMANCE_DESCRIPTOR:
        second = swift_pop_protocol(p);
        first = swift_pop_type(p);
        break;
    case SW_VTABLE_THUNK: /* children: derived, base */
        second = swift_pop_entity(p);
        first = swift_pop_entity(p);
        break;
    case SW_REABSTRACTION_ACTOR:
        second = swift_pop_type(p);
        first = swift_pop(p);
        break;
    default: /* the conformance lies on top of nothing: entity last */
        second = swift_pop_entity(p);
        first = swift_pop_conformance(p);
        break;
    }
    return swift_new_2(p->arena, kind, first, second);
}

static struct swift_node *read_resume(struct swift_parser *p, const char *words)
{
    struct swift_node *index = swift_index_node(p);
    return swift_new_2(p->arena, SW_RESUME, index, swift_new_words(p->arena, SW_WORDS, words));
}

struct swift_node *swift_read_thunk(struct swift_parser *p)
{
    const struct swift_phrase *phrase = find(p, attributes, COUNT(attributes), 1);
    if (phrase != NULL)
        return attribute(p, phrase);
    if ((phrase = find(p, thunks, COUNT(thunks), 1)) != NULL)
        return phrase_about(p, phrase);
    static const struct swift_phrase identity = {"", ENTITY, "identity thunk of ", NULL};
    char c = swift_next(p);
    switch (c) {
    case 'A':
    case 'a': return swift_new_index(p->arena, SW_PARTIAL_APPLY, c == 'a');
    case 'H': return read_key_path_index(p, "equality");
    case 'J': return swift_read_diff_function(p);
    case 'K':
    case 'k': return read_key_path(p, c);
    case 'N': return read_associated_conformance(p, SW_DEFAULT_CONFORMANCE_ACCESSOR);
    case 'Q': return read_resume(p, "await");
    case 'R': return read_reabstraction(p, SW_REABSTRACTION_HELPER);
    case 'T': return swift_next_if(p, 'I') ? phrase_about(p, &identity) : NULL;
    case 'U': return read_pair(p, SW_REABSTRACTION_ACTOR);
    case 'V': return read_pair(p, SW_VTABLE_THUNK);
    case 'W': return read_pair(p, SW_WITNESS);
    case 'Y': return read_resume(p, "suspend");
    case 'Z':
    case 'z': return read_completion_handler(p, c == 'Z');
    case 'b': return read_pair(p, SW_BASE_CONFORMANCE_DESCRIPTOR);
    case 'e': return read_bridged_method(p);
    case 'h': return read_key_path_index(p, "hash");
    case 'n': return read_associated_conformance(p, SW_ASSOC_CONFORMANCE_DESCRIPTOR);
    case 'r': return read_reabstraction(p, SW_REABSTRACTION);
    case 'v': return read_outlined_variable(p);
    case 'w': return attribute(p, find(p, more_attributes, COUNT(more_attributes), 1));
    case 'y': return read_reabstraction(p, SW_REABSTRACTION_SELF);
    default: return swift_read_specialization(p, c);
    }
}
