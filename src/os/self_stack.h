/*
 * The running thread's stack as checked memory.
 *
 * A thread's own stack is read directly: it stays mapped as long as the thread lives.
 * linux/self_stack.c learns its bounds once per thread, darwin/self_stack.c asks libpthread. On any
 * other stack (alternate signal stack, coroutine) pages are probed one by one as the walk reaches
 * them.
 *
 * Async-signal-safe; no allocation.
 */
#ifndef OS_SELF_STACK_H
#define OS_SELF_STACK_H

#include "unwind/memory.h"

/* Memory of the calling thread's walk. Points to itself through `memory.context`: do not copy. */
struct self_stack {
    struct memory memory;
    bool own; /* the thread's own stack, whose end is known: what follows may vanish at any time */
};

/* Prepares to read the stack from `sp` outwards. */
void self_stack_begin(struct self_stack *stack, uintptr_t sp);

/* memory.slow of it: what its ranges do not hold. */
bool self_stack_read_elsewhere(void *context, uint64_t address, void *to, size_t size);

/* Fills it in when the thread's own stack is [lo, hi), or not known (0, 0). */
static inline void self_stack_set(struct self_stack *stack, uintptr_t sp, uintptr_t lo,
                                  uintptr_t hi)
{
    struct memory_range *range = stack->memory.range;
    stack->own = sp - lo < hi - lo;
    range[0] = (struct memory_range){sp, stack->own ? hi - sp : 0, (const uint8_t *)sp};
    range[1] = (struct memory_range){0, 0, NULL};
    if (!stack->own && hi)
        range[1] = (struct memory_range){lo, hi - lo, (const uint8_t *)lo};
    stack->memory.slow = self_stack_read_elsewhere;
    stack->memory.context = stack;
}

/* The end of the directly readable range that holds `sp`: for walks that read by themselves. At
 * least one word may be read at every address in [sp, end). */
static inline uintptr_t self_stack_end(const struct self_stack *stack)
{
    return (uintptr_t)(stack->memory.range[0].lo + stack->memory.range[0].size);
}

#endif
