/*
 * Around the window (stop.h).
 *
 * Invariant: only who owns `owner` suspends threads. Otherwise two callers could suspend each
 * other, and nobody would resume either. A waiter may well be suspended by the owner; the owner
 * never by a waiter.
 */
#include "os/darwin/stop.h"

#if !WINDOW_FORBIDDEN

#include "arch/pac.h"
#include "os/darwin/nap.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
    WAIT_NS = 50000, /* a window of one thread takes a few microseconds */
    REHEARSED = 16 << 10,
};

/* The process whose thread is in a window; 0: nobody is. After fork() the child finds its parent's
 * number, which means nobody as well. */
static _Atomic int32_t owner;

static uint64_t ns_of(uint64_t ticks)
{
    const mach_timebase_info_data_t base = nap_timebase();
    return ticks / base.denom * base.numer + ticks % base.denom * base.numer / base.denom;
}

uint64_t stop_clock_ns(void)
{
    return ns_of(mach_absolute_time());
}

uint64_t stop_held_ns(const struct stopped_thread *thread)
{
    return ns_of(thread->until - thread->from);
}

void stop_learn_stack(struct stopped_thread *thread)
{
    thread->stack_lo = thread->stack_hi = 0;
    pthread_t pthread = pthread_from_mach_thread_np(thread->thread);
    if (!pthread)
        return;
    /* Of a thread that has ended meanwhile the top is an error number. */
    uintptr_t top = (uintptr_t)pthread_get_stackaddr_np(pthread);
    size_t size = pthread_get_stacksize_np(pthread);
    if (size >= vm_page_size && top > size) {
        thread->stack_lo = top - size;
        thread->stack_hi = top;
    }
}

/* A handler that ran on this thread in the window would hold the others up, and might wait for a
 * lock of theirs, or jump out of it and leave the window owned for ever. Faults are left to the
 * handlers of the program. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

static bool own_window(int32_t self)
{
    int32_t now = 0;
    return atomic_compare_exchange_strong(&owner, &now, self) ||
           (now != self && atomic_compare_exchange_strong(&owner, &now, self));
}

static bool enter_window(uint64_t deadline, sigset_t *signals)
{
    const int32_t self = getpid();
    for (;;) {
        block_signals(signals);
        if (own_window(self))
            return true;
        pthread_sigmask(SIG_SETMASK, signals, NULL);
        if (stop_clock_ns() >= deadline)
            return false;
        nap_ns(WAIT_NS);
    }
}

static void leave_window(const sigset_t *signals)
{
    atomic_store(&owner, 0);
    pthread_sigmask(SIG_SETMASK, signals, NULL);
}

/* Reads the outer end of a stack as the window will: what is cold, paged out or compressed is
 * brought in while the thread still runs. Not all that may be copied, so that a stack that was
 * never so deep does not grow by it. */
static void rehearse(const struct stopped_thread *thread)
{
    size_t size = thread->stack_hi - thread->stack_lo;
    vm_size_t got = 0;
    size = size < REHEARSED ? size : REHEARSED;
    size = size < thread->want ? size : thread->want;
    if (size)
        vm_read_overwrite(mach_task_self(), thread->stack_hi - size, size,
                          (vm_address_t)thread->bytes, &got);
}

bool stop_threads(struct stopped_thread *threads, size_t count, uint64_t deadline)
{
    const struct window_terms terms = {
        .task = mach_task_self(), .page = vm_page_size, .pointer_mask = ~arch_pac_mask()};
    for (size_t i = 0; i < count; i++) {
        threads[i].suspended = false;
        threads[i].context_count = 0;
        threads[i].range[0] = threads[i].range[1] = (struct memory_range){0, 0, NULL};
        rehearse(&threads[i]);
    }
    sigset_t signals;
    if (!enter_window(deadline, &signals))
        return false;
    window_run(threads, count, &terms);
    leave_window(&signals);
    return true;
}

fw_unavailable stop_reason(const struct stopped_thread *thread)
{
    if (thread->error == KERN_SUCCESS)
        return FW_AVAILABLE;
    return window_thread_ended(thread->error) ? FW_UNAVAILABLE_EXITED : FW_UNAVAILABLE_PERMISSION;
}

#endif
