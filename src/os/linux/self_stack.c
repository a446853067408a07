/*
 * The running thread's stack as checked memory: see self_stack.h for the two kinds of stacks.
 */
#include "os/self_stack.h"

#include <stdatomic.h>
#include <sys/auxv.h>

#include "os/linux/sys.h"
#include "os/self_maps.h"

/* The readable range of this thread's own stack. The main thread's grows downwards. The
 * initial-exec model keeps access to it free of allocation, also inside a signal handler; `known`
 * is set last and cleared first, so that a handler that interrupts the update sees no half of it.
 */
static _Thread_local struct {
    uintptr_t lo, hi;
    bool known, grows;
} own __attribute__((tls_model("initial-exec")));

static bool is_own(uintptr_t address)
{
    return own.known && address - own.lo < own.hi - own.lo;
}

/* Everything between the stack pointer and the thread pointer's block, or the program's arguments,
 * stays mapped as long as the thread lives. A stack that holds neither is not the thread's own. The
 * first thread's pointer is not on its stack, but in memory beside which any other may lie. */
static void learn_own_stack(uintptr_t sp)
{
    struct self_mapping mapping;
    if (own.known && !(own.grows && sp < own.lo))
        return;
    if (!self_mapping_find(sp, &mapping) || !mapping.readable)
        return;
    uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
    uintptr_t arguments = (uintptr_t)getauxval(AT_EXECFN);
    bool on_thread = thread > sp && thread < mapping.hi && sys_gettid() != sys_getpid();
    bool on_main = arguments > sp && arguments < mapping.hi;
    if (!on_thread && !on_main)
        return;
    own.known = false;
    atomic_signal_fence(memory_order_seq_cst);
    own.lo = mapping.lo;
    own.hi = (on_thread ? thread : arguments) & ~(uintptr_t)(sizeof(void *) - 1);
    own.grows = on_main;
    atomic_signal_fence(memory_order_seq_cst);
    own.known = true;
}

void self_stack_begin(struct self_stack *stack, uintptr_t sp)
{
    if (!is_own(sp))
        learn_own_stack(sp);

    self_stack_set(stack, sp, own.known ? own.lo : 0, own.known ? own.hi : 0);
}
