/* Images by address for reports on Apple platforms (src/watch/locate_darwin.c). */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mach-o/dyld.h>

#include <cmocka.h>

#include "watch/session.h"

static struct locate locate;

static const uint8_t *uuid_of(const void *base)
{
    const struct mach_header_64 *header = base;
    const struct load_command *command = (const void *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        if (command->cmd == LC_UUID)
            return ((const struct uuid_command *)(const void *)command)->uuid;
        command = (const void *)((const char *)command + command->cmdsize);
    }
    return NULL;
}

static void check(const void *code)
{
    Dl_info info;
    struct fwr_image image;
    assert_true(watch_locate(&locate, (uintptr_t)code, &image));
    assert_true(dladdr(code, &info) != 0);
    assert_int_equal(image.base, (uintptr_t)info.dli_fbase);
    assert_int_equal(image.key, image.base);
    assert_true(image.from_header);
    assert_true((uintptr_t)code - image.base < image.size);
    assert_string_equal(image.path, info.dli_fname);
    assert_int_equal(image.id_size, 16);
    assert_memory_equal(image.id, uuid_of(info.dli_fbase), 16);
#if defined(__x86_64__)
    assert_string_equal(image.arch, "x86_64");
#else
    assert_string_equal(image.arch, "arm64");
#endif
}

static void images_of_code(void **state)
{
    (void)state;
    check((const void *)(uintptr_t)images_of_code);
    check((const void *)(uintptr_t)malloc);
    struct fwr_image image;
    int here;
    assert_false(watch_locate(&locate, (uintptr_t)&here, &image));
    assert_false(watch_locate(&locate, 0, &image));
    assert_false(watch_locate(&locate, UINT64_MAX, &image));
}

static void images_come_and_go(void **state)
{
    (void)state;
    void *library = dlopen(PLUGIN, RTLD_NOW);
    assert_non_null(library);
    const void *code = dlsym(library, "plugin_run");
    assert_non_null(code);
    check(code);
    dlclose(library);
    struct fwr_image image;
    assert_false(watch_locate(&locate, (uintptr_t)code, &image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_of_code),
        cmocka_unit_test(images_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
