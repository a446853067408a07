/*
 * Which of many overlapping extents covers an address: flattened once into disjoint pieces, then
 * found by a table of equal strides of addresses, and a binary search over the 32-bit offsets of
 * the few pieces of one stride.
 *
 * Building allocates; finding does not, and is read-only.
 */
#ifndef OBJECT_EXTENTS_H
#define OBJECT_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTENT_NONE UINT32_MAX

struct extent {
    uint64_t start, end; /* [start, end), never empty */
};

struct extents {
    uint64_t base;    /* address that narrow starts count from */
    uint32_t *narrow; /* starts of the pieces minus base; NULL when they need 64 bits */
    uint32_t *stride; /* with narrow: the piece at the start of each 2^shift addresses, and one more
                         entry behind the last */
    unsigned shift;
    uint64_t *wide;  /* starts of the pieces, else NULL */
    uint32_t *owner; /* which extent each piece belongs to, or EXTENT_NONE */
    size_t count;    /* pieces */
};

/* `list` is strictly ascending by start. Where extents overlap, the one that starts last owns the
 * address. False when out of memory; extents_free is right in either case. */
bool extents_build(struct extents *extents, const struct extent *list, size_t count);
void extents_free(struct extents *extents);
/* Index into `list`, or EXTENT_NONE. */
uint32_t extents_find(const struct extents *extents, uint64_t address);

#endif
