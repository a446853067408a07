/*
 * The clocks of Linux (clock_gettime(2)) and sleeping on a word (futex(2)), without libc where the
 * monitor may be the only thread that gets on.
 */
#include "watch/clock.h"

#include "os/linux/sys.h"

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now(void *context)
{
    (void)context;
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t coarse(void *context)
{
    (void)context;
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

static uint64_t continuous(void *context)
{
    (void)context;
    return read_clock(CLOCK_BOOTTIME);
}

static uint64_t wall_ms(void *context)
{
    (void)context;
    return read_clock(CLOCK_REALTIME) / 1000000;
}

static void sleep_until(void *context, uint32_t *word, uint32_t seen, uint64_t deadline)
{
    const uint64_t longest = UINT64_C(1000000000) * 1000000000; /* fits 32-bit seconds */
    const uint64_t at = now(context), left = deadline > at ? deadline - at : 0;
    if (left)
        sys_futex_wait(word, seen, left < longest ? left : longest);
}

static void wake(void *context, uint32_t *word)
{
    (void)context;
    sys_futex_wake(word, 1);
}

const struct watch_clock *watch_clock_system(void)
{
    static const struct watch_clock clock = {.now = now,
                                             .coarse = coarse,
                                             .continuous = continuous,
                                             .wall_ms = wall_ms,
                                             .sleep = sleep_until,
                                             .wake = wake};
    return &clock;
}
