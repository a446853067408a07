/* A hash table of row numbers: id_map.h. Foreign keys cannot make it slow for long: a table of one
 * worker is emptied at ID_MAP_MOST, and probes of one lookup are bounded by it. */
#include "collector/id_map.h"

#include <stdlib.h>

static uint64_t hash_of(struct span key)
{
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < key.size; i++)
        hash = (hash ^ key.data[i]) * 0x100000001b3;
    return hash ^ hash >> 29;
}

static struct id_entry *place_of(struct id_map *map, struct span key, uint64_t hash)
{
    for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
        struct id_entry *e = &map->entries[i];
        if (!e->key.data || (e->hash == hash && e->key.size == key.size &&
                             memcmp(e->key.data, key.data, key.size) == 0))
            return e;
    }
}

struct id_entry *id_map_find(struct id_map *map, struct span key)
{
    if (map->count == 0)
        return NULL;
    struct id_entry *e = place_of(map, key, hash_of(key));
    return e->key.data ? e : NULL;
}

static bool grow(struct id_map *map)
{
    size_t capacity = map->capacity ? 2 * map->capacity : 256;
    struct id_map larger = {.keys = map->keys, .count = map->count, .capacity = capacity};
    larger.entries = calloc(capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key.data)
            *place_of(&larger, map->entries[i].key, map->entries[i].hash) = map->entries[i];
    free(map->entries);
    *map = larger;
    return true;
}

struct id_entry *id_map_put(struct id_map *map, struct span key)
{
    if (map->count == ID_MAP_MOST)
        id_map_clear(map);
    if (2 * (map->count + 1) > map->capacity && !grow(map))
        return NULL;
    uint8_t *copy = arena_take(&map->keys, key.size);
    if (!copy)
        return NULL;
    memcpy(copy, key.data, key.size);
    struct id_entry *e = place_of(map, key, hash_of(key));
    *e = (struct id_entry){.key = {copy, key.size}, .hash = hash_of(key)};
    map->count++;
    return e;
}

void id_map_clear(struct id_map *map)
{
    if (map->count)
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
    map->count = 0;
    arena_reset(&map->keys);
}

void id_map_free(struct id_map *map)
{
    free(map->entries);
    arena_free(&map->keys);
    *map = (struct id_map){0};
}
