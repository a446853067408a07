#include "collector/db_cache.h"

#include "collector/db_driver.h"

#include <stdlib.h>

/* FNV-1a */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

struct db_statement *db_cache_find(struct db_cache *cache, const char *sql,
                                   const struct db_statement *after)
{
    uint64_t hash = hash_of(sql);
    for (size_t i = after ? (size_t)(after - cache->statements) + 1 : 0; i < cache->count; i++) {
        struct db_statement *s = &cache->statements[i];
        if (s->hash == hash && strcmp(s->sql, sql) == 0) {
            s->used = ++cache->clock;
            return s;
        }
    }
    return NULL;
}

/* A place for one more: behind the others, or that of the one which was not used for longest. */
static struct db_statement *place(struct db_cache *cache, void **dropped)
{
    if (!cache->statements)
        cache->statements = calloc(DB_STATEMENTS_CACHED, sizeof *cache->statements);
    if (!cache->statements)
        return NULL;
    if (cache->count < DB_STATEMENTS_CACHED)
        return &cache->statements[cache->count++];
    struct db_statement *oldest = cache->statements;
    for (size_t i = 1; i < cache->count; i++)
        if (cache->statements[i].used < oldest->used)
            oldest = &cache->statements[i];
    *dropped = oldest->prepared;
    free(oldest->sql);
    return oldest;
}

struct db_statement *db_cache_add(struct db_cache *cache, const char *sql, void *prepared,
                                  void **dropped)
{
    *dropped = NULL;
    char *copy = strdup(sql);
    struct db_statement *s = copy ? place(cache, dropped) : NULL;
    if (!s) {
        free(copy);
        return NULL;
    }
    *s = (struct db_statement){copy, hash_of(sql), ++cache->clock, prepared};
    return s;
}

void db_cache_remove(struct db_cache *cache, const void *prepared)
{
    for (size_t i = 0; i < cache->count; i++)
        if (cache->statements[i].prepared == prepared) {
            free(cache->statements[i].sql);
            cache->statements[i] = cache->statements[--cache->count];
            return;
        }
}

void db_cache_free(struct db_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        free(cache->statements[i].sql);
    free(cache->statements);
    *cache = (struct db_cache){0};
}
