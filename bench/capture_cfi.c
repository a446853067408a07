/*
 * capture.cfi.30: 30 frames of this thread through code without frame pointers, everything warm.
 * Sides: ours, ours-addresses, glibc. With "first" in front: the first capture of a fresh process;
 * with "mixed": of stacks that change from one capture to the next.
 */
#include <execinfo.h>
#include <stdbool.h>
#include <string.h>

#include "bench.h"
#include "framewalk/capture.h"

static struct fw_frame frames[BENCH_DEPTH];
static void *addresses[BENCH_DEPTH];

static void ours(void)
{
    struct fw_stack stack = {.frames = frames, .capacity = BENCH_DEPTH};
    fw_capture(&stack, 0);
    BENCH_KEEP;
}

static void ours_addresses(void)
{
    fw_backtrace(addresses, BENCH_DEPTH);
    BENCH_KEEP;
}

static void glibc(void)
{
    backtrace(addresses, BENCH_DEPTH);
    BENCH_KEEP;
}

static void (*side)(void);
static bool first, mixed;

static void measure(void)
{
    if (first) {
        const uint64_t start = bench_now();
        side();
        printf("%.2f\n", (double)(bench_now() - start));
        return;
    }
    struct fw_stack stack = {.frames = frames, .capacity = BENCH_DEPTH};
    bench_require(fw_capture(&stack, 0), BENCH_DEPTH, "frames");
    const unsigned calls = side == glibc ? 200 : 10000;
    printf("%.2f\n", mixed ? bench_mixed_ns(side, 1) : bench_ns(side, calls));
}

int main(int argc, char **argv)
{
    first = argc > 2 && strcmp(argv[1], "first") == 0;
    mixed = argc > 2 && strcmp(argv[1], "mixed") == 0;
    const char *name = argc > 1 ? argv[argc - 1] : "ours";
    side = strcmp(name, "glibc") == 0            ? glibc
           : strcmp(name, "ours-addresses") == 0 ? ours_addresses
                                                 : ours;
    bench_now();
    bench_at_depth(measure);
    return 0;
}
