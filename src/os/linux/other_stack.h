/*
 * Calling a function on another stack than the thread's own: for what needs more than may be left
 * of a stack that is somebody else's, a coroutine's or the alternate one of a signal handler.
 */
#ifndef OS_LINUX_OTHER_STACK_H
#define OS_LINUX_OTHER_STACK_H

#include <stddef.h>

/* Calls `what(argument)` on the `size` bytes at `stack`, which nobody else uses meanwhile, and
 * returns when it does. Takes less than 100 bytes of the stack in use. Async-signal-safe; a
 * debugger walks from the one stack to the other. */
static inline void other_stack_run(void *stack, size_t size, void (*what)(void *), void *argument)
{
    extern void other_stack_call(void *top, void (*what)(void *), void *argument);
    other_stack_call((char *)stack + size, what, argument);
}

#endif
