/*
 * Stacks of a known depth for the Apple figures: functions of a generated library call each other
 * in an order drawn by lot. A library holds COUNT functions, 32 bytes apart, function_000000 on,
 * and as many symbols (apple_functions.awk).
 */
#ifndef BENCH_APPLE_STACK_H
#define BENCH_APPLE_STACK_H

#include "bench.h"

#include <dlfcn.h>

enum { APPLE_DEPTH = 50, APPLE_FUNCTION_SIZE = 32 };

struct apple_step;
typedef void apple_function(struct apple_step *);

/* What a function of the library is given: whom to call with what. */
struct apple_step {
    apple_function *next;
    struct apple_step *argument;
};

struct apple_library {
    uintptr_t first; /* of its functions */
    unsigned count;
};

/* PATH:COUNT */
static inline struct apple_library apple_load(char *text)
{
    char *colon = text;
    for (char *c = text; *c; c++)
        colon = *c == ':' ? c : colon;
    struct apple_library library = {0, (unsigned)strtoul(colon + 1, NULL, 10)};
    *colon = 0;
    void *handle = dlopen(text, RTLD_NOW);
    library.first = handle ? (uintptr_t)dlsym(handle, "function_000000") : 0;
    if (!library.first || !library.count) {
        fprintf(stderr, "no functions in %s\n", text);
        exit(1);
    }
    return library;
}

static inline uint64_t apple_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static inline uintptr_t apple_draw(const struct apple_library *library, uint64_t *random)
{
    return library->first + apple_random(random) % library->count * APPLE_FUNCTION_SIZE;
}

/* Calls `leaf` with `argument` from under APPLE_DEPTH functions of the library. */
static inline void apple_descend(const struct apple_library *library, uint64_t random,
                                 apple_function *leaf, void *argument)
{
    struct apple_step steps[APPLE_DEPTH];
    for (unsigned i = 0; i < APPLE_DEPTH; i++)
        steps[i] =
            (struct apple_step){(apple_function *)apple_draw(library, &random), &steps[i + 1]};
    apple_function *const outermost = steps[APPLE_DEPTH - 1].next;
    steps[APPLE_DEPTH - 1] = (struct apple_step){leaf, argument};
    outermost(steps);
    BENCH_KEEP;
}

#endif
