#include "collector/api_flame_cache.h"

#include "collector/collector.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 16, ENTRY_BYTES = 4 << 20, ENTRY_MS = 5000 };

static struct {
    pthread_mutex_t lock;
    struct {
        struct flame_key key;
        struct report_bytes answer; /* size 0: free */
        uint64_t made_ms;
    } entries[ENTRIES];
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same(const struct flame_key *a, const struct flame_key *b)
{
    return a->server == b->server && a->group == b->group && a->generation == b->generation &&
           a->blocked_ns == b->blocked_ns;
}

/* A clock that is set back must not keep an answer for good. */
static bool fresh(uint64_t made_ms, uint64_t now)
{
    return now >= made_ms && now - made_ms < ENTRY_MS;
}

bool flame_cache_get(const struct flame_key *key, struct report_bytes *out)
{
    uint64_t now = collector_now_ms();
    bool found = false;
    pthread_mutex_lock(&cache.lock);
    for (size_t i = 0; i < ENTRIES && !found; i++)
        if (cache.entries[i].answer.size && same(&cache.entries[i].key, key) &&
            fresh(cache.entries[i].made_ms, now)) {
            out_bytes(out, cache.entries[i].answer.data, cache.entries[i].answer.size);
            found = !out->failed;
        }
    pthread_mutex_unlock(&cache.lock);
    return found;
}

void flame_cache_put(const struct flame_key *key, const struct report_bytes *answer)
{
    struct report_bytes copy = {0}, old;
    if (answer->size > ENTRY_BYTES)
        return;
    out_bytes(&copy, answer->data, answer->size);
    if (copy.failed) {
        report_bytes_free(&copy);
        return;
    }
    pthread_mutex_lock(&cache.lock);
    size_t oldest = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        if (cache.entries[i].answer.size && same(&cache.entries[i].key, key)) {
            oldest = i;
            break;
        }
        if (cache.entries[i].made_ms < cache.entries[oldest].made_ms)
            oldest = i;
    }
    old = cache.entries[oldest].answer;
    cache.entries[oldest].key = *key;
    cache.entries[oldest].answer = copy;
    cache.entries[oldest].made_ms = collector_now_ms();
    pthread_mutex_unlock(&cache.lock);
    report_bytes_free(&old);
}
