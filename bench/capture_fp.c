/* capture.fp.30: 30 frames of this thread by frame pointers. Sides: ours (addresses, as the others
 * do), ours-frames (with kind, method and id), loop,
 * glibc. */
#include <execinfo.h>
#include <string.h>

#include "bench.h"
#include "framewalk/capture.h"

static struct fw_frame frames[BENCH_DEPTH];
static void *addresses[BENCH_DEPTH];
static uintptr_t stack_end;

static void ours_frames(void)
{
    struct fw_stack stack = {.frames = frames, .capacity = BENCH_DEPTH};
    fw_capture_frame_pointers(&stack, 0);
}

static void ours(void)
{
    fw_backtrace_from_fp(__builtin_frame_address(0), addresses, BENCH_DEPTH);
}

/* The least that a checked walk can do: inside the stack, aligned, further out each time. */
static __attribute__((noinline)) int checked_loop(uintptr_t fp, void **buffer, int size)
{
    int count = 0;
    while (count < size) {
        const uintptr_t *record = (const uintptr_t *)fp;
        if (fp % sizeof(uintptr_t) || fp > stack_end - 2 * sizeof(uintptr_t) || record[1] == 0)
            break;
        buffer[count++] = (void *)record[1];
        if (record[0] <= fp)
            break;
        fp = record[0];
    }
    return count;
}

static void loop(void)
{
    checked_loop((uintptr_t)__builtin_frame_address(0), addresses, BENCH_DEPTH);
}

static void glibc(void)
{
    backtrace(addresses, BENCH_DEPTH);
}

static const char *side;

static void measure(void)
{
    if (strcmp(side, "ours-frames") == 0) {
        struct fw_stack stack = {.frames = frames, .capacity = BENCH_DEPTH};
        bench_require(fw_capture_frame_pointers(&stack, 0), BENCH_DEPTH, "frames");
        printf("%.2f\n", bench_ns(ours_frames, 20000));
    } else if (strcmp(side, "ours") == 0) {
        bench_require(fw_backtrace_from_fp(__builtin_frame_address(0), addresses, BENCH_DEPTH),
                      BENCH_DEPTH, "frames");
        printf("%.2f\n", bench_ns(ours, 20000));
    } else if (strcmp(side, "loop") == 0) {
        bench_require(checked_loop((uintptr_t)__builtin_frame_address(0), addresses, BENCH_DEPTH),
                      BENCH_DEPTH, "frames");
        printf("%.2f\n", bench_ns(loop, 20000));
    } else {
        bench_require(backtrace(addresses, BENCH_DEPTH), BENCH_DEPTH, "frames");
        printf("%.2f\n", bench_ns(glibc, 200));
    }
}

int main(int argc, char **argv)
{
    side = argc > 1 ? argv[1] : "ours";
    stack_end = (uintptr_t)argv;
    bench_at_depth(measure);
    return 0;
}
