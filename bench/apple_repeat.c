/*
 * The names of a stack of 50 frames that was seen before, in the Mach-O host: nanoseconds a stack.
 * Usage: bench_apple_repeat LIBRARY:COUNT WAY
 *
 *     cache       fw_stack_names_get and _release
 *     added       what the same adds to fw_capture of the stack, which is then just written
 *     lookups     50 of fw_names_lookup
 *     scan        the peer symbolicates again
 *     capture     fw_capture; and
 *     capture-fp  fw_capture_frame_pointers of 50 frames, without names
 */
#include "apple_peer.h"
#include "apple_stack.h"

#include "framewalk/framewalk.h"

#include <string.h>

static struct fw_frame frames[APPLE_DEPTH];
static struct fw_stack stack = {.frames = frames, .capacity = APPLE_DEPTH};
static struct fw_names *names;
static struct fw_stack_names *cache;

static void by_cache(void)
{
    const struct fw_named_stack *named;
    if (fw_stack_names_get(cache, &stack, &named) == FW_OK)
        fw_stack_names_release(cache, named);
}

static void by_lookups(void)
{
    struct fw_name name[APPLE_DEPTH];
    for (unsigned i = 0; i < APPLE_DEPTH; i++)
        fw_names_lookup(names, &frames[i], &name[i]);
    BENCH_KEEP;
}

static void by_scan(void)
{
    for (unsigned i = 0; i < APPLE_DEPTH; i++) {
        const char *volatile name = peer_name((uintptr_t)frames[i].address - 1);
        (void)name;
    }
}

static void capture(void)
{
    fw_capture(&stack, 0);
    BENCH_KEEP;
}

static void capture_fp(void)
{
    fw_capture_frame_pointers(&stack, 0);
    BENCH_KEEP;
}

static void capture_cache(void)
{
    capture();
    by_cache();
}

enum { CALLS = 1000 };

/* Turn by turn, so that what disturbs one disturbs the other. */
static double added_ns(void)
{
    double added[BENCH_BATCHES];
    for (unsigned b = 0; b < BENCH_BATCHES; b++) {
        const double alone = bench_once_ns(capture, CALLS);
        added[b] = bench_once_ns(capture_cache, CALLS) - alone;
    }
    return bench_quantile(added, BENCH_BATCHES, 0.5);
}

static const struct way {
    const char *name;
    void (*work)(void); /* NULL: added_ns */
    unsigned calls;     /* in a batch, which is shorter than a time slice of a busy machine */
} ways[] = {
    {"cache", by_cache, 2 * CALLS}, {"added", NULL, CALLS},      {"lookups", by_lookups, 100},
    {"scan", by_scan, 1},           {"capture", capture, CALLS}, {"capture-fp", capture_fp, CALLS},
};

/* The stack is whole, its names are the library's, and the peer finds the same. */
static void check(void)
{
    const struct fw_named_stack *named;
    bench_require(stack.count, APPLE_DEPTH, "frames");
    bench_require(fw_stack_names_get(cache, &stack, &named), FW_OK, "cache");
    bench_require(named->count, APPLE_DEPTH, "named frames");
    for (unsigned i = 0; i < APPLE_DEPTH; i++) {
        const char *theirs = peer_name((uintptr_t)frames[i].address - 1);
        const char *ours = named->frames[i].name.function;
        bench_require(ours && theirs && strcmp(ours, theirs + 1) == 0, true, "same name");
    }
    fw_stack_names_release(cache, named);
}

static void measure(struct apple_step *chosen)
{
    const struct way *way = (const struct way *)(const void *)chosen;
    capture();
    check();
    printf("%.2f\n", way->work ? bench_ns(way->work, way->calls) : added_ns());
    check();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const struct apple_library library = apple_load(argv[1]);
    peer_note_images();
    bench_require(fw_names_create(&names), FW_OK, "index");
    const struct fw_stack_names_options options = {.size = sizeof options, .names = names};
    bench_require(fw_stack_names_create(&cache, &options), FW_OK, "cache");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[2], ways[i].name) == 0) {
            apple_descend(&library, 7, measure, (void *)(uintptr_t)&ways[i]);
            return 0;
        }
    }
    return 2;
}
