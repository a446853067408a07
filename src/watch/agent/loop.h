/*
 * Which of a thread's waits are its event loop's own, seen from outside.
 *
 * A program waits in poll() and its kin for two reasons. Its loop has nothing to do: the thread is
 * idle. Or, in the middle of a turn, some library waits for one answer (a synchronous X11 round
 * trip, a DNS query, a database): nobody serves events meanwhile, which is a hang when it takes
 * long. Nothing in the call says which, but where it is called from does. A place is the call's
 * return address, the stack pointer there, and for epoll the descriptor.
 *
 *  - The loop is the outermost place that waits again and again: a wait as far out as the loop's,
 *    or further, is the loop.
 *  - A wait further in, at the same call site, is the loop within itself (a modal dialog), when
 *    also the caller of that site is the same (libraries have one function around poll()), and it
 *    waits on the same epoll descriptor: another one is another loop (a synchronous child process
 *    of libuv), and that blocks the first.
 *  - Any other wait further in is inside the turn.
 *
 * Programs wait before their loop begins, and loops end. So a place is only believed after SETTLED
 * waits, and until then every wait counts as idle: no false hang while a program starts. A place
 * further in that waits many times in a row, the loop not coming back in between, becomes the
 * loop; the longer the old one was seen, the more of these waits it takes. A wait further out
 * becomes the loop at once, and has to settle.
 *
 * A wait with a timeout of zero is none: it looks for events. At the loop's own place it ends one
 * turn and begins the next (GLib, libuv and asyncio do so while they have work); anywhere else
 * it means nothing: who spins around poll(0) inside a turn is busy. Only while no place has ever
 * waited in earnest may zero waits make a loop (games).
 *
 * On several stacks (coroutines) depths cannot be compared: there only the call site tells.
 *
 * No system calls, no allocation; one thread's.
 */
#ifndef AGENT_LOOP_H
#define AGENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop_place {
    uintptr_t site;   /* return address of the call */
    uintptr_t sp;     /* stack pointer at the call; further out is higher */
    uintptr_t caller; /* return address of the function that holds `site`; 0: not asked yet */
    int object;       /* epoll descriptor; -1 of other waits */
};

enum {
    LOOP_SETTLED = 8,   /* waits after which a place is believed to be the loop */
    LOOP_TAKE_OVER = 3, /* waits in a row further in that make a young loop give way */
    LOOP_OLD = 64,      /* ... and one that was seen as often as that */
};

struct loop {
    struct loop_place own;        /* count 0: none yet */
    struct loop_place challenger; /* further in */
    uint32_t count, challenges;   /* their waits; of the challenger in a row */
    bool waited;                  /* some wait was in earnest */
    /* The caller of the function that waits now: for the place being looked at. */
    uintptr_t (*caller)(void);
    /* Is this wait in a signal handler? Then it becomes no loop. NULL: no. */
    bool (*in_handler)(void);
    /* Are these two callers the same loop (GLib's run and iterate)? NULL: no. */
    bool (*alike)(uintptr_t a, uintptr_t b);
};

enum loop_wait {
    LOOP_IDLE,   /* the loop's own: idle until it returns, which begins a turn */
    LOOP_INSIDE, /* a wait inside a turn, which goes on */
    LOOP_TURN,   /* no wait, but the loop came round: a turn begins */
};

/* What the wait at `place` is; `zero`: its timeout is. */
enum loop_wait loop_wait(struct loop *loop, struct loop_place *place, bool zero);

static inline bool loop_is_settled(const struct loop *loop)
{
    return loop->count >= LOOP_SETTLED;
}

#endif
