/* Lists of ranges with owners: how nested and overlapping ones become disjoint, and how one list
 * covers another. */
#ifndef SYMMAP_INTERVALS_H
#define SYMMAP_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    uint32_t lo, hi;
    uint32_t owner;
    uint32_t rows; /* a second number that goes along with the owner */
};

struct intervals {
    struct interval *items;
    size_t count, capacity;
};

bool intervals_add(struct intervals *list, struct interval interval);

/* Makes `list` disjoint: the inner one wins its part; of two that overlap in part the later keeps
 * its rest, which counts in *overlaps. `list` is ascending by (lo, descending hi), all different.
 * False when out of memory. */
bool intervals_resolve(struct intervals *list, uint64_t *overlaps);

/* What `top` covers, and the rest of what `bottom` covers; both disjoint and ascending. */
bool intervals_overlay(const struct intervals *top, const struct intervals *bottom,
                       struct intervals *result);

/* Splits `list` where `lines` begins and ends, and takes over its `rows` there. */
bool intervals_attach(const struct intervals *list, const struct intervals *lines,
                      struct intervals *result);

#endif
