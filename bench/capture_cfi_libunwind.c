/*
 * capture.cfi.30 and capture.cfi.first, the side of libunwind: unw_backtrace with its cache. A
 * program of its own, because libunwind replaces backtrace() of every program that it is linked to.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdbool.h>
#include <string.h>

#include "bench.h"

static void *addresses[BENCH_DEPTH];
static bool first, mixed;

static void libunwind(void)
{
    unw_backtrace(addresses, BENCH_DEPTH);
    BENCH_KEEP;
}

static void measure(void)
{
    if (first) {
        const uint64_t start = bench_now();
        libunwind();
        printf("%.2f\n", (double)(bench_now() - start));
        return;
    }
    bench_require(unw_backtrace(addresses, BENCH_DEPTH), BENCH_DEPTH, "frames");
    printf("%.2f\n", mixed ? bench_mixed_ns(libunwind, 1) : bench_ns(libunwind, 10000));
}

int main(int argc, char **argv)
{
    first = argc > 1 && strcmp(argv[1], "first") == 0;
    mixed = argc > 1 && strcmp(argv[1], "mixed") == 0;
    bench_now();
    bench_at_depth(measure);
    return 0;
}
