/*
 * What the benchmarks share: the clock, medians and a stack of known depth.
 *
 * Each program measures one side of one figure and prints it as one number, the median of its
 * batches; run.sh starts the sides in turn and takes the median over the turns.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_BATCHES = 21, BENCH_DEPTH = 30 };

static inline uint64_t bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `values`; `part` 0.5 is the median, 0.99 what 99 of 100 stay under. */
static inline double bench_quantile(double *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, bench_compare);
    return values[(size_t)(part * (double)(count - 1) + 0.5)];
}

/* Nanoseconds of one call of `work`, over `calls`. */
static inline double bench_once_ns(void (*work)(void), unsigned calls)
{
    const uint64_t start = bench_now();
    for (unsigned i = 0; i < calls; i++)
        work();
    return (double)(bench_now() - start) / calls;
}

/* The same: median over batches, after a first one that warms up. */
static inline double bench_ns(void (*work)(void), unsigned calls)
{
    double batch[BENCH_BATCHES];
    for (unsigned i = 0; i < calls; i++)
        work();
    for (unsigned b = 0; b < BENCH_BATCHES; b++)
        batch[b] = bench_once_ns(work, calls);
    return bench_quantile(batch, BENCH_BATCHES, 0.5);
}

#define BENCH_KEEP __asm__ volatile("" ::: "memory")

/*
 * Calls `leaf` from under at least BENCH_DEPTH frames of eight functions with frames of different
 * sizes, so that no side profits from one return address that repeats.
 */
struct bench_frames {
    void (*leaf)(void);
    unsigned left;
};

#define BENCH_FRAME(name, next, words)                                                             \
    static __attribute__((noinline)) void next(struct bench_frames *);                             \
    static __attribute__((noinline)) void name(struct bench_frames *frames)                        \
    {                                                                                              \
        volatile uintptr_t space[words];                                                           \
        space[0] = (uintptr_t)frames;                                                              \
        if (frames->left == 0) {                                                                   \
            frames->leaf();                                                                        \
        } else {                                                                                   \
            frames->left--;                                                                        \
            next(frames);                                                                          \
        }                                                                                          \
        (void)space[0];                                                                            \
        BENCH_KEEP;                                                                                \
    }

BENCH_FRAME(bench_frame0, bench_frame1, 1)
BENCH_FRAME(bench_frame1, bench_frame2, 3)
BENCH_FRAME(bench_frame2, bench_frame3, 8)
BENCH_FRAME(bench_frame3, bench_frame4, 2)
BENCH_FRAME(bench_frame4, bench_frame5, 16)
BENCH_FRAME(bench_frame5, bench_frame6, 5)
BENCH_FRAME(bench_frame6, bench_frame7, 1)
BENCH_FRAME(bench_frame7, bench_frame0, 24)

static inline void bench_at_depth(void (*leaf)(void))
{
    struct bench_frames frames = {leaf, BENCH_DEPTH + 2};
    bench_frame0(&frames);
    BENCH_KEEP;
}

/*
 * The same with the order of the functions drawn anew for each of BENCH_SHAPES stacks: what a
 * walker remembers of the last stack does not help with the next one.
 */
enum { BENCH_SHAPES = 1024 };

struct bench_mixed;
typedef void bench_mixed_frame(struct bench_mixed *);

struct bench_mixed {
    void (*leaf)(void);
    bench_mixed_frame *const *frames; /* eight functions */
    const uint8_t *order;
    unsigned left;
};

#define BENCH_MIXED(name, words)                                                                   \
    static __attribute__((noinline)) void name(struct bench_mixed *mixed)                          \
    {                                                                                              \
        volatile uintptr_t space[words];                                                           \
        space[0] = (uintptr_t)mixed;                                                               \
        if (mixed->left == 0)                                                                      \
            mixed->leaf();                                                                         \
        else                                                                                       \
            mixed->frames[mixed->order[--mixed->left]](mixed);                                     \
        (void)space[0];                                                                            \
        BENCH_KEEP;                                                                                \
    }

BENCH_MIXED(bench_mixed0, 1)
BENCH_MIXED(bench_mixed1, 3)
BENCH_MIXED(bench_mixed2, 8)
BENCH_MIXED(bench_mixed3, 2)
BENCH_MIXED(bench_mixed4, 16)
BENCH_MIXED(bench_mixed5, 5)
BENCH_MIXED(bench_mixed6, 1)
BENCH_MIXED(bench_mixed7, 24)

static bench_mixed_frame *const bench_mixed_frames[8] = {bench_mixed0, bench_mixed1, bench_mixed2,
                                                         bench_mixed3, bench_mixed4, bench_mixed5,
                                                         bench_mixed6, bench_mixed7};

static uint8_t bench_orders[BENCH_SHAPES][BENCH_DEPTH + 2];
static void (*bench_mixed_leaf)(void);

static inline void bench_all_shapes(void)
{
    for (unsigned i = 0; i < BENCH_SHAPES; i++) {
        struct bench_mixed mixed = {bench_mixed_leaf, bench_mixed_frames, bench_orders[i],
                                    BENCH_DEPTH + 2};
        bench_mixed0(&mixed);
    }
}

static inline void bench_nothing(void)
{
    BENCH_KEEP;
}

/* Nanoseconds of `work` under mixed stacks, without the time that the stacks themselves take. */
static inline double bench_mixed_ns(void (*work)(void), unsigned calls)
{
    uint64_t random = 42;
    for (unsigned i = 0; i < sizeof bench_orders; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        bench_orders[i / (BENCH_DEPTH + 2)][i % (BENCH_DEPTH + 2)] = (uint8_t)(random >> 61);
    }
    double batch[BENCH_BATCHES];
    for (unsigned b = 0; b < BENCH_BATCHES; b++) {
        bench_mixed_leaf = bench_nothing;
        const double stacks = bench_once_ns(bench_all_shapes, calls);
        bench_mixed_leaf = work;
        batch[b] = bench_once_ns(bench_all_shapes, calls) - stacks;
    }
    return bench_quantile(batch, BENCH_BATCHES, 0.5) / (double)BENCH_SHAPES;
}

/* For a side that found fewer frames than asked for: its figure would mean nothing. */
static inline void bench_require(long long got, long long wanted, const char *what)
{
    if (got != wanted) {
        fprintf(stderr, "%s: %lld instead of %lld\n", what, got, wanted);
        exit(1);
    }
}

#endif
