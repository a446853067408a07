/*
 * Two clocks: one that never jumps, for how long something takes and how long to wait for it, and
 * the time as all times in the database count. That is the wall clock's as far as it is believed
 * (clock_check.h). It is one for the process; all here is thread-safe.
 */
#ifndef COLLECTOR_CLOCK_H
#define COLLECTOR_CLOCK_H

#include "framewalk/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { CLOCK_TEXT_SIZE = 320, CLOCK_NEAR_MS = 86400000 /* two clocks that agree well enough */ };

/* The time, milliseconds since 1970. */
uint64_t collector_now_ms(void);
/* What the wall clock says, right or wrong: for times that the system itself wrote (of files). */
int64_t clock_real_ms(void);

/* Whether the wall clock is doubted; then `text` says why, for people. */
bool clock_doubted(char text[CLOCK_TEXT_SIZE]);
/* Asked by whatever removes what is old. FW_ERR_TIMEOUT, saying why, while the clock is doubted. */
fw_error clock_may_remove(struct fw_failure *why);

/* For clock_keeper.c alone: clock_check_known, clock_check_other, clock_check_confirm. */
void clock_known(int64_t known_ms);
void clock_other(int64_t other_ms);
void clock_confirm(void);

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
