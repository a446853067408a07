/*
 * Stacks that are recognised by a recipe (src/watch/calls_table.h) are the ones that a walk finds:
 * random chains of calls through functions with all kinds of frames, each of which captures its
 * stack and calls a watched function from the same place. Every stack must be counted exactly as
 * often as it was captured, on several threads with stacks of different depths and alignments.
 *
 * Compiled twice: SHAPES_RECORDS 0 compares FW_CALLS_EXACT with fw_capture, 1
 * FW_CALLS_FRAME_POINTERS with fw_capture_frame_pointers.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__GLIBC__)
#include <ucontext.h>
#endif

#include <cmocka.h>

#include "framewalk/calls.h"
#include "framewalk/capture.h"
#include "framewalk/stack_table.h"
#include "support/sanitizers.h"
#include "watch/calls_target.h"

#ifndef SHAPES_CALLS
#define SHAPES_CALLS 60000 /* of each thread */
#endif

enum { CELLS = 1 << 16, THREADS = 3, CALLS = SHAPES_CALLS, DEPTH = 11, FRAMES = 48 };

/* How often a stack was captured, by the id of all frames but the innermost. */
static struct {
    _Atomic uint64_t id, captured;
    uint64_t counted;
} cells[CELLS];

static uint64_t outer_id(const struct fw_frame *frames, uint32_t count)
{
    return fw_stack_id(frames + 1, count - 1) | 1;
}

static size_t cell_of(uint64_t id)
{
    for (size_t at = id % CELLS;; at = (at + 1) % CELLS) {
        uint64_t there = cells[at].id;
        if (there == 0 && __atomic_compare_exchange_n((uint64_t *)&cells[at].id, &there, id, 0,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return at;
        if (there == id)
            return at;
    }
}

struct chain {
    uint64_t random;
    unsigned left;
    volatile unsigned long sink;
};

static unsigned next(struct chain *chain)
{
    chain->random = chain->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(chain->random >> 40);
}

typedef void shape(struct chain *);
static shape leaf, small, large, with_alloca, many_registers, aligned, variadic_like;
static shape *const shapes[] = {small, large, with_alloca, many_registers, aligned, variadic_like};

static __attribute__((noinline)) void go_on(struct chain *chain)
{
    if (chain->left == 0)
        leaf(chain);
    else {
        chain->left--;
        shapes[next(chain) % 6](chain);
    }
    chain->sink++;
}

static __attribute__((noinline)) void leaf(struct chain *chain)
{
    struct fw_frame frames[FRAMES];
    struct fw_stack stack = {.frames = frames, .capacity = FRAMES};
#if SHAPES_RECORDS
    fw_capture_frame_pointers(&stack, 0);
#else
    fw_capture(&stack, 0);
#endif
    cells[cell_of(outer_id(frames, stack.count))].captured++;
    chain->sink += (unsigned)target_plain(1);
}

static __attribute__((noinline)) void small(struct chain *chain)
{
    go_on(chain);
    chain->sink++;
}

static __attribute__((noinline)) void large(struct chain *chain)
{
    volatile char room[400];
    room[next(chain) % 400] = 1;
    go_on(chain);
    chain->sink += (unsigned char)room[0];
}

static __attribute__((noinline)) void with_alloca(struct chain *chain)
{
    const unsigned size = 16 + next(chain) % 3 * 64;
    volatile char *room = alloca(size);
    room[size - 1] = 1;
    go_on(chain);
    chain->sink += (unsigned char)room[0];
}

static __attribute__((noinline)) void many_registers(struct chain *chain)
{
    unsigned long a = chain->sink, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;
    go_on(chain);
    chain->sink += a + b + c + d + e + f;
}

static __attribute__((noinline)) void aligned(struct chain *chain)
{
    _Alignas(64) volatile char room[64];
    room[next(chain) % 64] = 1;
    go_on(chain);
    chain->sink += (unsigned char)room[0];
}

static __attribute__((noinline)) void variadic_like(struct chain *chain)
{
    chain->sink += (unsigned long)target_stack(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    go_on(chain);
    chain->sink++;
}

static void *run(void *context)
{
    struct chain chain = {.random = (uintptr_t)context * 77 + 5};
    volatile char *moved = alloca(16 * (uintptr_t)context + 16);
    moved[0] = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        chain.left = next(&chain) % DEPTH;
        if (i % 8) /* most are among a few */
            chain.random = (uintptr_t)(i % 64);
        const uint64_t kept = chain.random + i;
        go_on(&chain);
        chain.random = kept;
    }
    return NULL;
}

static struct fw_calls *start(void)
{
    static const char *const names[] = {"target_plain"};
    struct fw_calls *calls;
    const struct fw_calls_options options = {.size = sizeof options,
                                             .names = names,
                                             .count = 1,
                                             .frames = FRAMES,
                                             .walk = SHAPES_RECORDS ? FW_CALLS_FRAME_POINTERS
                                                                    : FW_CALLS_EXACT,
                                             .memory = 64 << 20};
#if SHAPES_RECORDS && defined(__arm__)
    skip(); /* GCC keeps no frame records on 32-bit ARM: there is nothing to walk by */
#endif
    memset(cells, 0, sizeof cells);
    assert_int_equal(fw_calls_start(&options, &calls), FW_OK);
    return calls;
}

/* Ends the watch: each stack was counted as often as it was captured. */
static void check(struct fw_calls *calls, uint64_t count, uint64_t least_stacks)
{
    struct fw_calls_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_calls_totals(calls, &totals), FW_OK);
    assert_int_equal(totals.counted, count);
    assert_int_equal(totals.dropped, 0);
    assert_true(totals.stacks >= least_stacks);
    struct fw_calls_entry entry;
    for (uint32_t i = 0; fw_calls_entry(calls, i, &entry) == FW_OK; i++) {
        assert_int_equal(entry.stack.id, fw_stack_id(entry.stack.frames, entry.stack.count));
        const size_t cell = cell_of(outer_id(entry.stack.frames, entry.stack.count));
        cells[cell].counted += entry.count;
    }
    fw_calls_stop(calls);
    for (size_t i = 0; i < CELLS; i++)
        assert_int_equal(cells[i].counted, cells[i].captured);
}

static void test_recognised_stacks_are_the_ones_that_a_walk_finds(void **state)
{
    struct fw_calls *calls = start();
    pthread_t thread[THREADS];
    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    run((void *)THREADS);
    check(calls, (THREADS + 1) * CALLS, 401);
}

/* Where recipes are kept: on Apple platforms every call walks its stack. */
#if defined(__linux__)
enum {
    STACK = 1024 * 1024, /* the thread sanitizer wants that much */
    ROUTINES = 3,
    TURNS = SHAPES_CALLS / 150,
    YOUNG = 12,
    ROUNDS = 10
};

/* Memory for stacks side by side, without pages between them that nobody may touch. */
static char *stacks_of(size_t count)
{
    char *memory = mmap(NULL, count * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void on_stack(void *stack, void *(*function)(void *), void *context)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, function, context), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void few(uint64_t seed, unsigned times)
{
    struct chain chain = {0};
    for (unsigned i = 0; i < times; i++) {
        chain.random = seed + i % 5;
        chain.left = 3 + i % 3;
        go_on(&chain);
    }
}

static void *young(void *context)
{
    few((uintptr_t)context, TURNS);
    return NULL;
}

/* Threads one after the other on the same stack: the words of those before are still there. */
static void test_threads_on_one_stack_after_each_other(void **state)
{
    struct fw_calls *calls = start();
    char *stack = stacks_of(1);
    (void)state;
    for (uintptr_t i = 0; i < YOUNG; i++)
        on_stack(stack, young, (void *)(i % 3 * 1000));
    munmap(stack, STACK);
    check(calls, YOUNG * TURNS, 10);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static struct {
    ucontext_t scheduler, routine[ROUTINES];
    char *stacks;
    int running;
} routines;

static void routine(int number)
{
    struct chain chain = {0};
    for (unsigned i = 0; i < TURNS; i++) {
        chain.random = (uint64_t)number * 1000 + i % 4;
        chain.left = 2 + i % 4;
        go_on(&chain);
        swapcontext(&routines.routine[number], &routines.scheduler);
    }
}

static void *schedule(void *context)
{
    (void)context;
    for (int i = 0; i < ROUTINES; i++) {
        getcontext(&routines.routine[i]);
        routines.routine[i].uc_stack.ss_sp = routines.stacks + (size_t)i * STACK;
        routines.routine[i].uc_stack.ss_size = STACK;
        routines.routine[i].uc_link = &routines.scheduler;
        makecontext(&routines.routine[i], (void (*)(void))routine, 1, i);
    }
    for (unsigned turn = 0; turn < TURNS; turn++) {
        few(turn % 3, 2); /* and on the thread's own stack between them */
        for (int i = 0; i < ROUTINES; i++)
            swapcontext(&routines.scheduler, &routines.routine[i]);
    }
    return NULL;
}

/* Coroutines, on stacks of their own and on ones that lie in one piece with the thread's. */
static void test_coroutines(void **state)
{
    (void)state;
    for (int joined = 0; joined < 2; joined++) {
        struct fw_calls *calls = start();
        routines.stacks = stacks_of(ROUTINES + 1);
        if (joined)
            on_stack(routines.stacks + (size_t)ROUTINES * STACK, schedule, NULL);
        else
            schedule(NULL);
        munmap(routines.stacks, (ROUTINES + 1) * (size_t)STACK);
        check(calls, TURNS * (ROUTINES + 2), 10);
    }
}
#endif

static void in_handler(int number)
{
    few((uint64_t)number, 20);
}

static void raise_on(void *stack)
{
    const stack_t alternate = {.ss_sp = stack, .ss_size = STACK}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaltstack(&alternate, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        few(i % 2, 3);
        raise(SIGUSR1);
    }
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* Handlers on a stack of their own, which may be a piece of the thread's. */
static void test_alternate_signal_stacks(void **state)
{
    struct fw_calls *calls = start();
    char *stack = stacks_of(1);
    (void)state;
    raise_on(stack);
    munmap(stack, STACK);
    raise_on(alloca(STACK));
    check(calls, 2 * ROUNDS * 23, 5);
}

#if defined(__x86_64__)
/* Code that nobody knows of, replaced by other code at the same place: the same return address, a
 * frame of another size. */
static void test_code_made_at_run_time(void **state)
{
    static const unsigned char small_frame[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x90,
                                                0x90, 0x90, 0x48, 0x89, 0xf8, 0x48,
                                                0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3};
    static const unsigned char large_frame[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
                                                0xec, 0x40, 0x48, 0x89, 0xf8, 0x48,
                                                0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3};
    struct fw_calls *calls = start();
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(code, MAP_FAILED);
        memcpy(code, round % 2 ? small_frame : large_frame, sizeof small_frame);
        assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
        struct chain chain = {0};
        for (unsigned i = 0; i < 20; i++)
            ((void (*)(shape *, struct chain *))(uintptr_t)code)(leaf, &chain);
        munmap(code, 4096);
    }
    check(calls, ROUNDS * 20, 1);
}
#endif

static void call_leaf(void *context)
{
    leaf(context);
}

/* A library is unloaded, another one takes its place. */
static void test_another_library_at_the_same_place(void **state)
{
    struct fw_calls *calls = start();
    struct chain chain = {0};
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *library = dlopen(round % 2 ? CALLS_FRAME_SMALL : CALLS_FRAME_LARGE, RTLD_NOW);
        if (!library)
            fail_msg("%s", dlerror());
        void (*frame_calls)(void (*)(void *), void *) =
            (void (*)(void (*)(void *), void *))dlsym(library, "frame_calls");
        for (unsigned i = 0; i < 20; i++)
            frame_calls(call_leaf, &chain);
        dlclose(library);
    }
    check(calls, ROUNDS * 20, 1);
}
#endif

int main(void)
{
#if defined(__arm__)
    const bool has_records = false;
#else
    const bool has_records = !UNDER_TSAN; /* its functions, which start threads, have none */
#endif
    if (SHAPES_RECORDS && !has_records) {
        printf("skipped: compilers lay no chain of frame records here\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recognised_stacks_are_the_ones_that_a_walk_finds),
#if defined(__linux__)
        cmocka_unit_test(test_threads_on_one_stack_after_each_other),
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_coroutines),
#endif
        cmocka_unit_test(test_alternate_signal_stacks),
#if defined(__x86_64__)
        cmocka_unit_test(test_code_made_at_run_time),
#endif
        cmocka_unit_test(test_another_library_at_the_same_place),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
