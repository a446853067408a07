/*
 * Which inlined call is the innermost at each address of a function: a sweep over the ranges of all
 * calls, sorted by start, with the stack of those that are open.
 *
 *     function  |-------------------------------------|
 *     a           |----------------|  |----|             a's two ranges
 *     b (in a)    |------|                               same start: the parent comes first
 *     c (in a)           |-----|
 *     steps     f b      c     a   f  a    f
 *
 * The sweep needs ranges that are properly nested, as compilers mean them to be: each inside one
 * range of its parent, siblings apart. It notices when they are not; flatten_renest then makes them
 * so, and the sweep begins again.
 */
#include "symmap/flatten_internal.h"

enum { RUN = 16 };

/* ---- sorting ---- */

static void sort_run(struct nest_range *ranges, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct nest_range range = ranges[i];
        size_t at = i;
        for (; at && ranges[at - 1].lo > range.lo; at--)
            ranges[at] = ranges[at - 1];
        ranges[at] = range;
    }
}

static void merge(const struct nest_range *from, size_t begin, size_t middle, size_t end,
                  struct nest_range *to)
{
    size_t a = begin, b = middle;
    for (size_t i = begin; i < end; i++)
        to[i] = b == end || (a < middle && from[a].lo <= from[b].lo) ? from[a++] : from[b++];
}

bool flatten_sort_ranges(struct nest *nest)
{
    size_t count = nest->range_count;
    for (size_t begin = 0; begin < count; begin += RUN)
        sort_run(nest->ranges + begin, count - begin < RUN ? count - begin : RUN);
    if (count <= RUN)
        return true;
    if (!flatten_room(nest->arena, &nest->sorted, &nest->sorted_capacity, nest->range_capacity,
                      sizeof *nest->sorted))
        return false;
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t middle = count - begin < width ? count : begin + width;
            size_t end = count - middle < width ? count : middle + width;
            merge(nest->ranges, begin, middle, end, nest->sorted);
        }
        struct nest_range *swap = nest->ranges;
        size_t capacity = nest->range_capacity;
        nest->ranges = nest->sorted;
        nest->range_capacity = nest->sorted_capacity;
        nest->sorted = swap;
        nest->sorted_capacity = capacity;
    }
    return true;
}

/* ---- the sweep ---- */

static void step(struct nest *nest, uint64_t lo, uint32_t call)
{
    if (nest->step_count && nest->steps[nest->step_count - 1].lo == lo)
        nest->step_count--;
    nest->steps[nest->step_count++] = (struct nest_step){lo, call};
}

/* Closes the ranges that end at or before `address`, down to the piece at the bottom. */
static size_t close_until(struct nest *nest, size_t depth, uint64_t address)
{
    while (depth > 1 && nest->stack[depth - 1].hi <= address) {
        depth--;
        step(nest, nest->stack[depth].hi, nest->stack[depth - 1].call);
    }
    return depth;
}

/* False: the ranges are not properly nested. */
static bool sweep(struct nest *nest, const struct dwarf_unit *unit,
                  const struct dwarf_function *function, const struct object_range *pieces,
                  size_t piece_count)
{
    size_t next = 0;
    nest->step_count = 0;
    for (size_t i = 0; i < piece_count; i++) {
        size_t depth = 1;
        nest->stack[0] = (struct nest_range){pieces[i].lo, pieces[i].hi, DWARF_NONE};
        step(nest, pieces[i].lo, DWARF_NONE);
        for (; next < nest->range_count && nest->ranges[next].lo < pieces[i].hi; next++) {
            const struct nest_range *r = &nest->ranges[next];
            depth = close_until(nest, depth, r->lo);
            const struct nest_range *top = &nest->stack[depth - 1];
            if (r->lo < top->lo || r->hi > top->hi ||
                nest_parent(unit, function, r->call) != top->call)
                return false;
            nest->stack[depth++] = *r;
            step(nest, r->lo, r->call);
        }
        close_until(nest, depth, pieces[i].hi - 1); /* those that end with it leave nothing */
    }
    return next == nest->range_count;
}

static bool collect(struct nest *nest, const struct dwarf_unit *unit,
                    const struct dwarf_function *function)
{
    nest->range_count = 0;
    for (uint32_t i = 0; i < function->inline_count; i++) {
        const struct dwarf_inline *call = &unit->inlines[function->first_inline + i];
        if (!flatten_room(nest->arena, &nest->ranges, &nest->range_capacity,
                          nest->range_count + call->range_count, sizeof *nest->ranges))
            return false;
        for (uint32_t k = 0; k < call->range_count; k++) {
            const struct object_range *range = &unit->ranges[call->first_range + k];
            if (range->lo < range->hi)
                nest->ranges[nest->range_count++] = (struct nest_range){range->lo, range->hi, i};
        }
    }
    return true;
}

static bool make_room(struct nest *nest, size_t piece_count)
{
    return flatten_room(nest->arena, &nest->stack, &nest->stack_capacity, nest->range_count + 1,
                        sizeof *nest->stack) &&
           flatten_room(nest->arena, &nest->steps, &nest->step_capacity,
                        2 * nest->range_count + piece_count, sizeof *nest->steps);
}

bool flatten_nest(struct nest *nest, const struct dwarf_unit *unit,
                  const struct dwarf_function *function, const struct object_range *pieces,
                  size_t piece_count)
{
    if (!collect(nest, unit, function) || !flatten_sort_ranges(nest) ||
        !make_room(nest, piece_count))
        return false;
    if (sweep(nest, unit, function, pieces, piece_count))
        return true;
    if (!flatten_renest(nest, unit, function, pieces, piece_count) || !make_room(nest, piece_count))
        return false;
    sweep(nest, unit, function, pieces, piece_count);
    return true;
}
