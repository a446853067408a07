/* rate_limits.h. Buckets are found by a hash with a secret seed, so nobody can aim at others' sets.
 */
#include "collector/rate_limits.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SETS = 2048, WAYS = 8 };

struct bucket {
    uint64_t hash; /* 0: free */
    uint64_t seen_us;
    double left;
};

struct rate_limits {
    pthread_mutex_t lock; /* of all below */
    uint64_t seed[2];
    struct bucket sets[SETS][WAYS];
};

struct rate_limits *rate_limits_create(void)
{
    struct rate_limits *limits = calloc(1, sizeof *limits);
    if (!limits)
        return NULL;
    if (getrandom(limits->seed, sizeof limits->seed, 0) != sizeof limits->seed) {
        free(limits);
        return NULL;
    }
    pthread_mutex_init(&limits->lock, NULL);
    return limits;
}

void rate_limits_free(struct rate_limits *limits)
{
    if (!limits)
        return;
    pthread_mutex_destroy(&limits->lock);
    free(limits);
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

static uint64_t hash_name(const struct rate_limits *limits, const char *name)
{
    uint64_t hash = limits->seed[0];
    for (; *name; name++)
        hash = mix(hash ^ (unsigned char)*name) + limits->seed[1];
    return hash ? hash : 1;
}

static struct bucket *find(struct rate_limits *limits, uint64_t hash, unsigned burst,
                           uint64_t now_us)
{
    struct bucket *set = limits->sets[hash % SETS], *oldest = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].hash == hash)
            return &set[i];
        if (set[i].seen_us < oldest->seen_us)
            oldest = &set[i];
    }
    *oldest = (struct bucket){hash, now_us, burst};
    return oldest;
}

unsigned rate_limits_take(struct rate_limits *limits, const char *name, unsigned a_minute,
                          unsigned burst, unsigned cost, uint64_t now_us)
{
    uint64_t hash = hash_name(limits, name);
    double per_us = (double)a_minute / 60e6;
    unsigned wait = 0;
    pthread_mutex_lock(&limits->lock);
    struct bucket *bucket = find(limits, hash, burst, now_us);
    if (now_us > bucket->seen_us) {
        bucket->left += (double)(now_us - bucket->seen_us) * per_us;
        bucket->seen_us = now_us;
    }
    if (bucket->left > burst)
        bucket->left = burst;
    if (bucket->left >= cost)
        bucket->left -= cost;
    else
        wait = 1 + (unsigned)((cost - bucket->left) / per_us / 1e6);
    pthread_mutex_unlock(&limits->lock);
    return wait;
}
