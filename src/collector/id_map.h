/*
 * Numbers of rows by their keys, as one worker remembers them. Bounded: when it is full everything
 * is forgotten, and asked for again. A map belongs to one thread; it copies its keys.
 */
#ifndef COLLECTOR_ID_MAP_H
#define COLLECTOR_ID_MAP_H

#include "base/arena.h"
#include "base/reader.h"

#include <stdint.h>

enum { ID_MAP_MOST = 1 << 16 };

struct id_entry {
    struct span key;
    uint64_t hash;
    int64_t id;      /* of the row */
    int64_t group;   /* of stacks: their group; 0: none yet */
    uint64_t day_ms; /* of stacks: last_ms as the row has it */
};

struct id_map { /* all zero: empty */
    struct arena keys;
    struct id_entry *entries; /* open addressing; key.data NULL: free */
    size_t count, capacity;
};

/* NULL: not remembered. What it points at is valid until the next id_map_put. */
struct id_entry *id_map_find(struct id_map *map, struct span key);
/* A new entry of a key that is not in the map, its numbers 0. NULL when memory ran out. */
struct id_entry *id_map_put(struct id_map *map, struct span key);
void id_map_clear(struct id_map *map);
void id_map_free(struct id_map *map);

#endif
