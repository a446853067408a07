/*
 * The stack machine of the Swift mangling: operands, substitutions, and which function reads which
 * operator. See docs/ABI/Mangling.rst of the Swift project; the grammar's names are used here.
 */
#include "demangle/swift_parse.h"

#include <string.h>

int swift_natural(struct swift_parser *p)
{
    int value = 0;
    const char *start = p->at;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        if (value > (1 << 27))
            return SWIFT_BAD_NUMBER;
        value = value * 10 + (*p->at - '0');
    }
    return p->at > start ? value : SWIFT_BAD_NUMBER;
}

int swift_index(struct swift_parser *p)
{
    if (swift_next_if(p, '_'))
        return 0;
    int value = swift_natural(p);
    return value >= 0 && swift_next_if(p, '_') ? value + 1 : SWIFT_BAD_NUMBER;
}

struct swift_node *swift_index_node(struct swift_parser *p)
{
    int index = swift_index(p);
    return index >= 0 ? swift_new_index(p->arena, SW_INDEX, (uint64_t)index) : NULL;
}

/* ---- operands ---- */

bool swift_push(struct swift_parser *p, struct swift_stack *stack, struct swift_node *node)
{
    if (node == NULL)
        return false;
    if (stack->count == stack->room) {
        size_t room = stack->room != 0 ? 2 * stack->room : 32;
        struct swift_node **nodes = swift_take(p->arena, room * sizeof(struct swift_node *));
        if (nodes == NULL)
            return false;
        if (stack->count != 0)
            memcpy(nodes, stack->nodes, stack->count * sizeof(struct swift_node *));
        stack->nodes = nodes;
        stack->room = room;
    }
    stack->nodes[stack->count++] = node;
    return true;
}

struct swift_node *swift_top(const struct swift_parser *p)
{
    return p->stack.count != 0 ? p->stack.nodes[p->stack.count - 1] : NULL;
}

struct swift_node *swift_pop(struct swift_parser *p)
{
    return p->stack.count != 0 ? p->stack.nodes[--p->stack.count] : NULL;
}

struct swift_node *swift_pop_kind(struct swift_parser *p, enum swift_kind kind)
{
    return swift_kind_is(swift_top(p), kind) ? swift_pop(p) : NULL;
}

struct swift_node *swift_pop_flags(struct swift_parser *p, unsigned flags)
{
    return swift_is(swift_top(p), flags) ? swift_pop(p) : NULL;
}

struct swift_node *swift_pop_entity(struct swift_parser *p)
{
    return swift_pop_flags(p, SW_IS_TYPE | SW_IS_CONTEXT);
}

struct swift_node *swift_pop_module(struct swift_parser *p)
{
    struct swift_node *name = swift_pop_kind(p, SW_IDENTIFIER);
    return name != NULL ? swift_new_text(p->arena, SW_MODULE, name->text, name->length)
                        : swift_pop_kind(p, SW_MODULE);
}

struct swift_node *swift_pop_context(struct swift_parser *p)
{
    struct swift_node *module = swift_pop_module(p);
    return module != NULL ? module : swift_pop_flags(p, SW_IS_CONTEXT);
}

struct swift_node *swift_pop_protocol(struct swift_parser *p)
{
    if (swift_is(swift_top(p), SW_IS_TYPE))
        return swift_pop_kind(p, SW_PROTOCOL);
    struct swift_node *name = swift_pop_flags(p, SW_IS_NAME);
    return swift_declaration(p, SW_PROTOCOL, swift_pop_context(p), name);
}

struct swift_node *swift_pop_nominal(struct swift_parser *p)
{
    return swift_pop_flags(p, SW_IS_NOMINAL);
}

struct swift_node *swift_pop_list(struct swift_parser *p, enum swift_kind kind,
                                  struct swift_node *(*pop)(struct swift_parser *p))
{
    struct swift_node *list = swift_new(p->arena, kind);
    if (swift_pop_kind(p, SW_EMPTY_LIST) != NULL)
        return list;
    for (bool first = false; !first;) {
        first = swift_pop_kind(p, SW_FIRST_MARK) != NULL;
        if (swift_add(p->arena, list, pop(p)) == NULL)
            return NULL;
    }
    swift_reverse(list, 0);
    return list;
}

static struct swift_node *pop_type(struct swift_parser *p)
{
    return swift_pop_type(p);
}

struct swift_node *swift_pop_type_list(struct swift_parser *p)
{
    return swift_pop_list(p, SW_TYPE_LIST, pop_type);
}

/* ---- substitutions ---- */

struct swift_node *swift_substitutable(struct swift_parser *p, struct swift_node *node)
{
    return swift_push(p, &p->substitutions, node) ? node : NULL;
}

/* All copies of an operand but the last, which is returned: the caller pushes it. */
static struct swift_node *repeat(struct swift_parser *p, struct swift_node *node, int times)
{
    if (times > SWIFT_MAX_REPEAT)
        return NULL;
    for (; times > 1; times--)
        if (!swift_push(p, &p->stack, node))
            return NULL;
    return node;
}

static struct swift_node *substitution(struct swift_parser *p, int number)
{
    return (size_t)number < p->substitutions.count ? p->substitutions.nodes[number] : NULL;
}

/* A: one or more substitutions, each perhaps repeated; the last letter is a capital. */
static struct swift_node *read_substitutions(struct swift_parser *p)
{
    for (;;) {
        int times = swift_natural(p);
        char c = swift_next(p);
        if (c == '_')
            return substitution(p, times < 0 ? 26 : times + 27);
        bool last = c >= 'A' && c <= 'Z';
        if (!last && !(c >= 'a' && c <= 'z'))
            return NULL;
        struct swift_node *node = repeat(p, substitution(p, c - (last ? 'A' : 'a')), times);
        if (last || node == NULL)
            return node;
        if (!swift_push(p, &p->stack, node))
            return NULL;
    }
}

struct swift_node *swift_standard_type(struct swift_parser *p, enum swift_kind kind,
                                       const char *name)
{
    return swift_declaration(p, kind, swift_new_words(p->arena, SW_MODULE, "Swift"),
                             swift_new_words(p->arena, SW_IDENTIFIER, name));
}

/* S: types and modules that everybody knows. */
static struct swift_node *read_standard(struct swift_parser *p)
{
    if (swift_next_if(p, 'o'))
        return swift_new_words(p->arena, SW_MODULE, "__C");
    if (swift_next_if(p, 'C'))
        return swift_new_words(p->arena, SW_MODULE, "__C_Synthesized");
    if (swift_next_if(p, 'g')) {
        struct swift_node *list = swift_new_1(p->arena, SW_TYPE_LIST, swift_pop_type(p));
        struct swift_node *type = swift_standard_type(p, SW_ENUM, "Optional");
        return swift_substitutable(p, swift_new_2(p->arena, SW_BOUND_GENERIC, type, list));
    }
    int times = swift_natural(p);
    bool second = swift_next_if(p, 'c');
    enum swift_kind kind;
    const char *name = swift_known_type(swift_next(p), second, &kind);
    return name != NULL ? repeat(p, swift_standard_type(p, kind, name), times) : NULL;
}

/* ---- operators ---- */

static struct swift_node *wrap_type(struct swift_parser *p, enum swift_kind kind)
{
    return swift_new_1(p->arena, kind, swift_pop_type(p));
}

static struct swift_node *read_integer(struct swift_parser *p)
{
    bool negative = swift_next_if(p, 'n');
    int value = swift_index(p);
    return value < 0 ? NULL
                     : swift_new_index(p->arena, negative ? SW_NEGATIVE_INTEGER : SW_INTEGER,
                                       (uint64_t)value);
}

static struct swift_node *read_suffix(struct swift_parser *p)
{
    const char *start = p->at - 1;
    p->at = p->end;
    return swift_new_text(p->arena, SW_SUFFIX, start, (size_t)(p->end - start));
}

static struct swift_node *read_type_operator(struct swift_parser *p, char c)
{
    switch (c) {
    case 'B': return swift_read_builtin(p);
    case 'C': return swift_read_nominal(p, SW_CLASS);
    case 'G': return swift_read_bound_generic(p);
    case 'I': return swift_read_impl_function(p);
    case 'O': return swift_read_nominal(p, SW_ENUM);
    case 'P': return swift_read_nominal(p, SW_PROTOCOL);
    case 'Q': return swift_read_archetype(p);
    case 'V': return swift_read_nominal(p, SW_STRUCT);
    case 'X': return swift_read_special_type(p);
    case 'Y': return swift_read_annotation(p);
    case 'a': return swift_read_nominal(p, SW_ALIAS);
    case 'c': return swift_pop_function(p, SW_FN_PLAIN, false);
    case 'd': return swift_new(p->arena, SW_VARIADIC_MARK);
    case 'h': return wrap_type(p, SW_SHARED);
    case 'l': return swift_read_signature(p, false);
    case 'm': return wrap_type(p, SW_METATYPE);
    case 'n': return wrap_type(p, SW_OWNED);
    case 'p': return swift_read_protocol_list(p);
    case 'q': return swift_read_param(p);
    case 'r': return swift_read_signature(p, true);
    case 't': return swift_read_tuple(p);
    case 'u': return swift_read_generic_type(p);
    case 'x': return swift_param(p, 0, 0);
    case 'z': return wrap_type(p, SW_INOUT);
    case '$': return read_integer(p);
    default: return NULL;
    }
}

static struct swift_node *read_operator(struct swift_parser *p)
{
    while (swift_peek(p) == '\xff') /* padding */
        p->at++;
    char c = swift_next(p);
    switch (c) {
    case 'A': return read_substitutions(p);
    case 'D': return swift_read_type_mangling(p);
    case 'E': return swift_read_extension(p);
    case 'F': return swift_read_function(p);
    case 'H': return swift_read_conformance(p);
    case 'K': return swift_new(p->arena, SW_THROWS);
    case 'L': return swift_read_local_name(p);
    case 'M': return swift_read_metadata(p);
    case 'N': return swift_read_type_metadata(p);
    case 'R': return swift_read_requirement(p);
    case 'S': return read_standard(p);
    case 'T': return swift_read_thunk(p);
    case 'W': return swift_read_witness(p);
    case 'Z': return swift_new_1(p->arena, SW_STATIC, swift_pop_entity(p));
    case 'f': return swift_read_function_entity(p);
    case 'g': return swift_read_retroactive(p);
    case 'i': return swift_read_subscript(p);
    case 'o': return swift_read_operator_name(p);
    case 's': return swift_new_words(p->arena, SW_MODULE, "Swift");
    case 'v': return swift_read_variable(p);
    case 'w': return swift_read_value_witness(p);
    case 'y': return swift_new(p->arena, SW_EMPTY_LIST);
    case '_': return swift_new(p->arena, SW_FIRST_MARK);
    case '.': return read_suffix(p);
    default: break;
    }
    if (c < '0' || c > '9')
        return read_type_operator(p, c);
    p->at--;
    return swift_substitutable(p, swift_read_identifier(p->arena, &p->words, &p->at, p->end));
}

/* What is said of the whole symbol reads first; partial application takes the rest as operand. */
static struct swift_node *collect_symbol(struct swift_parser *p)
{
    struct swift_node *symbol = swift_new(p->arena, SW_SYMBOL), *inner = symbol;
    struct swift_node *suffix = swift_pop_kind(p, SW_SUFFIX);
    while (swift_is(swift_top(p), SW_IS_ATTRIBUTE)) {
        struct swift_node *attribute = swift_pop(p);
        if (swift_add(p->arena, inner, attribute) == NULL)
            return NULL;
        if (attribute->kind == SW_PARTIAL_APPLY)
            inner = attribute;
    }
    for (size_t i = 0; i < p->stack.count; i++)
        if (swift_add(p->arena, inner, p->stack.nodes[i]) == NULL)
            return NULL;
    if (symbol == NULL || symbol->count == 0)
        return NULL;
    return suffix != NULL ? swift_add(p->arena, symbol, suffix) : symbol;
}

struct swift_node *swift_parse(struct swift_arena *arena, const char *name, size_t length,
                               size_t prefix)
{
    struct swift_parser parser = {.at = name + prefix, .end = name + length, .arena = arena};
    /* The entry point of top-level code is a name of its own, which may have attributes. */
    if (name[prefix - 1] == 'n' &&
        !swift_push(&parser, &parser.stack, swift_new_words(arena, SW_IDENTIFIER, "async_Main")))
        return NULL;
    parser.labels_in_types = prefix >= 2 && name[prefix - 1] == '0' && name[prefix - 2] == 'T';
    while (parser.at < parser.end)
        if (!swift_push(&parser, &parser.stack, read_operator(&parser)))
            return NULL;
    return collect_symbol(&parser);
}
