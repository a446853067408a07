/* os/linux/self_images.c: loaded images of odd shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "framewalk/capture.h"
#include "support/platform.h"

static struct fw_frame frames[64];
static struct fw_stack stack = {.frames = frames, .capacity = 64};

static void capture(void)
{
    fw_capture(&stack, 0);
    __asm__ volatile("" ::: "memory");
}

static char *read_module(size_t *size)
{
    FILE *file = fopen(MOVED_HEADERS, "rb");
    assert_non_null(file);
    enum { LIMIT = 1 << 20 };
    char *bytes = calloc(1, LIMIT);
    assert_non_null(bytes);
    *size = fread(bytes, 1, LIMIT, file);
    fclose(file);
    return bytes;
}

/* As tools do that need room for more of them. */
static void move_headers(char *bytes, size_t size)
{
    static const char mark[] = "room for headers";
    ElfW(Ehdr) *header = (void *)bytes;
    char *room = memmem(bytes, size, mark, sizeof mark);
    assert_non_null(room);
    size_t length = header->e_phnum * sizeof(ElfW(Phdr));
    memcpy(room, bytes + header->e_phoff, length);
    memset(bytes + header->e_phoff, 0xff, length);
    header->e_phoff = (size_t)(room - bytes);
}

static void *load_moved(void)
{
    size_t size;
    char path[] = "/tmp/fw_moved_headers_XXXXXX";
    char *bytes = read_module(&size);
    move_headers(bytes, size);
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
    free(bytes);
    void *module = dlopen(path, RTLD_NOW);
    unlink(path);
    return module;
}

static void program_headers_elsewhere(void **state)
{
    (void)state;
    void *module = load_moved();
    if (!module)
        skip(); /* this loader does not take such files */
    fw_images_refresh();
    void (*call)(void (*)(void)) =
        (void (*)(void (*)(void)))(uintptr_t)dlsym(module, "moved_headers_call");
    assert_true(call != NULL);
    call(capture);
    assert_int_equal(stack.end, FW_END_ROOT);
    assert_true(frames[1].address > (uintptr_t)call && frames[1].address < (uintptr_t)call + 200);
    assert_int_equal(frames[2].method, LIBC_HAS_TABLES ? FW_METHOD_CFI : FW_METHOD_EXIDX);
    dlclose(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_headers_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
