/* watch/locate_linux.c, os/linux/self_identity.c: images of this process, beside what the loader
 * and their files say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "object/object.h"
#include "watch/session.h"

static char program[512];
static struct locate locate = {.program = program};

static uint64_t address_of(void (*function)(void))
{
    return (uint64_t)(uintptr_t)function;
}

static void same_build_id_as_file(const struct fwr_image *image)
{
    struct object *object;
    assert_int_equal(object_open(image->path, &object, NULL), FW_OK);
    struct span id = object_build_id(object);
    assert_int_equal(image->id_size, id.size);
    assert_memory_equal(image->id, id.data, id.size);
    object_close(object);
}

static void a_named_test(void)
{
}

static void the_program_itself(void **state)
{
    (void)state;
    struct fwr_image image;
    Dl_info info;
    assert_true(watch_locate(&locate, address_of(a_named_test), &image));
    assert_string_equal(image.path, program);
    assert_string_equal(image.arch, ARCH_NATIVE.name);
    assert_true(dladdr((void *)(uintptr_t)address_of(a_named_test), &info) != 0);
    assert_int_equal(image.key, (uintptr_t)info.dli_fbase);
    assert_true(address_of(a_named_test) - image.key < image.size);
    same_build_id_as_file(&image);
}

/* Every image that the loader lists is found by each of its segments. */
static int check_image(struct dl_phdr_info *info, size_t size, void *context)
{
    unsigned *seen = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        struct fwr_image image;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        assert_true(watch_locate(&locate, info->dlpi_addr + p->p_vaddr + 1, &image));
        assert_int_equal(image.base, info->dlpi_addr);
        if (info->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) {
            assert_string_equal(image.path, "[vdso]");
            assert_true(image.id_size > 0);
        } else {
            assert_string_equal(image.path,
                                info->dlpi_name[0] ? info->dlpi_name : (const char *)program);
            same_build_id_as_file(&image);
        }
        ++*seen;
    }
    return 0;
}

static void every_loaded_image(void **state)
{
    (void)state;
    unsigned seen = 0;
    dl_iterate_phdr(check_image, &seen);
    assert_true(seen >= 3); /* program, libc, loader; mostly the vDSO */
}

static void addresses_outside(void **state)
{
    (void)state;
    struct fwr_image image;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int local = 0;
    assert_true(page != MAP_FAILED);
    assert_false(watch_locate(&locate, (uint64_t)(uintptr_t)page, &image));
    assert_false(watch_locate(&locate, (uint64_t)(uintptr_t)&local, &image));
    assert_false(watch_locate(&locate, 0, &image));
    assert_false(watch_locate(&locate, UINT64_MAX, &image));
    munmap(page, 4096);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* elsewhere fw_images_refresh tells of it */
static void a_module_that_comes_and_goes(void **state)
{
    (void)state;
    struct fwr_image image;
    for (int i = 0; i < 3; i++) {
        void *module = dlopen(LOCATE_MODULE, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(module);
        uint64_t address = (uint64_t)(uintptr_t)dlsym(module, "fw_located");
        assert_int_not_equal(address, 0);
        assert_true(watch_locate(&locate, address, &image));
        assert_string_equal(image.path, LOCATE_MODULE);
        same_build_id_as_file(&image);
        dlclose(module);
        assert_false(watch_locate(&locate, address, &image));
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_itself),
        cmocka_unit_test(every_loaded_image),
        cmocka_unit_test(addresses_outside),
#ifdef DLFO_STRUCT_HAS_EH_DBASE
        cmocka_unit_test(a_module_that_comes_and_goes),
#endif
    };
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
