/*
 * Imported pointers of Mach-O images led away and back (src/watch/bound_pointers_darwin.c): real
 * dylibs with lazy binding and with chained fixups. What pointers are led to stands in for the
 * thunks: it counts and goes on.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mach-o/dyld.h>
#include <mach/mach.h>

#include <cmocka.h>

#include "machhost/host.h"
#include "watch/bound_module.h"
#include "watch/pointers.h"

enum { TARGETS = 8, ADD = 0, MIXED, ABSENT, NAMES };
static const char *const names[NAMES] = {"target_add", "target_mixed", "nobody_has_this"};

/* The owner: one piece of code for each function that pointers led to. */
static struct {
    uint32_t name;
    uintptr_t target;
} given[TARGETS];
static unsigned given_count, calls;

#define SPY(n)                                                                                     \
    static int spy_##n(int a, int b)                                                               \
    {                                                                                              \
        calls++;                                                                                   \
        return ((int (*)(int, int))given[n].target)(a, b);                                         \
    }
SPY(0)
SPY(1)
SPY(2)
static double spy_mixed(int a, double b, const char *c, long d, int e, int f, int g, double h,
                        int i)
{
    calls++;
    for (unsigned n = 0; n < given_count; n++)
        if (given[n].name == MIXED)
            return (
                (double (*)(int, double, const char *, long, int, int, int, double, int))given[n]
                    .target)(a, b, c, d, e, f, g, h, i);
    return 0;
}
/* Not in a segment of data, where they would be led back. */
static int (*spies[])(int, int) __attribute__((section("__OTHER,__spies"))) = {spy_0, spy_1, spy_2};
static double (*spies_mixed[])(int, double, const char *, long, int, int, int, double, int)
    __attribute__((section("__OTHER,__spies"))) = {spy_mixed};

static uintptr_t code_of(unsigned n)
{
    return given[n].name == MIXED ? (uintptr_t)spies_mixed[0] : (uintptr_t)spies[n];
}

static uintptr_t lead(void *context, uint32_t name, uintptr_t target)
{
    (void)context;
    unsigned n = 0;
    while (n < given_count && (given[n].name != name || given[n].target != target))
        n++;
    if (n == 3)
        return 0;
    given[n].name = name;
    given[n].target = target;
    given_count += n == given_count;
    return code_of(n);
}

static uintptr_t led(void *context, uintptr_t pointer)
{
    (void)context;
    for (unsigned n = 0; n < given_count; n++)
        if (code_of(n) == pointer)
            return given[n].target;
    return 0;
}

static struct pointers *start(void)
{
    static const struct pointers_owner owner = {names, NAMES, lead, led, NULL};
    given_count = calls = 0;
    struct pointers *pointers = pointers_create(&owner);
    assert_non_null(pointers);
    pointers_refresh(pointers);
    return pointers;
}

static const struct bound_calls *load(const char *path, void **library)
{
    *library = dlopen(path, RTLD_NOW);
    if (!*library)
        fail_msg("%s", dlerror());
    const struct bound_calls *(*find)(void);
    *(void **)&find = dlsym(*library, "bound_calls");
    assert_non_null(find);
    return find();
}

static struct pointers_count count_of(struct pointers *pointers, uint32_t name)
{
    struct pointers_count count = {0};
    pointers_count(pointers, name, &count);
    return count;
}

/* The protection of each page of the image's segments of data. */
static unsigned protections(const void *code, vm_prot_t *pages, unsigned room)
{
    Dl_info info;
    assert_true(dladdr(code, &info) != 0);
    const struct mach_header_64 *header = info.dli_fbase;
    const struct load_command *command = (const void *)(header + 1);
    unsigned count = 0;
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)command;
        command = (const void *)((const char *)command + command->cmdsize);
        if (segment->cmd != LC_SEGMENT_64 || strncmp(segment->segname, "__DATA", 6) != 0)
            continue;
        vm_address_t address = (vm_address_t)header + segment->vmaddr;
        for (uint64_t at = 0; at < segment->vmsize && count < room; at += vm_page_size) {
            vm_address_t start = address + at;
            vm_size_t size;
            natural_t depth = 0;
            struct vm_region_submap_short_info_64 region;
            mach_msg_type_number_t words = VM_REGION_SUBMAP_SHORT_INFO_COUNT_64;
            assert_int_equal(vm_region_recurse_64(mach_task_self(), &start, &size, &depth,
                                                  (vm_region_recurse_info_t)&region, &words),
                             KERN_SUCCESS);
            pages[count++] = region.protection;
        }
    }
    return count;
}

static void expect_led(const struct bound_calls *bound, unsigned each)
{
    calls = 0;
    assert_int_equal(bound->direct(2, 3), 5);
    assert_int_equal(calls, each);
    assert_int_equal(bound->by_table(4, 5), 9);
    assert_int_equal(calls, 2 * each);
    assert_int_equal(bound->by_variable(6, 7), 13);
    assert_int_equal(calls, 3 * each);
    const double expected = 1 + 0.5 + 'a' + 1e12 + 2 + 3 + 4 + 0.25 + 5;
    assert_true(bound->mixed() == expected);
    assert_int_equal(calls, 4 * each);
}

/* Images that are there, and back. */
static void there(const char *path)
{
    enum { PAGES = 64 };
    vm_prot_t before[PAGES], after[PAGES];
    void *library;
    const struct bound_calls *bound = load(path, &library);
    const unsigned pages = protections(bound, before, PAGES);
    assert_true(pages > 0);
    expect_led(bound, 0);
    struct pointers *pointers = start();
    expect_led(bound, 1);
    assert_int_equal(bound->in_constructor(), 2);
    const struct pointers_count add = count_of(pointers, ADD), mixed = count_of(pointers, MIXED);
    assert_true(add.pointers >= 3); /* stub, table, variable, and perhaps one for the address */
    assert_true(add.found && !add.refused);
    assert_int_equal(add.inside, 1);
    assert_int_equal(mixed.pointers, 1);
    const struct pointers_count absent = count_of(pointers, ABSENT);
    assert_false(absent.found);
    assert_int_equal(absent.pointers, 0);
    assert_int_equal(protections(bound, after, PAGES), pages);
    assert_memory_equal(before, after, pages * sizeof before[0]);
    pointers_refresh(pointers); /* nothing new */
    expect_led(bound, 1);
    assert_int_equal(count_of(pointers, ADD).pointers, add.pointers);
    pointers_restore(pointers);
    expect_led(bound, 0);
    assert_int_equal(count_of(pointers, ADD).pointers, 0);
    assert_int_equal(protections(bound, after, PAGES), pages);
    assert_memory_equal(before, after, pages * sizeof before[0]);
    pointers_destroy(pointers);
    dlclose(library);
}

static void lazy_there(void **state)
{
    (void)state;
    there(MODULE_LAZY);
}

static void chained_there(void **state)
{
    (void)state;
    there(MODULE_CHAINED);
}

/* An image that comes later: led before its constructor runs; one that goes away. */
static void later(const char *path)
{
    struct pointers *pointers = start();
    assert_false(count_of(pointers, ADD).found);
    for (int turn = 0; turn < 3; turn++) {
        void *library;
        calls = 0;
        const struct bound_calls *bound = load(path, &library);
        assert_int_equal(calls, 1); /* the constructor's */
        expect_led(bound, 1);
        assert_true(count_of(pointers, ADD).pointers >= 3);
        dlclose(library);
        assert_int_equal(count_of(pointers, ADD).pointers, 0);
        given_count = 0; /* the target is gone as well */
        pointers_restore(pointers);
        pointers_destroy(pointers);
        pointers = start();
    }
    void *library;
    const struct bound_calls *bound = load(path, &library);
    pointers_restore(pointers);
    expect_led(bound, 0);
    pointers_destroy(pointers);
    dlclose(library);
    bound = load(path, &library); /* nobody listens any more */
    expect_led(bound, 0);
    dlclose(library);
}

static void lazy_later(void **state)
{
    (void)state;
    later(MODULE_LAZY);
}

static void chained_later(void **state)
{
    (void)state;
    later(MODULE_CHAINED);
}

static const struct section_64 *section_of(const void *code, const char *name)
{
    Dl_info info;
    assert_true(dladdr(code, &info) != 0);
    const struct mach_header_64 *header = info.dli_fbase;
    const struct load_command *command = (const void *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)command;
        command = (const void *)((const char *)command + command->cmdsize);
        const struct section_64 *sections = (const void *)(segment + 1);
        for (uint32_t s = 0; segment->cmd == LC_SEGMENT_64 && s < segment->nsects; s++)
            if (strncmp(sections[s].sectname, name, 16) == 0)
                return &sections[s];
    }
    return NULL;
}

static uintptr_t base_of(const void *code)
{
    Dl_info info;
    assert_true(dladdr(code, &info) != 0);
    return (uintptr_t)info.dli_fbase;
}

/* As dyld leaves a lazy pointer that nobody has called through yet. */
static void not_bound_yet(void **state)
{
    (void)state;
    void *library;
    const struct bound_calls *bound = load(MODULE_LAZY, &library);
    const struct section_64 *lazy = section_of(bound, "__la_symbol_ptr");
    const struct section_64 *helper = section_of(bound, "__stub_helper");
    assert_non_null(lazy);
    assert_non_null(helper);
    uintptr_t *slots = (uintptr_t *)(base_of(bound) + lazy->addr), *found = NULL;
    for (uint64_t i = 0; i < lazy->size / sizeof *slots; i++)
        if (slots[i] == (uintptr_t)dlsym(RTLD_DEFAULT, "target_add"))
            found = &slots[i];
    assert_non_null(found);
    *found = base_of(bound) + helper->addr + 16;
    struct pointers *pointers = start();
    expect_led(bound, 1);
    pointers_restore(pointers);
    expect_led(bound, 0);
    pointers_destroy(pointers);
    dlclose(library);
}

static int foreign_calls;
static int (*foreign_goes_on)(int, int);
static int foreign(int a, int b)
{
    foreign_calls++;
    return foreign_goes_on(a, b);
}

/* Somebody has replaced a pointer before: it is gone on to, and is there again afterwards. Somebody
 * replaces one while it is led: it stays. */
static void others_replace_too(void **state)
{
    (void)state;
    void *library;
    const struct bound_calls *bound = load(MODULE_LAZY, &library);
    const struct section_64 *lazy = section_of(bound, "__la_symbol_ptr");
    uintptr_t *slots = (uintptr_t *)(base_of(bound) + lazy->addr), *found = NULL;
    *(void **)&foreign_goes_on = dlsym(RTLD_DEFAULT, "target_add");
    for (uint64_t i = 0; i < lazy->size / sizeof *slots; i++)
        if (slots[i] == (uintptr_t)foreign_goes_on)
            found = &slots[i];
    assert_non_null(found);
    *found = (uintptr_t)foreign;
    foreign_calls = 0;
    struct pointers *pointers = start();
    expect_led(bound, 1);
    assert_int_equal(foreign_calls, 1);
    pointers_restore(pointers);
    assert_int_equal(*found, (uintptr_t)foreign);
    pointers_destroy(pointers);

    pointers = start();
    *(uintptr_t *)&foreign_goes_on = *found;
    *found = (uintptr_t)foreign;
    pointers_restore(pointers);
    assert_int_equal(*found, (uintptr_t)foreign);
    pointers_destroy(pointers);
    *found = (uintptr_t)dlsym(RTLD_DEFAULT, "target_add");
    dlclose(library);
}

/* Where the system does not let us write: said, and everything else goes on. */
static void refused(void **state)
{
    (void)state;
    void *library;
    const struct bound_calls *bound = load(MODULE_CHAINED, &library);
    machhost_fail_all("vm_protect", KERN_PROTECTION_FAILURE);
    struct pointers *pointers = start();
    machhost_fail_all("vm_protect", 0);
    assert_true(count_of(pointers, ADD).refused);
    assert_int_equal(bound->direct(2, 3), 5);
    assert_int_equal(bound->by_variable(6, 7), 13);
    pointers_restore(pointers);
    expect_led(bound, 0);
    pointers_destroy(pointers);
    dlclose(library);
}

/* More functions of watched names than there are thunks. */
static void no_thunk_left(void **state)
{
    (void)state;
    void *library;
    const struct bound_calls *bound = load(MODULE_CHAINED, &library);
    static const struct pointers_owner owner = {names, NAMES, lead, led, NULL};
    struct pointers *pointers = pointers_create(&owner);
    for (given_count = 0; given_count < 3; given_count++)
        given[given_count].name = ABSENT;
    pointers_refresh(pointers);
    assert_true(count_of(pointers, ADD).refused);
    expect_led(bound, 0);
    pointers_restore(pointers);
    pointers_destroy(pointers);
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lazy_there),    cmocka_unit_test(chained_there),
        cmocka_unit_test(lazy_later),    cmocka_unit_test(chained_later),
        cmocka_unit_test(not_bound_yet), cmocka_unit_test(others_replace_too),
        cmocka_unit_test(refused),       cmocka_unit_test(no_thunk_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
