/*
 * The peer of watch.call: a preloaded wrapper as one writes it by hand for one function. It walks
 * the frame records inside the thread's stack bounds, which it learns once per thread, hashes the
 * return addresses, and counts in a lock-free table of fixed size. A word of thread-local storage
 * guards against calling itself. Its signature is the function's own, so no register need be saved.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "watch_call_target.h"

enum { CELLS = 4096, FRAMES = 48 };

static struct {
    _Atomic uint64_t id, count;
} cells[CELLS];

static _Thread_local struct {
    bool inside;
    uintptr_t end; /* of the stack */
} own __attribute__((tls_model("initial-exec")));

static int (*real)(int);

static __attribute__((constructor)) void prepare(void)
{
    real = (int (*)(int))dlsym(RTLD_NEXT, "bench_watch_target");
}

static __attribute__((noinline)) void learn_stack(void)
{
    pthread_attr_t attributes;
    void *lo;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &lo, &size);
    pthread_attr_destroy(&attributes);
    own.end = (uintptr_t)lo + size;
}

static inline void note(const uintptr_t *fp)
{
    uint64_t id = 0;
    if (!own.end)
        learn_stack();
    for (unsigned i = 0; i < FRAMES; i++) {
        id = (id ^ fp[1]) * 0x9E3779B97F4A7C15u;
        id ^= id >> 29;
        const uintptr_t next = fp[0];
        if (next <= (uintptr_t)fp || next > own.end - 16 || next % 8)
            break;
        fp = (const uintptr_t *)next;
    }
    for (uint32_t at = (uint32_t)(id >> 40), probe = 0; probe < CELLS; at++, probe++) {
        uint64_t there = atomic_load_explicit(&cells[at % CELLS].id, memory_order_relaxed);
        if (there == 0 && !atomic_compare_exchange_strong(&cells[at % CELLS].id, &there, id) &&
            there != id)
            continue;
        if (there != 0 && there != id)
            continue;
        atomic_fetch_add_explicit(&cells[at % CELLS].count, 1, memory_order_relaxed);
        return;
    }
}

int bench_watch_target(int value)
{
    if (!own.inside) {
        own.inside = true;
        note(__builtin_frame_address(0));
        own.inside = false;
    }
    return real(value);
}
