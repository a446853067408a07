/*
 * Two clocks: one that never jumps, for how long something takes and how long to wait for it, and
 * the wall clock, as all times in the database count.
 */
#ifndef COLLECTOR_CLOCK_H
#define COLLECTOR_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* The wall clock, milliseconds since 1970. */
uint64_t collector_now_ms(void);

/* The one that never jumps; it begins anywhere. */
static inline uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline int64_t clock_ms(void)
{
    return (int64_t)(clock_us() / 1000);
}

/* When `ms` milliseconds from now have passed, for pthread_cond_timedwait with a condition of
 * clock_cond_init. */
static inline struct timespec clock_after(unsigned ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* A condition whose waits go by the clock that never jumps. */
static inline void clock_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

#endif
