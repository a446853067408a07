/*
 * What the watched thread does: see hang_marks.h. Async-signal-safe, no lock; a system call only
 * where the monitor has asked to be woken.
 */
#include "watch/hang_marks.h"

void marks_ring(const struct fw_hang_watch *watch)
{
    __atomic_fetch_add(watch->bell, 1, __ATOMIC_RELEASE);
    watch->clock->wake(watch->clock->context, watch->bell);
}

/* The monitor wants to know: the mark `old` was replaced just now. */
static __attribute__((noinline, cold)) void tell(struct fw_hang_watch *watch, uint64_t old)
{
    const uint32_t want = __atomic_exchange_n(&watch->want, 0, __ATOMIC_ACQUIRE);
    if ((want & MARK_WANT_END) && (old & MARK_BUSY)) {
        const uint64_t now = watch->clock->now(watch->clock->context);
        __atomic_store_n(&watch->ended_at, now, __ATOMIC_RELAXED);
        __atomic_store_n(&watch->ended_mark, old, __ATOMIC_RELEASE);
    }
    if (want)
        marks_ring(watch);
}

/* One store, and one look whether somebody waits for it; the compiler keeps the order. */
static inline void mark(struct fw_hang_watch *watch, uint64_t old, uint64_t state)
{
    __atomic_store_n(&watch->state, state, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&watch->want, __ATOMIC_RELAXED) != 0, 0))
        tell(watch, old);
}

void fw_hang_busy(struct fw_hang_watch *watch)
{
    if (!watch)
        return;
    const uint64_t since = (watch->coarse(watch->clock->context) - watch->epoch) >> MARK_UNIT_SHIFT;
    const uint64_t old = __atomic_load_n(&watch->state, __ATOMIC_RELAXED);
    mark(watch, old, since << MARK_SINCE_SHIFT | ((old + MARK_TURN_STEP) & MARK_TURN) | MARK_BUSY);
}

void fw_hang_idle(struct fw_hang_watch *watch)
{
    if (!watch)
        return;
    const uint64_t old = __atomic_load_n(&watch->state, __ATOMIC_RELAXED);
    if (old & MARK_BUSY)
        mark(watch, old, old & ~(uint64_t)MARK_BUSY);
}
