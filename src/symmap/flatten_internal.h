/*
 * What flattening is made of: spans of lines that do not overlap (flatten_lines.c), contexts by
 * address (flatten_nesting.c), and the tables that flatten.c makes of both.
 */
#ifndef SYMMAP_FLATTEN_INTERNAL_H
#define SYMMAP_FLATTEN_INTERNAL_H

#include "symmap/code.h"

#include <string.h>

/* Room for `needed` items in an array that grows in `arena`. */
static inline bool flatten_room(struct arena *arena, void *items, size_t *capacity, size_t needed,
                                size_t item_size)
{
    if (needed <= *capacity)
        return true;
    size_t larger = *capacity > SIZE_MAX / 4 ? needed : *capacity * 2;
    larger = larger < needed ? needed : larger;
    larger = larger < 64 ? 64 : larger;
    if (larger > SIZE_MAX / item_size)
        return false;
    void *old;
    memcpy(&old, items, sizeof old);
    void *moved = arena_resize(arena, old, *capacity * item_size, larger * item_size);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    *capacity = larger;
    return true;
}

/* ---- lines ---- */

/* The rows that hold in [lo, hi): row `first` is the one that holds at lo. */
struct line_span {
    uint64_t lo, hi;
    uint32_t first, end; /* indices into lines->rows */
};

struct line_spans { /* ascending, not overlapping */
    struct line_span *items;
    size_t count;
};

bool flatten_line_spans(const struct dwarf_lines *lines, struct arena *arena,
                        struct line_spans *spans);

/* ---- contexts ---- */

struct nest_range { /* [lo, hi) of an inlined call */
    uint64_t lo, hi;
    uint32_t call; /* counted from the function's first; DWARF_NONE: the function itself */
};

struct nest_step { /* from `lo` on, `call` is the innermost */
    uint64_t lo;
    uint32_t call;
};

struct nest { /* one for all functions of a unit: its arrays are used again */
    struct arena *arena;
    struct nest_range *ranges, *sorted, *stack;
    size_t range_count, range_capacity, sorted_capacity, stack_capacity;
    struct nest_step *steps; /* the result */
    size_t step_count, step_capacity;
};

/* The innermost call at each address of `function`, whose pieces are given ascending and apart.
 * There is a step at the start of each piece; what a step says ends with the piece. */
bool flatten_nest(struct nest *nest, const struct dwarf_unit *unit,
                  const struct dwarf_function *function, const struct object_range *pieces,
                  size_t piece_count);
/* The rare case (flatten_renest.c): makes nest->ranges properly nested, that is each range inside
 * one of its parent's and those of siblings apart. Sorted by (lo, call). */
bool flatten_renest(struct nest *nest, const struct dwarf_unit *unit,
                    const struct dwarf_function *function, const struct object_range *pieces,
                    size_t piece_count);
/* Stable, by lo. */
bool flatten_sort_ranges(struct nest *nest);
/* The parent of a call, in the same count; DWARF_NONE: the function. */
static inline uint32_t nest_parent(const struct dwarf_unit *unit,
                                   const struct dwarf_function *function, uint32_t call)
{
    uint32_t parent = unit->inlines[function->first_inline + call].parent;
    return parent >= function->first_inline && parent < function->first_inline + call
               ? parent - function->first_inline
               : DWARF_NONE;
}

/* ---- the unit ---- */

enum { FLATTEN_UNSEEN = UINT32_MAX - 1 }; /* in maps from the unit's numbers to ours */

struct flatten {
    const struct dwarf_unit *unit;
    const struct dwarf_lines *lines;
    bool keep_columns;
    struct arena *scratch;
    struct code_unit out; /* arrays in scratch */
    size_t function_room, context_room, row_room, column_room, call_room;
    size_t row_limit; /* functions of a hostile unit may all share all code */
    struct line_spans spans;
    struct nest nest;
    struct object_range *pieces; /* of the function at hand */
    size_t piece_count, piece_room;
    uint32_t *file_map, *subject_map; /* the unit's numbers to ours; CODE_NONE, FLATTEN_UNSEEN */
    uint32_t *context_of, *chain;     /* of the function's inlined calls */
    size_t context_of_room, chain_room;
    size_t name_bytes; /* of names to be copied */
};

/* Functions are sorted; rows and contexts are brought into their order. */
fw_error flatten_copy_out(const struct flatten *f, struct code_unit *code);

#endif
