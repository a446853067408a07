/*
 * The running thread's stack as checked memory: see self_stack.h for the two kinds of stacks.
 */
#include "os/self_stack.h"

#include <stdatomic.h>
#include <sys/auxv.h>

#include "os/self_maps.h"

enum {
    PAGE = 4096, /* the smallest page of every supported kernel: probing more often is harmless */
    MAX_PROBED = 1 << 20, /* bytes between the window and a frame that probing will bridge */
};

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
 * stays mapped as long as the thread lives. A stack that holds neither is not the thread's own. */
static void learn_own_stack(uintptr_t sp)
{
    struct self_mapping mapping;
    if (own.known && !(own.grows && sp < own.lo))
        return;
    if (!self_mapping_find(sp, &mapping) || !mapping.readable)
        return;
    uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
    uintptr_t arguments = (uintptr_t)getauxval(AT_EXECFN);
    bool on_thread = thread > sp && thread < mapping.hi;
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

/* Grows the window page by page up to `address`, as long as pages can be read. */
static bool grow(struct memory_range *window, uint64_t end)
{
    uint64_t limit = window->lo + window->size;
    if (end > limit && end - limit > MAX_PROBED)
        return false;
    while (limit < end) {
        if (!self_readable((uintptr_t)limit))
            return false;
        limit = (limit | (PAGE - 1)) + 1;
        window->size = limit - window->lo;
    }
    return true;
}

static bool read_elsewhere(void *context, uint64_t address, void *to, size_t size)
{
    struct self_stack *stack = context;
    struct memory_range *window = &stack->memory.range[0];
    uint64_t end = address + size;
    if (end < address || end > UINTPTR_MAX)
        return false;
    if (!stack->own && address >= window->lo && grow(window, end)) {
        memcpy(to, (const void *)(uintptr_t)address, size);
        return true;
    }
    return self_read((uintptr_t)address, to, size);
}

void self_stack_begin(struct self_stack *stack, uintptr_t sp)
{
    if (!is_own(sp))
        learn_own_stack(sp);

    struct memory_range *range = stack->memory.range;
    range[1] = (struct memory_range){0, 0, NULL};
    stack->own = is_own(sp);
    if (stack->own) {
        range[0] = (struct memory_range){sp, own.hi - sp, (const uint8_t *)sp};
    } else {
        range[0] = (struct memory_range){sp, 0, (const uint8_t *)sp};
        if (own.known)
            range[1] = (struct memory_range){own.lo, own.hi - own.lo, (const uint8_t *)own.lo};
    }
    stack->memory.slow = read_elsewhere;
    stack->memory.context = stack;
}
