/*
 * The marks of one watched thread: what it stores when a turn begins and ends, and what the monitor
 * wants to be told of.
 *
 * One 64-bit word says it all, so one load sees a whole truth:
 *
 *     bits 63..24  when the turn began: units of 2^16 ns (65.5 us) since the monitor's epoch; wraps
 *                  after 2 years, and ages are differences
 *     bits 23..1   number of the turn
 *     bit  0       busy; cleared, the rest kept, when the turn ends
 *
 * So "still the same turn" is equality of words. The watched side is one relaxed store and then one
 * load in the same cache line, with no fence: what the monitor asks for (`want`) may be seen late
 * by as long as a store stays in a processor's buffer. hang_core.c says where that matters and why
 * it does no harm.
 */
#ifndef WATCH_HANG_MARKS_H
#define WATCH_HANG_MARKS_H

#include "framewalk/hang.h"
#include "watch/clock.h"

enum {
    MARK_BUSY = 1,
    MARK_TURN = 0xfffffe, /* bits of the turn's number */
    MARK_TURN_STEP = 2,
    MARK_SINCE_SHIFT = 24,
    MARK_UNIT_SHIFT = 16,
    /* What the monitor wants to be told of. */
    MARK_WANT_WAKE = 1, /* it sleeps for ever, or will */
    MARK_WANT_END = 2,  /* the turn is looked at: store its exact end */
    MARK_LINE = 128,    /* of two lines of 64 bytes processors fetch the neighbour as well */
    MARK_NAME_WORDS = 8,
};

/* Accessed atomically: where the ABI aligns 64 bits to 4 bytes only, too. */
typedef uint64_t hang_word __attribute__((aligned(8)));

struct fw_hang_watch {
    /* The watched thread's line. All are accessed atomically; `coarse`, `clock`, `epoch` and
     * `bell` never change. */
    _Alignas(MARK_LINE) hang_word state;
    uint32_t want;
    uint64_t (*coarse)(void *context);
    const struct watch_clock *clock;
    uint64_t epoch;
    uint32_t *bell;       /* counted up, then woken */
    hang_word ended_at;   /* when the turn with the mark `ended_mark` ended */
    hang_word ended_mark; /* stored after ended_at */

    /* Who is watched. Written under the monitor's lock of registrations while `generation` is even;
     * read by the monitor between two equal odd values of it. */
    _Alignas(MARK_LINE) uint32_t generation; /* odd: in use */
    uint32_t thread;
    hang_word name[MARK_NAME_WORDS];
    struct fw_hang_monitor *monitor;
    /* Called when the watch ends, before it becomes invalid: by a loop that marks it by itself. It
     * returns when nobody marks any more. Set once, by whoever registered it; may be NULL. */
    void (*ended)(void);
};

/* How long the turn of the busy mark `mark` has lasted at `now`: never too short, and too long by a
 * unit and a tick of the coarse clock at the most. */
static inline uint64_t mark_age(const struct fw_hang_watch *watch, uint64_t mark, uint64_t now)
{
    const uint64_t all = UINT64_MAX >> (MARK_SINCE_SHIFT - MARK_UNIT_SHIFT);
    const uint64_t since = mark >> MARK_SINCE_SHIFT << MARK_UNIT_SHIFT;
    const uint64_t age = (now - watch->epoch - since) & all;
    return age <= all / 2 ? age : 0; /* the clocks of two processors disagree */
}

/* Counts the bell up and wakes the monitor. Async-signal-safe. */
void marks_ring(const struct fw_hang_watch *watch);

#endif
