/* Symbols of differentiable functions: derivatives, thunks for them, and witnesses. */
#include "demangle/swift_parse.h"

/* INDEX-SUBSET: S for a number that is in the set, U for one that is not. */
static struct swift_node *read_subset(struct swift_parser *p, char end)
{
    const char *start = p->at;
    while (swift_peek(p) == 'S' || swift_peek(p) == 'U')
        p->at++;
    size_t length = (size_t)(p->at - start);
    return length != 0 && swift_next_if(p, end)
               ? swift_new_text(p->arena, SW_INDEX_SUBSET, start, length)
               : NULL;
}

static struct swift_node *read_kind(struct swift_parser *p)
{
    switch (swift_next(p)) {
    case 'f': return swift_new_words(p->arena, SW_WORDS, "forward-mode derivative");
    case 'r': return swift_new_words(p->arena, SW_WORDS, "reverse-mode derivative");
    case 'd': return swift_new_words(p->arena, SW_WORDS, "differential");
    case 'p': return swift_new_words(p->arena, SW_WORDS, "pullback");
    default: return NULL;
    }
}

/* All that is on the stack: the symbol that this one is about. */
static struct swift_node *pop_original(struct swift_parser *p)
{
    struct swift_node *all = swift_new(p->arena, SW_SYMBOL);
    for (struct swift_node *node; (node = swift_pop(p)) != NULL;)
        all = swift_add(p->arena, all, node);
    if (all == NULL || all->count == 0)
        return NULL;
    swift_reverse(all, 0);
    return all;
}

/* Children: kind, original, parameters, results, and then a signature if there is one. */
static struct swift_node *finish(struct swift_parser *p, enum swift_kind kind,
                                 struct swift_node *words, struct swift_node *original,
                                 struct swift_node *signature)
{
    struct swift_node *parameters = read_subset(p, 'p');
    struct swift_node *results = parameters != NULL ? read_subset(p, 'r') : NULL;
    struct swift_node *node = swift_new_3(p->arena, kind, words, original, parameters);
    node = swift_add(p->arena, node, results);
    return signature != NULL ? swift_add(p->arena, node, signature) : node;
}

static struct swift_node *read_function(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *original = pop_original(p);
    return finish(p, kind, read_kind(p), original, signature);
}

/* A thunk of a type (a linear map), or of a symbol with the type it is wanted at. */
static struct swift_node *read_subset_thunk(struct swift_parser *p)
{
    struct swift_node *type = NULL;
    if (p->stack.count > 1 && (type = swift_pop_type(p)) == NULL)
        type = swift_pop(p);
    struct swift_node *original = pop_original(p);
    struct swift_node *node = finish(p, SW_DIFF_SUBSET_THUNK, read_kind(p), original, NULL);
    node = swift_add(p->arena, node, node != NULL ? read_subset(p, 'P') : NULL);
    return type != NULL ? swift_add(p->arena, node, type) : node;
}

static struct swift_node *read_reordering_thunk(struct swift_parser *p)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *to = swift_pop_type(p), *from = swift_pop_type(p);
    struct swift_node *node =
        swift_new_3(p->arena, SW_DIFF_REORDERING_THUNK, from, to, read_kind(p));
    return signature != NULL ? swift_add(p->arena, node, signature) : node;
}

struct swift_node *swift_read_diff_function(struct swift_parser *p)
{
    switch (swift_peek(p)) {
    case 'O': p->at++; return read_reordering_thunk(p);
    case 'S': p->at++; return read_subset_thunk(p);
    case 'V': p->at++; return read_function(p, SW_DIFF_VTABLE_THUNK);
    default: return read_function(p, SW_DIFF_FUNCTION);
    }
}

struct swift_node *swift_read_diff_witness(struct swift_parser *p)
{
    char c = swift_next(p);
    const char *words = c == 'f'   ? "forward-mode"
                        : c == 'r' ? "reverse-mode"
                        : c == 'd' ? "normal"
                        : c == 'l' ? "linear"
                                   : NULL;
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *original = pop_original(p);
    if (words == NULL)
        return NULL;
    return finish(p, SW_DIFF_WITNESS, swift_new_words(p->arena, SW_WORDS, words), original,
                  signature);
}
