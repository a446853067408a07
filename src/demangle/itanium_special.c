/* Encodings of C++: functions with their types, data, and special names (Itanium C++ ABI 5.1.2,
 * 5.1.4). */
#include "demangle/itanium.h"

/* Arguments of an encoding mean nothing outside of it. */
void itanium_enter(struct itanium *d, struct template_scope *saved)
{
    saved->outer = d->outer;
    saved->count = d->level_count;
    memcpy(saved->levels, d->levels, sizeof(struct list *) * d->level_count);
    d->outer = (struct list){0};
    d->level_count = 0;
}

void itanium_leave(struct itanium *d, const struct template_scope *saved)
{
    d->outer = saved->outer;
    d->level_count = saved->count;
    memcpy(d->levels, saved->levels, sizeof(struct list *) * saved->count);
}

static struct node *prefixed(struct itanium *d, const char *text, struct node *node)
{
    return node ? itanium_string(d, NODE_PREFIXED, text, node) : NULL;
}

static bool call_offset(struct itanium *d)
{
    const char *digits;
    size_t length;
    if (take(d, 'h'))
        return itanium_number(d, true, &digits, &length) && take(d, '_');
    return take(d, 'v') && itanium_number(d, true, &digits, &length) && take(d, '_') &&
           itanium_number(d, true, &digits, &length) && take(d, '_');
}

static struct node *special_t(struct itanium *d)
{
    const char *digits;
    size_t length;
    char which = look(d, 1);
    if (which == '\0')
        return NULL;
    d->pos += 2;
    switch (which) {
    case 'V': return prefixed(d, "vtable for ", itanium_type(d));
    case 'T': return prefixed(d, "VTT for ", itanium_type(d));
    case 'I': return prefixed(d, "typeinfo for ", itanium_type(d));
    case 'S': return prefixed(d, "typeinfo name for ", itanium_type(d));
    case 'W': return prefixed(d, "thread-local wrapper routine for ", itanium_name(d, NULL));
    case 'H': return prefixed(d, "thread-local initialization routine for ", itanium_name(d, NULL));
    case 'A': return prefixed(d, "template parameter object for ", itanium_argument(d));
    case 'c':
        if (!call_offset(d) || !call_offset(d))
            return NULL;
        return prefixed(d, "covariant return thunk to ", itanium_encoding(d));
    case 'C': {
        struct node *base = itanium_type(d);
        if (!base || !itanium_number(d, true, &digits, &length) || !take(d, '_'))
            return NULL;
        struct node *whole = itanium_type(d);
        struct node *node =
            whole ? itanium_string(d, NODE_BETWEEN, "construction vtable for ", whole) : NULL;
        if (node)
            node->b = base;
        return node;
    }
    case 'h':
    case 'v':
        d->pos--;
        if (!call_offset(d))
            return NULL;
        return prefixed(d, which == 'v' ? "virtual thunk to " : "non-virtual thunk to ",
                        itanium_encoding(d));
    default: return NULL;
    }
}

static struct node *special_g(struct itanium *d)
{
    char which = look(d, 1);
    struct node *name;
    if (which == '\0')
        return NULL;
    d->pos += 2;
    switch (which) {
    case 'V': return prefixed(d, "guard variable for ", itanium_name(d, NULL));
    case 'R':
        name = itanium_name(d, NULL);
        if (!name || (d->pos != d->end && itanium_sequence(d) == ~0u))
            return NULL;
        return prefixed(d, "reference temporary for ", name);
    case 'I':
        name = NULL;
        if (!itanium_module_name(d, &name))
            return NULL;
        return prefixed(d, "initializer for module ", name);
    case 'T':
        which = look(d, 0);
        if (!take(d, 't') && !take(d, 'n'))
            return NULL;
        return prefixed(d, which == 't' ? "transaction clone for " : "non-transaction clone for ",
                        itanium_encoding(d));
    default: return NULL;
    }
}

/* What T_ meant in a conversion operator's type, once the arguments behind it are known. */
static bool resolve(struct itanium *d, const struct name_state *state)
{
    for (uint32_t i = state->forwards_begin; i < d->forwards.count; i++) {
        struct node *forward = d->forwards.items[i];
        if (d->level_count == 0 || !d->levels[0] || forward->number >= d->levels[0]->count)
            return false;
        forward->a = d->levels[0]->items[forward->number];
    }
    d->forwards.count = state->forwards_begin;
    return true;
}

static bool at_end(const struct itanium *d)
{
    char c = look(d, 0);
    return d->pos == d->end || c == 'E' || c == '.' || c == '_' || c == '@';
}

static bool enable_if(struct itanium *d, struct node **attributes)
{
    static const char word[] = "Ua9enable_ifI";
    if ((size_t)(d->end - d->pos) < sizeof word - 1 || memcmp(d->pos, word, sizeof word - 1) != 0)
        return true;
    d->pos += sizeof word - 1;
    *attributes = itanium_node(d, NODE_ENABLE_IF, NULL, NULL);
    return *attributes && itanium_until_end(d, &(*attributes)->list, itanium_argument);
}

/* Return type, parameters and requirements behind a function's name. */
static bool signature(struct itanium *d, struct node *node, struct name_state *state)
{
    if (!enable_if(d, &node->c))
        return false;
    if (state->ends_with_arguments && !state->structor_or_conversion &&
        !(node->a = itanium_type(d)))
        return false;
    if (!take(d, 'v')) {
        do {
            struct node *parameter = itanium_type(d);
            if (parameter && state->explicit_object && node->list.count == 0)
                parameter = prefixed(d, "this ", parameter);
            if (!itanium_push(d, &node->list, parameter))
                return false;
        } while (!at_end(d) && look(d, 0) != 'Q');
    }
    if (!take(d, 'Q'))
        return true;
    struct node *required = itanium_clause(d);
    return required && (node->c = itanium_node(d, NODE_REQUIRES, node->c, required));
}

static struct node *function_or_data(struct itanium *d)
{
    struct name_state state = {.forwards_begin = d->forwards.count};
    struct node *name = itanium_name(d, &state);
    if (!name || !resolve(d, &state))
        return NULL;
    if (at_end(d))
        return name;
    struct node *node = itanium_node(d, NODE_ENCODING, NULL, name);
    if (!node || !signature(d, node, &state))
        return NULL;
    node->quals = state.quals;
    return node;
}

struct node *itanium_encoding(struct itanium *d)
{
    if (++d->depth > ITANIUM_DEPTH)
        return NULL;
    struct template_scope scope;
    itanium_enter(d, &scope);
    bool no_arguments = d->no_arguments, may_forward = d->may_forward, in_clause = d->in_clause;
    d->no_arguments = d->may_forward = d->in_clause = false;
    struct node *node;
    if (look(d, 0) == 'T')
        node = special_t(d);
    else if (look(d, 0) == 'G')
        node = special_g(d);
    else
        node = function_or_data(d);
    d->no_arguments = no_arguments;
    d->may_forward = may_forward;
    d->in_clause = in_clause;
    itanium_leave(d, &scope);
    d->depth--;
    return node;
}
