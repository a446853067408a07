/* Template parameters and arguments in C++ names (Itanium C++ ABI 5.1.5.8, 5.1.5.9, 5.1.7). */
#include "demangle/itanium.h"

/* T_, T0_, TL1__, TL1_0_ */
struct node *itanium_template_parameter(struct itanium *d)
{
    uint32_t level = 0, place = 0;
    const char *start = d->pos, *digits;
    size_t length;
    if (!take(d, 'T'))
        return NULL;
    uint32_t *const numbers[] = {&level, &place};
    for (unsigned i = take(d, 'L') ? 0 : 1; i < 2; i++) {
        if (itanium_number(d, false, &digits, &length)) {
            for (size_t k = 0; k < length && *numbers[i] <= DEMANGLE_MAX_INPUT; k++)
                *numbers[i] = *numbers[i] * 10 + (uint32_t)(digits[k] - '0');
            place += i;
        }
        if (!take(d, '_'))
            return NULL;
        level += i == 0;
    }
    if (d->in_clause)
        return itanium_text(d, NODE_TEXT, start, (size_t)(d->pos - start) - 1, NULL);
    if (d->may_forward && level == 0) {
        struct node *forward = itanium_node(d, NODE_FORWARD, NULL, NULL);
        if (!itanium_push(d, &d->forwards, forward))
            return NULL;
        forward->number = place;
        return forward;
    }
    if (level < d->level_count && d->levels[level] && place < d->levels[level]->count)
        return d->levels[level]->items[place];
    if (level == d->lambda_level && level <= d->level_count) { /* `auto` of a generic lambda */
        if (level == d->level_count) {
            if (level == TEMPLATE_LEVELS)
                return NULL;
            d->levels[d->level_count++] = NULL;
        }
        return itanium_word(d, "auto");
    }
    return NULL;
}

bool itanium_is_declaration(const struct itanium *d)
{
    char next = look(d, 1);
    return look(d, 0) == 'T' &&
           (next == 'y' || next == 'p' || next == 't' || next == 'n' || next == 'k');
}

/* $T, $T0, $N, $TT: parameters have no names in mangled names. */
static struct node *invent(struct itanium *d, unsigned kind, struct list *parameters)
{
    static const char *const prefixes[] = {"$T", "$N", "$TT"};
    struct node *name = itanium_word(d, prefixes[kind]);
    if (!name)
        return NULL;
    unsigned number = d->synthetic[kind]++;
    if (number > 0) {
        struct text text = {.start = arena_take(&d->arena, 12), .size = 12};
        if (!text.start)
            return NULL;
        text_number(&text, number - 1);
        struct node *place = itanium_text(d, NODE_TEXT, text.start, text.used, NULL);
        name = place ? itanium_string(d, NODE_PREFIXED, prefixes[kind], place) : NULL;
    }
    return itanium_push(d, parameters, name) ? name : NULL;
}

/* What a `requires` demands. Its template parameters may be of scopes that the name does not tell,
 * so they are shown as they are numbered. */
struct node *itanium_clause(struct itanium *d)
{
    bool in_clause = d->in_clause;
    d->in_clause = true;
    struct node *expression = itanium_expression(d);
    d->in_clause = in_clause;
    return expression;
}

static struct node *template_declaration(struct itanium *d, struct list *parameters)
{
    struct node *name = invent(d, 2, parameters);
    struct node *node = name ? itanium_node(d, NODE_DECLARATION_TEMPLATE, NULL, name) : NULL;
    if (!node || d->level_count == TEMPLATE_LEVELS)
        return NULL;
    struct list inner = {0};
    unsigned levels = d->level_count;
    d->levels[d->level_count++] = &inner;
    bool good = true;
    while (good && !take(d, 'E')) {
        if (take(d, 'Q'))
            good = itanium_clause(d) != NULL;
        else
            good = itanium_push(d, &node->list, itanium_parameter_declaration(d, &inner));
    }
    d->level_count = levels;
    return good ? node : NULL;
}

static struct node *declaration(struct itanium *d, struct list *parameters)
{
    struct node *node, *name;
    if (take_two(d, "Ty")) {
        name = invent(d, 0, parameters);
        node = name ? itanium_string(d, NODE_DECLARATION, "typename ", NULL) : NULL;
    } else if (take_two(d, "Tk")) {
        struct node *constraint = itanium_name(d, NULL);
        name = constraint ? invent(d, 0, parameters) : NULL;
        node = name ? itanium_node(d, NODE_DECLARATION, constraint, NULL) : NULL;
    } else if (take_two(d, "Tn")) {
        name = invent(d, 1, parameters);
        struct node *type = name ? itanium_type(d) : NULL;
        node = type ? itanium_node(d, NODE_DECLARATION, type, NULL) : NULL;
    } else if (take_two(d, "Tt")) {
        return template_declaration(d, parameters);
    } else if (take_two(d, "Tp")) {
        struct node *inner = itanium_parameter_declaration(d, parameters);
        return inner ? itanium_node(d, NODE_DECLARATION_PACK, inner, NULL) : NULL;
    } else {
        return NULL;
    }
    if (node)
        node->b = name;
    return node;
}

struct node *itanium_parameter_declaration(struct itanium *d, struct list *parameters)
{
    if (++d->depth > ITANIUM_DEPTH)
        return NULL;
    struct node *node = declaration(d, parameters);
    d->depth--;
    return node;
}

static struct node *any_argument(struct itanium *d)
{
    struct node *node;
    switch (look(d, 0)) {
    case 'X':
        d->pos++;
        node = itanium_expression(d);
        return node && take(d, 'E') ? node : NULL;
    case 'J':
        d->pos++;
        node = itanium_node(d, NODE_LIST, NULL, NULL);
        return node && itanium_until_end(d, &node->list, itanium_argument) ? node : NULL;
    case 'L':
        if (look(d, 1) == 'Z') {
            d->pos += 2;
            node = itanium_encoding(d);
            return node && take(d, 'E') ? node : NULL;
        }
        return itanium_primary(d);
    case 'T':
        if (itanium_is_declaration(d)) { /* the parameter that the argument is for */
            struct list parameters = {0};
            bool in_clause = d->in_clause;
            d->in_clause = true;
            node = itanium_parameter_declaration(d, &parameters);
            d->in_clause = in_clause;
            return node ? itanium_argument(d) : NULL;
        }
        return itanium_type(d);
    default: return itanium_type(d);
    }
}

struct node *itanium_argument(struct itanium *d)
{
    if (++d->depth > ITANIUM_DEPTH)
        return NULL;
    struct node *node = any_argument(d);
    d->depth--;
    return node;
}

struct node *itanium_arguments(struct itanium *d, bool tag)
{
    if (!take(d, 'I'))
        return NULL;
    /* `tag`: these arguments are what T_ means from here on. */
    if (tag) {
        d->levels[0] = &d->outer;
        d->level_count = 1;
        d->outer = (struct list){0};
    }
    struct node *node = itanium_node(d, NODE_ARGUMENTS, NULL, NULL);
    if (!node)
        return NULL;
    while (!take(d, 'E')) {
        struct node *argument;
        if (take(d, 'Q')) {
            return itanium_clause(d) && take(d, 'E') ? node : NULL; /* not shown */
        }
        argument = itanium_argument(d);
        if (!itanium_push(d, &node->list, argument))
            return NULL;
        if (!tag)
            continue;
        struct node *meant = argument;
        if (argument->kind == NODE_LIST) {
            if (!(meant = itanium_node(d, NODE_PACK, NULL, NULL)))
                return NULL;
            meant->list = argument->list;
        }
        if (!itanium_push(d, &d->outer, meant))
            return NULL;
    }
    return node;
}
