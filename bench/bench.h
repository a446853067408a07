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

/* Nanoseconds of one call of `work`: median over batches of `calls`. */
static inline double bench_ns(void (*work)(void), unsigned calls)
{
    double batch[BENCH_BATCHES];
    for (unsigned i = 0; i < calls; i++)
        work();
    for (unsigned b = 0; b < BENCH_BATCHES; b++) {
        const uint64_t start = bench_now();
        for (unsigned i = 0; i < calls; i++)
            work();
        batch[b] = (double)(bench_now() - start) / calls;
    }
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

/* For a side that found fewer frames than asked for: its figure would mean nothing. */
static inline void bench_require(long long got, long long wanted, const char *what)
{
    if (got != wanted) {
        fprintf(stderr, "%s: %lld instead of %lld\n", what, got, wanted);
        exit(1);
    }
}

#endif
