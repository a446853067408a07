/*
 * watch.call: what a watched call of a function of another image costs more than the call, with a
 * stack that is known, at the given depth. The same program for all sides:
 *
 *     ours, ours-records   fw_calls_start, exact or by frame pointers
 *     ours-beat            ours in a program that writes reports: its thread beats the time
 *     new                  ours, of stacks that are new: microseconds a call
 *     other                with libbench_watch_preload.so preloaded, or under uftrace
 *
 * The call is compared with one through a pointer that leads to the function itself.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "bench.h"
#include "framewalk/calls.h"
#include "watch_call_target.h"

enum { CALLS = 10000, DEPTHS = 600 };

static int (*volatile direct)(int);
static double with[BENCH_BATCHES], without[BENCH_BATCHES];
static volatile int result;

static __attribute__((noinline)) void leaf(void)
{
    for (unsigned b = 0; b < BENCH_BATCHES; b++) {
        uint64_t start = bench_now();
        for (int i = 0; i < CALLS; i++)
            result = bench_watch_target(i);
        with[b] = (double)(bench_now() - start) / CALLS;
        start = bench_now();
        for (int i = 0; i < CALLS; i++)
            result = direct(i);
        without[b] = (double)(bench_now() - start) / CALLS;
    }
    BENCH_KEEP;
}

static struct fw_calls *start(fw_calls_walk walk, uint32_t write_seconds)
{
    static const char *const names[] = {"bench_watch_target"};
    struct fw_calls *calls;
    const struct fw_calls_options options = {.size = sizeof options,
                                             .names = names,
                                             .count = 1,
                                             .walk = walk,
                                             .frames = 48,
                                             .write_seconds = write_seconds,
                                             .memory = 8 << 20};
    if (fw_calls_start(&options, &calls) != FW_OK)
        exit(1);
    return calls;
}

/* A depth that was not there before: each call has another stack. */
static __attribute__((noinline)) int recurse(int left)
{
    volatile int keep = left;
    result = left ? recurse(left - 1) : bench_watch_target(1);
    return keep;
}

/* The time of the call itself, at the end of each recursion. */
static double new_stacks(void)
{
    double each[DEPTHS];
    recurse(1);
    for (int i = 0; i < DEPTHS; i++) {
        uint64_t begin = bench_now();
        recurse(2 + i % 40);
        const double first = (double)(bench_now() - begin);
        begin = bench_now();
        recurse(2 + i % 40);
        each[i] = first - (double)(bench_now() - begin);
    }
    qsort(each, DEPTHS, sizeof *each, bench_compare);
    return each[DEPTHS - 20]; /* the middle of the 40 that were new */
}

int main(int argc, char **argv)
{
    const char *side = argc > 1 ? argv[1] : "ours";
    const unsigned depth = argc > 2 ? (unsigned)atoi(argv[2]) : BENCH_DEPTH;
    void *library = dlopen("libbench_watch_target.so", RTLD_NOW);
    direct = (int (*)(int))dlsym(library, "bench_watch_target");
    struct fw_calls *calls = NULL;
    const bool beats = strcmp(side, "ours-beat") == 0;
    uint64_t warm = 0;
    if (strncmp(side, "ours", 4) == 0 || strcmp(side, "new") == 0)
        calls = start(strcmp(side, "ours-records") ? FW_CALLS_EXACT : FW_CALLS_FRAME_POINTERS,
                      beats ? 1 : 0);
    for (const uint64_t until = bench_now() + 1500000000; beats && bench_now() < until; warm++)
        result = bench_watch_target(1); /* until it beats */
    if (strcmp(side, "new") == 0) {
        printf("%.3f\n", new_stacks() / 1000);
        return 0;
    }
    struct bench_frames frames = {leaf, depth};
    bench_frame0(&frames);
    printf("%.2f\n",
           bench_quantile(with, BENCH_BATCHES, 0.5) - bench_quantile(without, BENCH_BATCHES, 0.5));
    struct fw_calls_totals totals = {.size = sizeof totals};
    if (calls && (fw_calls_totals(calls, &totals) != FW_OK ||
                  totals.counted != warm + (uint64_t)CALLS * BENCH_BATCHES)) {
        fprintf(stderr, "%llu calls counted of %llu\n", (unsigned long long)totals.counted,
                (unsigned long long)CALLS * BENCH_BATCHES);
        return 1;
    }
    return 0;
}
