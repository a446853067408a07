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
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void test_recognised_stacks_are_the_ones_that_a_walk_finds(void **state)
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
    pthread_t thread[THREADS];
    (void)state;
    assert_int_equal(fw_calls_start(&options, &calls), FW_OK);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    run((void *)THREADS);

    struct fw_calls_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_calls_totals(calls, &totals), FW_OK);
    assert_int_equal(totals.counted, (THREADS + 1) * CALLS);
    assert_int_equal(totals.dropped, 0);
    assert_true(totals.stacks > 400);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
