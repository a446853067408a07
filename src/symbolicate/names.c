/* Demangled names of one answer, each made once. */
#include "symbolicate/internal.h"

#include "demangle/demangle.h"

#include <stdlib.h>
#include <string.h>

struct name_entry {
    const char *mangled, *shown;
};

static size_t place_of(const struct name_cache *cache, const char *mangled)
{
    uint64_t hash = (uint64_t)(uintptr_t)mangled * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(hash >> 32) & (cache->capacity - 1);
    while (cache->entries[i].mangled && cache->entries[i].mangled != mangled)
        i = (i + 1) & (cache->capacity - 1);
    return i;
}

static bool grow(struct name_cache *cache)
{
    struct name_cache larger = {.capacity = cache->capacity ? cache->capacity * 2 : 64,
                                .count = cache->count};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < cache->capacity; i++)
        if (cache->entries[i].mangled)
            larger.entries[place_of(&larger, cache->entries[i].mangled)] = cache->entries[i];
    free(cache->entries);
    *cache = larger;
    return true;
}

static const char *make(const struct fw_symbolicator *symbolicator, struct arena *arena,
                        const char *mangled)
{
    char text[DEMANGLE_TEXT_SIZE];
    const struct demangle_options options = {
        .style = symbolicator->options.simplified ? DEMANGLE_SIMPLIFIED : DEMANGLE_FULL};
    if (!demangle(mangled, &options, text, sizeof text))
        return mangled;
    size_t size = strlen(text) + 1;
    char *copy = arena_take(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

const char *name_for_people(const struct fw_symbolicator *symbolicator, struct name_cache *cache,
                            struct arena *arena, const char *mangled)
{
    if (symbolicator->options.mangled)
        return mangled;
    if (cache->count * 2 >= cache->capacity && !grow(cache))
        return NULL;
    struct name_entry *entry = &cache->entries[place_of(cache, mangled)];
    if (!entry->mangled) {
        const char *shown = make(symbolicator, arena, mangled);
        if (!shown)
            return NULL;
        *entry = (struct name_entry){mangled, shown};
        cache->count++;
    }
    return entry->shown;
}

void name_cache_free(struct name_cache *cache)
{
    free(cache->entries);
    *cache = (struct name_cache){0};
}
