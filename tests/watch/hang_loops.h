/*
 * Real hangs in real loops, for the tests of adapters: a callback that stays until the monitor has
 * told of it. So no test depends on how fast the machine is.
 */
#ifndef TESTS_WATCH_HANG_LOOPS_H
#define TESTS_WATCH_HANG_LOOPS_H

#include "framewalk/framewalk.h"
#include "framewalk/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <time.h>
#include <unistd.h>

enum { LOOPS_THRESHOLD_MS = 100, LOOPS_PATIENCE_S = 60 };

static unsigned told, ended;
static char told_watch[64];

static void on_hang(void *context, const struct fw_hang_event *event)
{
    (void)context;
    strcpy(told_watch, event->watch);
    __atomic_fetch_add(event->ended ? &ended : &told, 1, __ATOMIC_ACQ_REL);
}

static inline unsigned times_told(void)
{
    return __atomic_load_n(&told, __ATOMIC_ACQUIRE);
}

static inline uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Stays until one more hang was told. False when that does not happen. */
static inline bool hang_until_told(bool asleep)
{
    const unsigned before = times_told();
    const uint64_t end = clock_ns() + LOOPS_PATIENCE_S * UINT64_C(1000000000);
    while (times_told() == before && clock_ns() < end)
        if (asleep)
            usleep(1000);
    return times_told() != before;
}

/* Time without a processor does not count: on a busy machine the turn could else be told before its
 * callback looks how many were. */
static inline struct fw_hang_monitor *start_monitor(void)
{
    const struct fw_hang_options options = {
        .size = sizeof options, .threshold_ms = LOOPS_THRESHOLD_MS, .on_hang = on_hang};
    struct fw_hang_monitor *monitor;
    told = ended = 0;
    assert_int_equal(fw_hang_start(&options, &monitor), FW_OK);
    return monitor;
}

static inline struct fw_hang_totals totals_of(struct fw_hang_monitor *monitor)
{
    struct fw_hang_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_hang_totals(monitor, &totals), FW_OK);
    return totals;
}

#endif
