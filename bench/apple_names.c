/*
 * An address to its name in an image of many symbols, in the Mach-O host: mean over addresses drawn
 * by lot. Usage: bench_apple_names LIBRARY:COUNT ours|scan|index (index: ms to build the index of
 * all loaded images)
 */
#include "apple_peer.h"
#include "apple_stack.h"

#include "framewalk/framewalk.h"

#include <string.h>

enum { ADDRESSES = 4096, SCANNED = 8 };

static uintptr_t addresses[ADDRESSES];
static unsigned count;
static struct fw_names *names;

/* The name that an address of the library must get, without the underscore. */
static void check(const struct apple_library *library, uintptr_t address, const char *got)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "function_%06u",
             (unsigned)((address - library->first) / APPLE_FUNCTION_SIZE));
    bench_require(got && strcmp(got, wanted) == 0, true, wanted);
}

static const char *our_name(uintptr_t address)
{
    const struct fw_frame frame = {.address = address, .kind = FW_FRAME_EXACT};
    struct fw_name name;
    return fw_names_lookup(names, &frame, &name) == FW_OK ? name.function : NULL;
}

static void look_up(void)
{
    for (unsigned i = 0; i < count; i++) {
        const char *volatile name = our_name(addresses[i]);
        (void)name;
    }
}

static void scan(void)
{
    for (unsigned i = 0; i < count; i++) {
        const char *volatile name = peer_name(addresses[i]);
        (void)name;
    }
}

static double index_ms(void)
{
    double builds[5];
    for (unsigned i = 0; i < 5; i++) {
        const uint64_t start = bench_now();
        bench_require(fw_names_create(&names), FW_OK, "index");
        builds[i] = (double)(bench_now() - start) / 1e6;
        fw_names_destroy(names);
    }
    return bench_quantile(builds, 5, 0.5);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const struct apple_library library = apple_load(argv[1]);
    const bool ours = strcmp(argv[2], "ours") == 0;
    if (strcmp(argv[2], "index") == 0) {
        printf("%.3f\n", index_ms());
        return 0;
    }
    uint64_t random = 7;
    for (unsigned i = 0; i < ADDRESSES; i++)
        addresses[i] = apple_draw(&library, &random) + apple_random(&random) % 15;
    peer_note_images();
    bench_require(fw_names_create(&names), FW_OK, "index");
    count = ours ? ADDRESSES : SCANNED;
    for (unsigned i = 0; i < count; i++) {
        if (ours)
            check(&library, addresses[i], our_name(addresses[i]));
        else
            check(&library, addresses[i], peer_name(addresses[i]) + 1);
    }
    printf("%.2f\n", bench_ns(ours ? look_up : scan, 1) / count);
    return 0;
}
