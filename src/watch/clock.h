/*
 * The time as the hang monitor sees it, and its sleep: behind a table, so that tests turn the hands
 * (tests/watch/hand_clock.h). clock_linux.c and clock_darwin.c are the real ones.
 */
#ifndef WATCH_CLOCK_H
#define WATCH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct watch_clock {
    /* Nanoseconds that do not count while the machine sleeps (CLOCK_MONOTONIC, CLOCK_UPTIME_RAW).
     */
    uint64_t (*now)(void *context);
    /* The same clock, cheap and up to a tick (10 ms) behind: what fw_hang_busy stores. Signal-safe.
     */
    uint64_t (*coarse)(void *context);
    /* Nanoseconds that do count then (CLOCK_BOOTTIME, mach_continuous_time). */
    uint64_t (*continuous)(void *context);
    /* Milliseconds since 1970. */
    uint64_t (*wall_ms)(void *context);
    /* Sleeps until `deadline` (of `now`; UINT64_MAX: for ever), or until *word is not `seen` any
     * more and watch_clock.wake was called. May return early. */
    void (*sleep)(void *context, uint32_t *word, uint32_t seen, uint64_t deadline);
    /* Wakes the sleeper on `word`. Async-signal-safe. */
    void (*wake)(void *context, uint32_t *word);
    void *context;
};

/* The real one. */
const struct watch_clock *watch_clock_system(void);

#endif
