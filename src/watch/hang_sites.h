/*
 * Where waiting is all that a thread does: ranges of code. A stack whose innermost frames lie in
 * one of them is a loop at rest, whatever its marks say (FW_HANG_VETO_IDLE_STACK).
 *
 * A process-wide table of fixed size; entries are never removed. Adding and reading are lock-free.
 */
#ifndef WATCH_HANG_SITES_H
#define WATCH_HANG_SITES_H

#include "framewalk/stack.h"

#include <stdbool.h>

enum {
    HANG_SITES = 32,
    HANG_PATTERNS = 4,
    HANG_SITE_DEPTH = 4, /* frames from the innermost: the system call, its wrappers, the wait */
};

/* Code in [lo, hi) waits. False when the table is full. */
bool hang_sites_add(uintptr_t lo, uintptr_t hi);
/* A wait that is known by more than one frame: asked where no range holds, in the monitor's thread;
 * must not allocate. False when there is no room. */
bool hang_sites_add_pattern(bool (*idle)(const struct fw_stack *stack));
/* Adds the waits of this library (hang_loops.c). Once is enough, more do no harm. */
void hang_sites_add_own(void);
/* Is this the stack of a loop that waits? */
bool hang_sites_idle(const struct fw_stack *stack);

/* Puts a function that does nothing but wait into the section whose bounds hang_sites_add_own
 * takes. */
#if defined(__APPLE__)
#define HANG_WAIT_SITE                                                                             \
    __attribute__((noinline, section("__TEXT,fw_wait,regular,pure_instructions")))
#else
#define HANG_WAIT_SITE __attribute__((noinline, section("framewalk_wait")))
#endif

#endif
