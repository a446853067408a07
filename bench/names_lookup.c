/*
 * names.lookup LIBRARY SIDE: a name in a library of 60,000 functions. Sides: ours, dladdr
 * (nanoseconds a lookup), index (milliseconds to build the index of all loaded images, this library
 * among them).
 */
#include <dlfcn.h>
#include <string.h>

#include "bench.h"
#include "framewalk/names.h"

enum { SYMBOLS = 60000, SPACING = 16, SAMPLES = 4096 };

static uint64_t addresses[SAMPLES];
static struct fw_names *names;
static unsigned next_sample;

static void choose_addresses(uint64_t begin)
{
    uint64_t random = 42;
    for (unsigned i = 0; i < SAMPLES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        addresses[i] = begin + (random >> 33) % SYMBOLS * SPACING + 1;
    }
}

static void ours(void)
{
    struct fw_name name;
    const struct fw_frame frame = {.address = addresses[next_sample++ % SAMPLES],
                                   .kind = FW_FRAME_EXACT};
    if (fw_names_lookup(names, &frame, &name) != FW_OK || !name.function)
        exit(1);
}

static void by_dladdr(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)addresses[next_sample++ % SAMPLES], &info) || !info.dli_sname)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    void *begin = library ? dlsym(library, "function_00000") : NULL;
    if (!begin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    choose_addresses((uint64_t)(uintptr_t)begin);
    const uint64_t start = bench_now();
    if (fw_names_create(&names) != FW_OK)
        return 1;
    const double index_ms = (double)(bench_now() - start) / 1e6;
    if (strcmp(argv[2], "index") == 0)
        printf("%.3f\n", index_ms);
    else if (strcmp(argv[2], "dladdr") == 0)
        printf("%.2f\n", bench_ns(by_dladdr, 40));
    else
        printf("%.2f\n", bench_ns(ours, 100000));
    fw_names_destroy(names);
    return 0;
}
