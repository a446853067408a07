/*
 * The call watch beside others: who replaced a pointer before us, who replaces it after us, vtables
 * of C++ classes whose functions are another image's, and images that look at themselves first
 * (RTLD_DEEPBIND).
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "framewalk/calls.h"
#include "watch/calls_target.h"
#include "watch/got_images.h"

static struct fw_calls *start(const char *name)
{
    struct fw_calls *calls = NULL;
    const struct fw_calls_options options = {.size = sizeof options, .names = &name, .count = 1};
    assert_int_equal(fw_calls_start(&options, &calls), FW_OK);
    return calls;
}

static struct fw_calls_api api_of(struct fw_calls *calls)
{
    struct fw_calls_api api = {.size = sizeof api};
    assert_int_equal(fw_calls_api(calls, 0, &api), FW_OK);
    return api;
}

/* The program's own slot of a name. */
struct wanted {
    const struct got_image *image;
    const char *name;
    uintptr_t slot;
};

static void is_it(void *context, const struct got_relocation *relocation)
{
    struct wanted *wanted = context;
    ElfW(Sym) symbol;
    if (got_symbol(wanted->image, relocation->symbol, &symbol) &&
        strcmp(got_string(wanted->image, symbol.st_name), wanted->name) == 0)
        wanted->slot = relocation->slot;
}

static void look(void *context, const struct got_images *images)
{
    struct wanted *wanted = context;
    wanted->image = &images->image[0];
    got_relocations(wanted->image, is_it, wanted);
}

static uintptr_t *slot_of(const char *name)
{
    struct wanted wanted = {.name = name};
    struct got_images images = {0};
    got_images_visit(&images, look, &wanted);
    got_images_free(&images);
    assert_true(wanted.slot);
    return (uintptr_t *)wanted.slot;
}

/* As others do it: the page stays writable. */
static void put(uintptr_t *slot, uintptr_t value)
{
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(
        mprotect((void *)((uintptr_t)slot & ~(size - 1)), size, PROT_READ | PROT_WRITE), 0);
    __atomic_store_n(slot, value, __ATOMIC_SEQ_CST);
}

/* Reads the slot at each call: in a function that calls often, without a linkage table, compilers
 * read it once. */
static __attribute__((noinline)) int plain(int value)
{
    return target_plain(value);
}

static int hooked;
static int (*volatile hook_goes_on)(int);

static int hook(int value)
{
    hooked++;
    return hook_goes_on(value);
}

static void test_a_hook_that_was_there_before(void **state)
{
    uintptr_t *slot = slot_of("target_plain");
    const uintptr_t original = *slot;
    (void)state;
    hooked = 0;
    hook_goes_on = (int (*)(int))dlsym(RTLD_DEFAULT, "target_plain");
    put(slot, (uintptr_t)hook);
    struct fw_calls *calls = start("target_plain");
    for (int i = 0; i < 10; i++)
        assert_int_equal(plain(i), i + 1);
    assert_int_equal(api_of(calls).calls, 10);
    assert_int_equal(hooked, 10); /* gone on to */
    fw_calls_stop(calls);
    assert_ptr_equal(*slot, hook); /* theirs again */
    assert_int_equal(plain(1), 2);
    assert_int_equal(hooked, 11);
    put(slot, original);
}

static void test_a_hook_that_comes_after(void **state)
{
    uintptr_t *slot = slot_of("target_plain");
    (void)state;
    hooked = 0;
    assert_int_equal(plain(0), 1); /* bound */
    const uintptr_t original = *slot;
    struct fw_calls *calls = start("target_plain");
    const uintptr_t ours = *slot;
    assert_ptr_not_equal(ours, original);
    hook_goes_on = (int (*)(int))ours;
    put(slot, (uintptr_t)hook);
    for (int i = 0; i < 10; i++) {
        fw_calls_refresh(calls); /* does not put us before them: a call would count twice */
        assert_int_equal(plain(i), i + 1);
    }
    assert_ptr_equal(*slot, hook);
    assert_int_equal(hooked, 10);
    assert_int_equal(api_of(calls).calls, 10);
    fw_calls_stop(calls);
    assert_ptr_equal(*slot, hook); /* left, and goes on through the thunk */
    assert_int_equal(plain(1), 2);
    assert_int_equal(hooked, 11);

    /* The next watch goes on to the hook, and through it and the old thunk to the function. */
    calls = start("target_plain");
    for (int i = 0; i < 10; i++)
        assert_int_equal(plain(i), i + 1);
    assert_int_equal(hooked, 21);
    assert_int_equal(api_of(calls).calls, 10);
    fw_calls_stop(calls);
    put(slot, original);
}

struct region {
    uintptr_t lo, hi;
};

static int find_relro(struct dl_phdr_info *info, size_t size, void *context)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct region *region = context;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_GNU_RELRO) {
            region->lo = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
            region->hi = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(page - 1);
        }
    }
    return 1; /* the program is the first */
}

static void test_relocated_pages_that_somebody_left_writable(void **state)
{
    struct region region = {0, 0};
    (void)state;
    dl_iterate_phdr(find_relro, &region);
    if (region.lo == region.hi)
        skip();
    assert_int_equal(mprotect((void *)region.lo, region.hi - region.lo, PROT_READ | PROT_WRITE), 0);
    struct fw_calls *calls = start("target_plain");
    assert_true(api_of(calls).pointers > 0);
    assert_int_equal(plain(1), 2);
    assert_int_equal(api_of(calls).calls, 1);
    fw_calls_stop(calls);
    assert_int_equal(mprotect((void *)region.lo, region.hi - region.lo, PROT_READ), 0);
}

#ifdef CALLS_VIRTUAL
/* A class of the plugin inherits functions of another library's class. */
static void test_virtual_functions_of_other_images(void **state)
{
    struct fw_calls *calls = start(CALLS_VIRTUAL_NAME);
    (void)state;
    void *plugin = dlopen(CALLS_VIRTUAL, RTLD_NOW);
    if (!plugin)
        fail_msg("%s", dlerror());
    int (*use)(int) = (int (*)(int))dlsym(plugin, "use_inherited");
    assert_int_equal(use(20), 210);
    assert_true(api_of(calls).found);
    assert_int_equal(api_of(calls).calls, 20);
    fw_calls_stop(calls);
    assert_int_equal(use(20), 210); /* and back */
    dlclose(plugin);
}
#endif

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The plugin has a target_plain of its own, which adds 1000, and calls it through its linkage
 * table, bound at the first call. */
static int deep_result(struct fw_calls **calls, int flags, bool before)
{
    if (before)
        *calls = start("target_plain");
    void *plugin = dlopen(CALLS_DEEP, RTLD_LAZY | flags);
    if (!plugin)
        fail_msg("%s", dlerror());
    if (!before)
        *calls = start("target_plain");
    int (*deep_calls)(int) = (int (*)(int))dlsym(plugin, "deep_calls");
    const int first = deep_calls(1);
    fw_calls_refresh(*calls); /* by now it is bound */
    assert_int_equal(deep_calls(1), first);
    assert_int_equal(deep_calls(1), first);
    assert_true(api_of(*calls).calls >= 2);
    fw_calls_stop(*calls);
    assert_int_equal(deep_calls(1), first);
    dlclose(plugin);
    return first;
}

static void test_images_that_look_at_themselves_first(void **state)
{
    struct fw_calls *calls;
    (void)state;
    for (int before = 0; before < 2; before++) {
        assert_int_equal(deep_result(&calls, RTLD_DEEPBIND, before), 1001);
        assert_int_equal(deep_result(&calls, 0, before), 2);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hook_that_was_there_before),
        cmocka_unit_test(test_a_hook_that_comes_after),
        cmocka_unit_test(test_relocated_pages_that_somebody_left_writable),
#ifdef CALLS_VIRTUAL
        cmocka_unit_test(test_virtual_functions_of_other_images),
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_images_that_look_at_themselves_first),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
