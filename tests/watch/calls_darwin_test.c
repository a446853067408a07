/*
 * The call watch on Apple platforms, whole: this program's own imports (stubs, constant tables,
 * variables), a library that comes later, dlsym(), Objective-C, all kinds of arguments, signal
 * handlers, and back. What is particular to pointers is in bound_pointers_darwin_test.c.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "framewalk/calls.h"
#include "machhost/models/objc.h"
#include "watch/bound_module.h"
#include "watch/calls_target.h"

enum {
    PLAIN,
    DOUBLES,
    VARIADIC,
    STACK,
    LONG_DOUBLE,
    PAIR,
    LARGE,
    BACK,
    ADD,
    METHOD,
    ABSENT,
    NAMES
};
enum { CALLS = 11 }; /* that call_all makes, from a place each */
static const char *const names[NAMES] = {
    "target_plain",       "target_doubles",
    "target_variadic",    "target_stack",
    "target_long_double", "target_pair",
    "target_large",       "target_calls_back",
    "target_add",         "-[Derived overridden:with:]",
    "no_such_function",
};

static int (*const in_constant)(int) = target_plain;
static int (*in_data)(int) = target_plain;
static int (*const volatile *pointer_to_constant)(int) = &in_constant;

static struct fw_calls *start(void)
{
    struct fw_calls *calls = NULL;
    const struct fw_calls_options options = {
        .size = sizeof options, .names = names, .count = NAMES};
    assert_int_equal(fw_calls_start(&options, &calls), FW_OK);
    return calls;
}

static struct fw_calls_api api_of(struct fw_calls *calls, uint32_t name)
{
    struct fw_calls_api api = {.size = sizeof api};
    assert_int_equal(fw_calls_api(calls, name, &api), FW_OK);
    assert_string_equal(api.name, names[name]);
    assert_false(api.refused);
    return api;
}

static void back(void *context)
{
    ++*(int *)context;
}

static __attribute__((noinline)) void call_all(void)
{
    int called = 0;
    assert_int_equal(target_plain(41), 42);
    assert_int_equal((*pointer_to_constant)(1), 2);
    assert_int_equal(in_data(2), 3);
    assert_true(target_doubles(1, 2, 3, 4, 5, 6, 7, 8) == 204);
    assert_true(target_variadic(3, 1.5, 2.5, 3.5) == 17);
    assert_true(target_variadic(10, 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.) == 55);
    assert_int_equal(target_stack(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 385);
    assert_true(target_long_double(2.5L, 4, 0.25L) == 10.25L);
    const struct target_pair pair = target_pair(1.25, 5);
    assert_true(pair.a == 2.5 && pair.b == 15);
    const struct target_large large = target_large(100);
    assert_true(large.value[0] == 100 && large.value[11] == 111);
    target_calls_back(back, &called);
    assert_int_equal(called, 1);
}

static void all_are_counted(void **state)
{
    (void)state;
    enum { ROUNDS = 10 };
    static const unsigned each[NAMES] = {
        [PLAIN] = 3,       [DOUBLES] = 1, [VARIADIC] = 2, [STACK] = 1,
        [LONG_DOUBLE] = 1, [PAIR] = 1,    [LARGE] = 1,    [BACK] = 1};
    call_all();
    struct fw_calls *calls = start();
    for (volatile int i = 0; i < ROUNDS; i++) /* not unrolled */
        call_all();
    for (uint32_t i = 0; i < ADD; i++) {
        const struct fw_calls_api api = api_of(calls, i);
        assert_int_equal(api.calls, each[i] * ROUNDS);
        assert_int_equal(api.counted, each[i] * ROUNDS);
        assert_true(api.found && api.pointers > 0);
        assert_int_equal(api.inside, 1);
    }
    assert_false(api_of(calls, ABSENT).found);
    struct fw_calls_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_calls_totals(calls, &totals), FW_OK);
    assert_int_equal(totals.calls, CALLS * ROUNDS);
    assert_int_equal(totals.stacks, CALLS);
    fw_calls_stop(calls);
    calls = start();
    fw_calls_stop(calls);
    call_all();
}

/* The caller is the first frame, and its callers follow to the root. */
static void stacks_are_whole(void **state)
{
    (void)state;
    struct fw_calls *calls = start();
    call_all();
    for (uint32_t i = 0; i < CALLS; i++) {
        struct fw_calls_entry entry;
        Dl_info info;
        assert_int_equal(fw_calls_entry(calls, i, &entry), FW_OK);
        assert_int_equal(entry.count, 1);
        assert_int_equal(entry.stack.end, FW_END_ROOT);
        assert_int_equal(entry.stack.frames[0].kind, FW_FRAME_RETURN);
        assert_true(dladdr((void *)(uintptr_t)(entry.stack.frames[0].address - 1), &info) != 0);
        assert_string_equal(info.dli_sname, "call_all");
        assert_true(dladdr((void *)(uintptr_t)(entry.stack.frames[1].address - 1), &info) != 0);
        assert_string_equal(info.dli_sname, "stacks_are_whole");
    }
    struct fw_calls_entry beyond;
    assert_int_equal(fw_calls_entry(calls, CALLS, &beyond), FW_ERR_NOT_FOUND);
    fw_calls_stop(calls);
}

/* Loaded while it is watched, its constructor's call included; unloaded; loaded again. */
static void libraries_come_and_go(void **state)
{
    (void)state;
    struct fw_calls *calls = start();
    assert_false(api_of(calls, ADD).found);
    for (unsigned turn = 1; turn <= 3; turn++) {
        void *library = dlopen(MODULE_CHAINED, RTLD_NOW);
        assert_non_null(library);
        assert_null(dlerror()); /* functions that were not found are our affair */
        const struct bound_calls *(*find)(void);
        *(void **)&find = dlsym(library, "bound_calls");
        assert_int_equal(find()->direct(2, 3), 5);
        assert_int_equal(find()->by_table(2, 3), 5);
        assert_int_equal(api_of(calls, ADD).calls, 3 * turn);
        assert_true(api_of(calls, ADD).found);
        dlclose(library);
    }
    fw_calls_stop(calls);
}

/* What dlsym() gives out leads through the watch, and is the function itself afterwards. */
static void pointers_of_dlsym(void **state)
{
    (void)state;
    int (*before)(int), (*through)(int);
    *(void **)&before = dlsym(RTLD_DEFAULT, "target_plain");
    struct fw_calls *calls = start();
    *(void **)&through = dlsym(RTLD_DEFAULT, "target_plain");
    assert_true(through != before);
    assert_int_equal(through(4), 5);
    assert_int_equal(before(4), 5);
    assert_int_equal(api_of(calls, PLAIN).calls, 1);
    assert_null(dlsym(RTLD_DEFAULT, "no_such_function"));
    fw_calls_stop(calls);
    assert_int_equal(through(4), 5); /* it only passes on */
    *(void **)&through = dlsym(RTLD_DEFAULT, "target_plain");
    assert_true(through == before);
}

static int send(int a, int b)
{
    Class (*lookup)(const char *);
    Method *(*list)(Class, unsigned *);
    IMP (*implementation)(Method);
    unsigned count;
    *(void **)&lookup = dlsym(RTLD_DEFAULT, "objc_lookUpClass");
    *(void **)&list = dlsym(RTLD_DEFAULT, "class_copyMethodList");
    *(void **)&implementation = dlsym(RTLD_DEFAULT, "method_getImplementation");
    Method *methods = list(lookup("Derived"), &count);
    assert_int_equal(count, 1);
    return ((int (*)(void *, const void *, int, int))implementation(methods[0]))(NULL, NULL, a, b);
}

/* Classes that come by dlopen() while it is watched. */
static void methods(void **state)
{
    (void)state;
    struct fw_calls *calls = start();
    assert_false(api_of(calls, METHOD).found);
    assert_non_null(dlopen(CLASSES, RTLD_NOW | RTLD_GLOBAL));
    assert_true(api_of(calls, METHOD).found);
    assert_int_equal(api_of(calls, METHOD).pointers, 1);
    assert_int_equal(send(6, 7), 42);
    assert_int_equal(api_of(calls, METHOD).calls, 1);
    fw_calls_stop(calls);
    assert_int_equal(send(6, 7), 42);
}

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    handled += target_plain(0);
}

static void in_signal_handlers(void **state)
{
    (void)state;
    signal(SIGUSR1, on_signal);
    struct fw_calls *calls = start();
    for (int i = 0; i < 5; i++)
        raise(SIGUSR1);
    assert_int_equal(handled, 5);
    assert_int_equal(api_of(calls, PLAIN).calls, 5);
    fw_calls_stop(calls);
}

/* Functions that the watch itself calls while it works. */
static void watching_itself(void **state)
{
    (void)state;
    static const char *const own[] = {"vm_protect",  "memcpy",          "vm_region_recurse_64",
                                      "sigaltstack", "clock_gettime",   "pthread_self",
                                      "strcmp",      "mach_thread_self"};
    struct fw_calls *calls = NULL;
    const struct fw_calls_options options = {.size = sizeof options, .names = own, .count = 8};
    assert_int_equal(fw_calls_start(&options, &calls), FW_OK);
    call_all();
    void *library = dlopen(MODULE_CHAINED, RTLD_NOW);
    dlclose(library);
    struct fw_calls_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_calls_totals(calls, &totals), FW_OK);
    fw_calls_stop(calls);
    call_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_counted),
        cmocka_unit_test(stacks_are_whole),
        cmocka_unit_test(libraries_come_and_go),
        cmocka_unit_test(pointers_of_dlsym),
        cmocka_unit_test(methods),
        cmocka_unit_test(in_signal_handlers),
        cmocka_unit_test(watching_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
