/*
 * Inlined calls that are not properly nested made so: clipped to their parents, and siblings that
 * overlap told apart.
 *
 *     parent     |--------------------|            |--------------------|
 *     a             |-----------|                     |---|     |-|
 *     b                 |-----|             ->            |-----|
 *     c (in a)    |---------|                         |---|
 *     d                          |---------|                     |------|
 *
 * Parents are done before their children, and each child gets a chain of the ranges that are left
 * of it. A range that is cut by many of its parent's becomes many; their number is bounded, and
 * what goes beyond it (no compiler's doing) is left out.
 */
#include "symmap/flatten_internal.h"

enum { NONE = UINT32_MAX };

struct left { /* a range that is left of a call, and the next of the same call */
    uint64_t lo, hi;
    uint32_t call, next;
};

struct renest {
    struct arena *arena;
    struct left *left;
    size_t count, capacity, limit;
    uint32_t *head, *tail; /* of each call's chain in left[]; the function's are the last */
    /* ranges of the children of one parent: order[starts[p] .. starts[p + 1]) */
    const struct nest_range *ranges;
    uint32_t *starts, *order;
    uint32_t *open; /* stack of ranges: the one that started last is on top */
};

static bool add_left(struct renest *n, size_t owner, uint64_t lo, uint64_t hi, uint32_t call)
{
    if (n->tail[owner] != NONE && n->left[n->tail[owner]].hi == lo) {
        n->left[n->tail[owner]].hi = hi;
        return true;
    }
    if (n->count >= n->limit)
        return true;
    if (!flatten_room(n->arena, &n->left, &n->capacity, n->count + 1, sizeof *n->left))
        return false;
    uint32_t index = (uint32_t)n->count++;
    n->left[index] = (struct left){lo, hi, call, NONE};
    if (n->tail[owner] == NONE)
        n->head[owner] = index;
    else
        n->left[n->tail[owner]].next = index;
    n->tail[owner] = index;
    return true;
}

/* [lo, hi) belongs to `call`, as far as its parent has it; `*at` goes along the parent's chain. */
static bool clip(struct renest *n, uint32_t *at, uint64_t lo, uint64_t hi, uint32_t call)
{
    while (*at != NONE && n->left[*at].hi <= lo)
        *at = n->left[*at].next;
    for (uint32_t i = *at; i != NONE && n->left[i].lo < hi; i = n->left[i].next) {
        uint64_t from = n->left[i].lo > lo ? n->left[i].lo : lo;
        uint64_t to = n->left[i].hi < hi ? n->left[i].hi : hi;
        if (!add_left(n, call, from, to, call))
            return false;
    }
    return true;
}

/* Gives [*from, to) to the open ranges, the one that started last first. */
static bool flush(struct renest *n, size_t *depth, uint64_t *from, uint64_t to, uint32_t *at)
{
    while (*depth && *from < to) {
        const struct nest_range *top = &n->ranges[n->open[*depth - 1]];
        if (top->hi > *from) {
            uint64_t end = top->hi < to ? top->hi : to;
            if (!clip(n, at, *from, end, top->call))
                return false;
            *from = end;
        }
        if (top->hi <= *from)
            --*depth;
    }
    *from = to;
    return true;
}

static bool settle_children(struct renest *n, size_t parent)
{
    size_t depth = 0;
    uint64_t from = 0;
    uint32_t at = n->head[parent];
    for (uint32_t i = n->starts[parent]; i < n->starts[parent + 1]; i++) {
        uint32_t range = n->order[i];
        if (!flush(n, &depth, &from, n->ranges[range].lo, &at))
            return false;
        n->open[depth++] = range;
    }
    return flush(n, &depth, &from, UINT64_MAX, &at);
}

/* Ranges by parent, each group as sorted as they are. */
static void group(struct renest *n, const struct nest *nest, const struct dwarf_unit *unit,
                  const struct dwarf_function *function)
{
    size_t calls = function->inline_count;
    memset(n->starts, 0, (calls + 3) * sizeof *n->starts);
    for (size_t i = 0; i < nest->range_count; i++) {
        uint32_t parent = nest_parent(unit, function, nest->ranges[i].call);
        n->starts[(parent == DWARF_NONE ? calls : parent) + 2]++;
    }
    for (size_t p = 2; p < calls + 3; p++)
        n->starts[p] += n->starts[p - 1];
    for (size_t i = 0; i < nest->range_count; i++) {
        uint32_t parent = nest_parent(unit, function, nest->ranges[i].call);
        n->order[n->starts[(parent == DWARF_NONE ? calls : parent) + 1]++] = (uint32_t)i;
    }
}

static bool begin(struct renest *n, const struct nest *nest, size_t calls)
{
    n->arena = nest->arena;
    n->ranges = nest->ranges;
    n->head = arena_take_many(n->arena, calls + 1, sizeof *n->head);
    n->tail = arena_take_many(n->arena, calls + 1, sizeof *n->tail);
    n->starts = arena_take_many(n->arena, calls + 3, sizeof *n->starts);
    n->order = arena_take_many(n->arena, nest->range_count, sizeof *n->order);
    n->open = arena_take_many(n->arena, nest->range_count, sizeof *n->open);
    if (!n->head || !n->tail || !n->starts || !n->order || !n->open)
        return false;
    memset(n->head, 0xff, (calls + 1) * sizeof *n->head);
    memset(n->tail, 0xff, (calls + 1) * sizeof *n->tail);
    return true;
}

bool flatten_renest(struct nest *nest, const struct dwarf_unit *unit,
                    const struct dwarf_function *function, const struct object_range *pieces,
                    size_t piece_count)
{
    struct renest n = {0};
    size_t calls = function->inline_count;
    if (!begin(&n, nest, calls))
        return false;
    group(&n, nest, unit, function);
    n.limit = 8 * (nest->range_count + piece_count) + 1024;
    n.limit = n.limit < NONE ? n.limit : NONE - 1;
    for (size_t i = 0; i < piece_count; i++)
        if (!add_left(&n, calls, pieces[i].lo, pieces[i].hi, DWARF_NONE))
            return false;
    if (!settle_children(&n, calls))
        return false;
    for (size_t call = 0; call < calls; call++)
        if (n.head[call] != NONE && !settle_children(&n, call))
            return false;
    nest->range_count = 0;
    if (!flatten_room(nest->arena, &nest->ranges, &nest->range_capacity, n.count,
                      sizeof *nest->ranges))
        return false;
    for (size_t call = 0; call < calls; call++) /* equal starts: parents first */
        for (uint32_t i = n.head[call]; i != NONE; i = n.left[i].next)
            nest->ranges[nest->range_count++] =
                (struct nest_range){n.left[i].lo, n.left[i].hi, n.left[i].call};
    return flatten_sort_ranges(nest);
}
