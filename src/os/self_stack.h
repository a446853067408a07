/*
 * The running thread's stack as checked memory.
 *
 * A thread's own stack (the kernel's for the main thread, the one its thread pointer lies in for
 * others) is looked up once per thread and read directly from then on: it stays mapped as long as
 * the thread lives. On any other stack (alternate signal stack, coroutine) pages are probed one by
 * one as the walk reaches them.
 *
 * Async-signal-safe; no allocation; uses two words of thread-local storage.
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

/* The end of the directly readable range that holds `sp`: for walks that read by themselves. At
 * least one word may be read at every address in [sp, end). */
static inline uintptr_t self_stack_end(const struct self_stack *stack)
{
    return (uintptr_t)(stack->memory.range[0].lo + stack->memory.range[0].size);
}

#endif
