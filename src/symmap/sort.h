/* Sorts many numbers in several threads. The order is total, so there is one result. */
#ifndef SYMMAP_SORT_H
#define SYMMAP_SORT_H

#include "symmap/workers.h"

#include <stdbool.h>
#include <stdint.h>

struct sort_item {
    uint64_t key;   /* by this, ascending, */
    uint64_t value; /* then by this */
};

/* False when out of memory: nothing is changed then. */
bool sort_items(struct workers *workers, struct sort_item *items, size_t count);

#endif
