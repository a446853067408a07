/*
 * Calls functions of another image in every way, with the call watch on, and checks results and
 * counts by itself: compiled and linked in many ways (calls.cmake). Exit status 0: all is right.
 * With the argument "none" it is a program without imports: nothing can be watched, and it says so.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "framewalk/calls.h"
#include "watch/calls_target.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char *const names[] = {
    "target_plain",
    "target_doubles",
    "target_variadic",
    "target_stack",
    "target_long_double",
    "target_pair",
    "target_large",
    "target_calls_back",
    "target_recursive",
    "target_chosen",
    "target_versioned",
    "target_registers",
    "memcpy",
    "strlen",
    "no_such_function",
};
enum {
    PLAIN,
    DOUBLES,
    VARIADIC,
    STACK,
    LONG_DOUBLE,
    PAIR,
    LARGE,
    CALLS_BACK,
    RECURSIVE,
    CHOSEN,
    VERSIONED,
    REGISTERS,
    MEMCPY,
    STRLEN,
    NO_SUCH,
    NAMES
};

/* A pointer in constant data, and one in data. */
static int (*const in_constant)(int) = target_plain;
static int (*in_data)(int) = target_plain;
static int (*const volatile *pointer_to_constant)(int) = &in_constant;

static jmp_buf place;

static void jump(void *context)
{
    (void)context;
    longjmp(place, 1);
}

#if defined(__x86_64__)
void registers_through(void *memory, int wide);

static void check_registers(void)
{
    static unsigned char before[2176], after[2176];
    __builtin_cpu_init();
    const int wide = __builtin_cpu_supports("avx512bw") != 0;
    for (size_t i = 0; i < sizeof before; i++)
        before[i] = (unsigned char)(i * 37 + 11);
    for (unsigned n = 0; n < 32 && !wide; n++) /* only 16 vectors of 16 bytes are used */
        if (n >= 16)
            memset(before + 64 * n, 0, 64);
    memcpy(after, before, sizeof after);
    registers_through(after, wide);
    CHECK(memcmp(before, after, sizeof after) == 0);
}
#else
static void check_registers(void)
{
}
#endif

/* All of it once. */
static __attribute__((noinline)) void call_all(void)
{
    CHECK(target_plain(41) == 42);
    CHECK((*pointer_to_constant)(1) == 2);
    CHECK(in_data(2) == 3);
    CHECK(target_doubles(1, 2, 3, 4, 5, 6, 7, 8) == 204);
    CHECK(target_variadic(3, 1.5, 2.5, 3.5) == 17);
    CHECK(target_variadic(10, 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.) == 55);
    CHECK(target_stack(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 385);
    CHECK(target_long_double(2.5L, 4, 0.25L) == 10.25L);
    const struct target_pair pair = target_pair(1.25, 5);
    CHECK(pair.a == 2.5 && pair.b == 15);
    const struct target_large large = target_large(100);
    CHECK(large.value[0] == 100 && large.value[11] == 111);
    if (setjmp(place) == 0) {
        target_calls_back(jump, NULL);
        CHECK(false);
    }
    CHECK(target_recursive(10) == 10);
    CHECK(target_chosen(4) == 7);
    CHECK(target_versioned(1) == 3);
    check_registers();
    char copy[64];
    volatile size_t length = 13;
    memcpy(copy, "twelve chars", length);
    CHECK(strlen(copy) == 12);
}

/* Data that no call changes, as bytes: pages that are read-only once they are relocated, and the
 * linkage tables. */
struct image_copy {
    const unsigned char *at;
    unsigned char *bytes;
    size_t size;
};
static struct image_copy copies[64];
static size_t copy_count;

/* Through the kernel: sanitizers have their own ideas of what lies between variables. */
static unsigned char *read_memory(const void *at, size_t size)
{
    unsigned char *bytes = malloc(size);
    const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    CHECK(pread64(memory, bytes, size, (off64_t)(uintptr_t)at) == (ssize_t)size);
    close(memory);
    return bytes;
}

static int copy_relro(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    for (size_t i = 0; i < info->dlpi_phnum && copy_count < 64; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            struct image_copy *copy = &copies[copy_count++];
            copy->at = (const unsigned char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            copy->size = info->dlpi_phdr[i].p_memsz;
            copy->bytes = read_memory(copy->at, copy->size);
        }
    return 0;
}

/* Mappings of files, with their protections. */
static char *file_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char *all = calloc(1, 1 << 20), line[4096];
    while (maps && fgets(line, sizeof line, maps))
        if (strchr(line, '/') && strlen(all) + strlen(line) < 1 << 20)
            strcat(all, line);
    if (maps)
        fclose(maps);
    return all;
}

static uint64_t calls_of(struct fw_calls *calls, uint32_t name)
{
    struct fw_calls_api api = {.size = sizeof api};
    CHECK(fw_calls_api(calls, name, &api) == FW_OK);
    CHECK(!api.refused);
    return api.calls;
}

static struct fw_calls *start(void)
{
    struct fw_calls *calls;
    const struct fw_calls_options options = {
        .size = sizeof options, .names = names, .count = NAMES};
    CHECK(fw_calls_start(&options, &calls) == FW_OK);
    return calls;
}

static int no_imports(void)
{
    struct fw_calls *calls = start();
    for (uint32_t i = 0; i < NAMES; i++) {
        struct fw_calls_api api = {.size = sizeof api};
        CHECK(fw_calls_api(calls, i, &api) == FW_OK);
        CHECK(api.pointers == 0 && api.calls == 0);
    }
    fw_calls_stop(calls);
    return 0;
}

int main(int argc, char **argv)
{
    enum { ROUNDS = 50 };
    if (argc > 1 && strcmp(argv[1], "none") == 0)
        return no_imports();
    char *maps = file_maps();
    dl_iterate_phdr(copy_relro, NULL);
    struct fw_calls *calls = start();
    for (int i = 0; i < ROUNDS; i++)
        call_all();
    CHECK(calls_of(calls, PLAIN) == 3 * ROUNDS);
    CHECK(calls_of(calls, DOUBLES) == ROUNDS);
    CHECK(calls_of(calls, VARIADIC) == 2 * ROUNDS);
    CHECK(calls_of(calls, STACK) == ROUNDS);
    CHECK(calls_of(calls, LONG_DOUBLE) == ROUNDS);
    CHECK(calls_of(calls, PAIR) == ROUNDS);
    CHECK(calls_of(calls, LARGE) == ROUNDS);
    CHECK(calls_of(calls, CALLS_BACK) == ROUNDS);
    CHECK(calls_of(calls, RECURSIVE) == 11 * ROUNDS);
    CHECK(calls_of(calls, CHOSEN) == ROUNDS);
    CHECK(calls_of(calls, VERSIONED) == ROUNDS);
    CHECK(calls_of(calls, MEMCPY) >= ROUNDS);
    CHECK(calls_of(calls, STRLEN) >= ROUNDS);
#if defined(__x86_64__)
    CHECK(calls_of(calls, REGISTERS) == ROUNDS);
#endif
    struct fw_calls_api api = {.size = sizeof api};
    CHECK(fw_calls_api(calls, NO_SUCH, &api) == FW_OK && !api.found && !api.pointers);
    CHECK(fw_calls_api(calls, NAMES, &api) == FW_ERR_NOT_FOUND);
    fw_calls_stop(calls);
    char *after = file_maps();
    CHECK(strcmp(maps, after) == 0);
    free(maps);
    free(after);
    for (size_t i = 0; i < copy_count; i++) {
        unsigned char *now = read_memory(copies[i].at, copies[i].size);
        CHECK(memcmp(now, copies[i].bytes, copies[i].size) == 0);
        free(now);
        free(copies[i].bytes);
    }
    call_all();
    for (int again = 0; again < 3; again++) { /* and from the beginning */
        calls = start();
        call_all();
        CHECK(calls_of(calls, PLAIN) == 3);
        fw_calls_stop(calls);
    }
    puts("all right");
    return 0;
}
