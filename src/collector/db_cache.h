/*
 * Statements that a connection has prepared, found by their text; the least recently used one goes
 * when there are too many. A cache belongs to its connection.
 */
#ifndef COLLECTOR_DB_CACHE_H
#define COLLECTOR_DB_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct db_statement {
    char *sql; /* ours */
    uint64_t hash, used;
    void *prepared; /* the driver's */
};

struct db_cache {
    struct db_statement *statements;
    size_t count;
    uint64_t clock; /* counts uses */
};

/* NULL when there is none for `sql`. `after`: continues behind that one (one text may have several,
 * told apart by the driver); NULL: from the start. */
struct db_statement *db_cache_find(struct db_cache *cache, const char *sql,
                                   const struct db_statement *after);
/* Adds one; NULL: no memory. When the cache is full the oldest one's `prepared` comes back in
 * `dropped`, else NULL. Pointers to statements are void then. */
struct db_statement *db_cache_add(struct db_cache *cache, const char *sql, void *prepared,
                                  void **dropped);
void db_cache_remove(struct db_cache *cache, const void *prepared);
void db_cache_free(struct db_cache *cache); /* the `prepared` are the driver's to free before */

#endif
