/*
 * The stopped window: everything that happens while another thread of this process is suspended.
 *
 * A suspended thread may hold any lock: malloc's, dyld's, libpthread's. So window.c calls nothing
 * but the functions that packaging/check/window-calls lists (system calls that take no lock of user
 * space), and a test reads that from its object code. Names, stack bounds and memory are had
 * before, conversions and the walk come afterwards.
 *
 * Invariant: whatever fails, each thread is resumed exactly as often as it was suspended.
 *
 * What it rests on:
 * - thread_suspend() returns when the thread has stopped running in user space, and
 *   thread_get_state() gives what it will go on with.
 * - Only one thread of the process is in a window at a time (stop.c): two that suspended each other
 *   would both sleep for ever.
 * - The imported functions are called through pointers in constant data, which dyld binds when the
 *   image is loaded. A direct call would go through a stub that may be bound lazily, by dyld, under
 *   its lock.
 * - vm_read_overwrite() fails instead of faulting, as a whole: what cannot be read at once is tried
 *   in smaller pieces.
 */
#ifndef OS_DARWIN_WINDOW_H
#define OS_DARWIN_WINDOW_H

#include "os/darwin/native_state.h"
#include "unwind/memory.h"

#include <TargetConditionals.h>

/* The system's headers prohibit thread_suspend and thread_get_state there, and only there. */
#if TARGET_OS_WATCH
#define WINDOW_FORBIDDEN 1
#else
#define WINDOW_FORBIDDEN 0
#endif

enum { WINDOW_CONTEXTS = 128 }; /* Swift async contexts followed, at the most */

/* One link of a chain of Swift async contexts, as it was while the thread was stopped. */
struct window_context {
    uint64_t address;
    uint64_t word[2]; /* the parent context; the address at which its function goes on */
};

/* One thread to be stopped. Lies in prepared memory, as all that it points to. */
struct stopped_thread {
    /* Set before. */
    thread_act_t thread;             /* a right to it is held */
    uintptr_t stack_lo, stack_hi;    /* its own stack; 0, 0 when not known */
    uintptr_t second;                /* copy from here as well: another stack; 0 for none */
    size_t want;                     /* bytes to copy of a stack, at the most */
    uint8_t *bytes;                  /* room for `want`, and as much again with `second` */
    struct window_context *contexts; /* room for WINDOW_CONTEXTS */

    /* Filled in. */
    kern_return_t error; /* of suspending, or of reading the registers */
    bool suspended;      /* false at the end, unless the system refuses to resume it */
    uint32_t context_count;
    native_state state;
    struct memory_range range[2]; /* copies; size 0 where nothing could be read */
    uint64_t from, until;         /* mach_absolute_time() around the time in which it was held */
};

/* What the window must not ask for itself. */
struct window_terms {
    mach_port_t task;
    size_t page;
    uint64_t pointer_mask; /* bits that a signed pointer keeps */
};

/* Stops the threads, none of which is the caller, copies them, and lets them go on. */
void window_run(struct stopped_thread *threads, size_t count, const struct window_terms *terms);

/* Whether an error means that the thread has ended: its port died, or is no thread's any more. */
static inline bool window_thread_ended(kern_return_t error)
{
    return error == KERN_TERMINATED || error == KERN_INVALID_ARGUMENT ||
           error == MACH_SEND_INVALID_DEST;
}

#endif
