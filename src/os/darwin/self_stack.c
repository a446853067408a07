/*
 * The running thread's own stack (self_stack.h), as libpthread knows it.
 *
 * Safe in a signal handler because of what libpthread does for the calling thread and for the main
 * one: it reads their bounds from the pthread_t itself, without its list lock, which it takes for
 * others only. Their answer is not kept in thread-local storage, for the first use of that
 * allocates here.
 *
 * The main thread's stack is as large as its resource limit, which may be raised later, so
 * libpthread makes a system call for its size; that is asked again only for a stack pointer outside
 * of what is known.
 */
#include "os/self_stack.h"

#include <pthread.h>
#include <stdatomic.h>

void self_stack_begin(struct self_stack *stack, uintptr_t sp)
{
    static _Atomic size_t main_size;
    const pthread_t self = pthread_self();
    const bool is_main = pthread_main_np() != 0;
    const uintptr_t hi = (uintptr_t)pthread_get_stackaddr_np(self);
    size_t size = is_main ? atomic_load_explicit(&main_size, memory_order_relaxed) : 0;
    if (size == 0 || hi - sp > size) {
        size = pthread_get_stacksize_np(self);
        if (is_main)
            atomic_store_explicit(&main_size, size, memory_order_relaxed);
    }
    const bool known = hi && size && size <= hi;
    self_stack_set(stack, sp, known ? hi - size : 0, known ? hi : 0);
}
