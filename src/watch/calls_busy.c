/*
 * Which threads are in the watch's own work (calls_busy.h): a thread-local word where the first use
 * of one does not allocate, else a table of threads.
 */
#include "watch/calls_busy.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/resource.h>

#include "os/self_maps.h"

#if defined(__APPLE__)
#include <TargetConditionals.h>
#endif

#if defined(__linux__)
#include <sys/auxv.h>

static _Thread_local struct {
    volatile bool busy;
    uintptr_t lo, hi; /* of the stack that was looked at last */
} own __attribute__((tls_model("initial-exec")));

bool calls_busy_enter(void)
{
    if (own.busy)
        return false;
    own.busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

void calls_busy_leave(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    own.busy = false;
}

/* The first thread's stack grows down to its limit. */
static uintptr_t lowest(const struct self_mapping *mapping)
{
    const uintptr_t arguments = (uintptr_t)getauxval(AT_EXECFN);
    struct rlimit limit;
    if (arguments - mapping->lo >= mapping->hi - mapping->lo ||
        getrlimit(RLIMIT_STACK, &limit) != 0)
        return mapping->lo;
    const uintptr_t most =
        limit.rlim_cur > mapping->hi / 2 ? mapping->hi / 2 : (uintptr_t)limit.rlim_cur;
    return mapping->hi - most < mapping->lo ? mapping->hi - most : mapping->lo;
}

static uintptr_t begin_of_stack(uintptr_t sp)
{
    struct self_mapping mapping;
    if (sp - own.lo < own.hi - own.lo)
        return own.lo;
    if (!self_mapping_find(sp, &mapping))
        return sp;
    const uintptr_t lo = lowest(&mapping);
    own.lo = own.hi; /* empty while it changes */
    atomic_signal_fence(memory_order_seq_cst);
    own.hi = mapping.hi;
    atomic_signal_fence(memory_order_seq_cst);
    own.lo = lo;
    return lo;
}

#else

enum { THREADS = 64 };
static _Atomic uintptr_t busy[THREADS]; /* threads; 0: free */

/* Who this is. Asked before it is known whether the watch is at work, so it must not go through a
 * pointer that can be watched: this one is taken when the first watch begins, and no data. */
static uintptr_t this_thread(void)
{
    static pthread_t (*_Atomic ask)(void);
    pthread_t (*function)(void) = atomic_load_explicit(&ask, memory_order_relaxed);
    if (!function) {
        function = pthread_self;
        atomic_store_explicit(&ask, function, memory_order_relaxed);
    }
    return (uintptr_t)function();
}

bool calls_busy_enter(void)
{
    const uintptr_t self = this_thread();
    for (size_t i = 0; i < THREADS; i++)
        if (atomic_load_explicit(&busy[i], memory_order_relaxed) == self)
            return false;
    for (size_t i = 0; i < THREADS; i++) {
        uintptr_t nobody = 0;
        if (atomic_compare_exchange_strong(&busy[i], &nobody, self))
            return true;
    }
    return false;
}

void calls_busy_leave(void)
{
    const uintptr_t self = this_thread();
    for (size_t i = 0; i < THREADS; i++)
        if (atomic_load_explicit(&busy[i], memory_order_relaxed) == self)
            atomic_store(&busy[i], 0);
}

static uintptr_t begin_of_stack(uintptr_t sp)
{
    struct self_mapping mapping;
    return self_mapping_find(sp, &mapping) ? mapping.lo : sp;
}

#endif

#if defined(__APPLE__) && (TARGET_OS_TV || TARGET_OS_WATCH)
/* Programs for these systems cannot have an alternate stack. */
static bool on_alternate_stack(uintptr_t sp, uintptr_t *lo)
{
    (void)sp, (void)lo;
    return false;
}
#else
/* On the stack of a signal handler? *lo is where that stack begins. */
static bool on_alternate_stack(uintptr_t sp, uintptr_t *lo)
{
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) != 0 || alternate.ss_flags & SS_DISABLE ||
        sp - (uintptr_t)alternate.ss_sp >= alternate.ss_size)
        return false;
    *lo = (uintptr_t)alternate.ss_sp;
    return true;
}
#endif

bool calls_has_room(uintptr_t bytes)
{
    const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    uintptr_t lo;
    if (!on_alternate_stack(sp, &lo))
        lo = begin_of_stack(sp);
    return sp > lo && sp - lo > bytes;
}
