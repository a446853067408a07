/*
 * Slots: where a captured thread's signal handler puts its stack, prepared beforehand in fixed
 * memory.
 *
 *          slot_take         slot_post         handler claims       handler ends
 *     FREE ---------> TAKEN ----------> PENDING ----------> RUNNING -----------> DONE
 *      ^               | ^                 |                   |                  |
 *      |<- slot_free --+ +- slot_withdraw -+              slot_abandon            |
 *      |                    slot_abandon                       v                  |
 *      |<------------------------ handler ends ----------- ORPHANED               |
 *      |<-------------------------- slot_free ------------------------------------+
 *
 * Invariant: a slot in TAKEN or DONE belongs to the collector that took it, in RUNNING or ORPHANED
 * to the handler; every change of owner is one compare-and-swap of `state`, which also counts
 * generations. So a collector that gives up and a handler that comes late never both believe that
 * the slot is theirs, and nobody waits for anybody.
 *
 * A handler finds its slot by thread id, the hint of the signal is only where to look first. The
 * pool belongs to one process: in a forked child, whose copy may show handlers that never end, it
 * starts afresh.
 */
#ifndef CAPTURE_SLOT_H
#define CAPTURE_SLOT_H

#include "capture/collect.h"

#include <stdatomic.h>

enum {
    SLOT_COUNT = 32,              /* one bit each in a 32-bit mask */
    SLOT_FRAMES = COLLECT_FRAMES, /* 4 KB of frames a slot */
    SLOT_COLLECTORS = 32,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SLOT_STACK = 64 * 1024,
#else
    SLOT_STACK = 16 * 1024, /* a walk takes 11 KB at most (capture.h) */
#endif
};

enum slot_state {
    SLOT_FREE = 0,
    SLOT_TAKEN,
    SLOT_PENDING,
    SLOT_RUNNING,
    SLOT_DONE,
    SLOT_ORPHANED,
};

struct slot {
    _Alignas(64) _Atomic uint32_t state; /* generation * 8 + enum slot_state */
    _Atomic fw_thread_id thread;         /* whom the slot waits for */
    uint32_t collector;                  /* whom to tell */
    uint64_t held_ns;                    /* by the clock, inside the handler */
    struct fw_stack stack;               /* .frames is the array below */
    struct fw_frame frames[SLOT_FRAMES];
};

/* Who waits for answers. `answers` only ever grows; the handler that makes it reach `wake_at` while
 * `sleeping` wakes the collector, so a batch costs one wake-up. An answer may be counted for a
 * collector that has already gone: its successor then wakes early and looks again. */
struct slot_collector {
    _Alignas(64) _Atomic uint32_t answers;
    _Atomic uint32_t wake_at;
    _Atomic uint32_t sleeping;
};

/* Enters the pool: a collector's number, or -1 when none came free until `deadline` (monotonic,
 * ns). */
int slot_enter(int32_t pid, uint64_t deadline);
void slot_leave(int collector);

/* How many slots one collector may hold just now: a fair share. */
unsigned slot_share(void);

/* A free slot, or -1 at once. */
int slot_take(int collector);
/* Sleeps until a slot may be free, or `deadline`; false when that has passed. */
bool slot_wait_free(uint64_t deadline);
void slot_free(int slot);

struct slot *slot_at(int slot);
enum slot_state slot_state(int slot);

/* Asks thread `id` for its stack, at most `capacity` frames of which `tail` outermost. */
void slot_post(int slot, fw_thread_id id, uint32_t capacity, uint32_t tail);

/* Takes the question back unless a handler has begun to answer it: PENDING becomes TAKEN. */
bool slot_withdraw(int slot);

/* Gives up. TAKEN: nobody answered, nobody will. DONE: the answer came. ORPHANED: a handler is
 * still at it and frees the slot when it ends; it is no longer the caller's. */
enum slot_state slot_abandon(int slot);

/* How many answers came so far, to be read before looking at the slots; and waiting for `count`
 * more than `seen`, or `deadline`. May return early: look again. */
uint32_t slot_answers(int collector);
void slot_wait_answers(int collector, uint32_t seen, uint32_t count, uint64_t deadline);

/* The handler's part: answers every question that waits for the thread it runs in. */
void slot_answer(uint32_t hint, void *ucontext);

#endif
