// capture.fp.30, the side of Abseil: absl::GetStackTrace, which walks frame pointers.
#include <absl/debugging/stacktrace.h>

#include "bench.h"

static void *addresses[BENCH_DEPTH];

static void absl_trace(void)
{
    absl::GetStackTrace(addresses, BENCH_DEPTH, 0);
}

static void measure(void)
{
    bench_require(absl::GetStackTrace(addresses, BENCH_DEPTH, 0), BENCH_DEPTH, "frames");
    printf("%.2f\n", bench_ns(absl_trace, 20000));
}

int main()
{
    bench_at_depth(measure);
    return 0;
}
