/*
 * Which function owns which address: from all functions of all units and all symbols to pieces that
 * are disjoint and ascending.
 *
 * Rules (docs/symbol-map.md, "Who owns an address"): functions of the debug file first, of the same
 * range the one with most rows and contexts; the inner one of nested ones; the earlier one of those
 * that overlap in part. Then symbols, by the same rules, with the line rows that no function
 * covers; then these rows alone. A symbol at the very start of a function names it.
 */
#ifndef SYMMAP_MERGE_H
#define SYMMAP_MERGE_H

#include "symmap/sort.h"
#include "symmap/symmap.h"

enum { MERGE_NONE = UINT32_MAX };

struct merge_function {   /* in the order of their first pieces */
    uint32_t lo, hi;      /* offsets from base, as its source has them */
    uint32_t unit, index; /* code_function; MERGE_NONE: a symbol alone */
    uint32_t symbol;      /* that names it, or MERGE_NONE */
    uint32_t first_piece, piece_count;
    bool closed; /* no function before it reaches beyond the start of its first piece */
};

struct merge_piece {
    uint32_t lo, hi;
    uint32_t unit, index; /* the function whose rows hold here; MERGE_NONE: none */
};

struct merge_alias {
    uint32_t function;
    const char *name;
};

struct merge {
    struct merge_function *functions;
    uint32_t function_count;
    struct merge_piece *pieces; /* by function, then address */
    uint32_t piece_count;
    struct merge_alias *aliases; /* by function; may repeat each other and the function's name */
    size_t alias_count, alias_capacity;
    /* Number of the function that stands for unit u's function i: numbers[first_of_unit[u] + i], or
     * MERGE_NONE. One that lost to another of the same range has the winner's. */
    uint32_t *numbers;
    size_t *first_of_unit;
    struct symmap_problems problems;
};

fw_error merge_run(const struct symmap_source *source, struct workers *workers,
                   struct merge *merge);
void merge_free(struct merge *merge);

#endif
