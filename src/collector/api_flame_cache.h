/*
 * The last flame graphs that were made: who looks at one asks again within seconds (a reload, a
 * second browser). Thread-safe, one for the process; 16 answers of at most 4 MB, 5 s each.
 */
#ifndef COLLECTOR_API_FLAME_CACHE_H
#define COLLECTOR_API_FLAME_CACHE_H

#include "report/out.h"

struct flame_key {
    const void *server; /* tests run several in one process */
    int64_t group, generation, blocked_ns;
};
/* Appends the answer. False: it is not there, or too old. */
bool flame_cache_get(const struct flame_key *key, struct report_bytes *out);
void flame_cache_put(const struct flame_key *key, const struct report_bytes *answer);

#endif
