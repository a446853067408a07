/* An async function as the compiler makes it, compiled with -fswift-async-fp=always. */
#include "async_mach_code.h"

__attribute__((swiftasynccall, noinline)) static void
async_function(void (*body)(void *), void *argument,
               __attribute__((swift_async_context)) const void *context)
{
    __asm__ volatile("" ::"r"(context)); /* or nobody would pass it */
    body(argument);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

bool is_in_async_function(uint64_t address)
{
    enum { ENOUGH = 96 };
    return address - (uint64_t)(uintptr_t)async_function < ENOUGH;
}

/* swift_job_run, so to speak. */
__attribute__((noinline)) void run_async(void (*body)(void *), void *argument, const void *context)
{
    async_function(body, argument, context);
    __asm__ volatile("" ::: "memory");
}
