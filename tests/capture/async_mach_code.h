/* A Swift async function, in C. */
#ifndef TESTS_CAPTURE_ASYNC_MACH_CODE_H
#define TESTS_CAPTURE_ASYNC_MACH_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Calls an async function with this context, which calls body(argument). */
void run_async(void (*body)(void *), void *argument, const void *context);

bool is_in_async_function(uint64_t address);

#endif
