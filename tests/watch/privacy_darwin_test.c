/*
 * Groups of names (src/watch/calls_groups_darwin.c): what they stand for, and that functions,
 * methods and properties of them are watched.
 */
#include <dlfcn.h>
#include <mach/mach_time.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "framewalk/calls.h"
#include "machhost/models/objc.h"
#include "watch/privacy.h"

static fw_error start(const char *const *names, size_t count, struct fw_calls **calls)
{
    const struct fw_calls_options options = {
        .size = sizeof options, .names = names, .count = count};
    return fw_calls_start(&options, calls);
}

static struct fw_calls *start_one(const char *name)
{
    struct fw_calls *calls = NULL;
    assert_int_equal(start(&name, 1, &calls), FW_OK);
    return calls;
}

/* Names that are watched, in their order; how many. */
static uint32_t list(struct fw_calls *calls, const char *names[FW_CALLS_NAMES])
{
    struct fw_calls_api api = {.size = sizeof api};
    uint32_t count = 0;
    while (fw_calls_api(calls, count, &api) == FW_OK)
        names[count++] = api.name;
    return count;
}

static bool api_of(struct fw_calls *calls, const char *name, struct fw_calls_api *api)
{
    *api = (struct fw_calls_api){.size = sizeof *api};
    for (uint32_t i = 0; fw_calls_api(calls, i, api) == FW_OK; i++)
        if (strcmp(api->name, name) == 0)
            return true;
    return false;
}

static bool is_watched(struct fw_calls *calls, const char *name)
{
    struct fw_calls_api api;
    return api_of(calls, name, &api);
}

static void each_group_is_what_the_list_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < privacy_group_count; i++) {
        const struct privacy_group *group = &privacy_groups[i];
        const char *names[FW_CALLS_NAMES];
        char name[64];
        bool by_key;
        snprintf(name, sizeof name, "@privacy.%s", group->name);
        assert_non_null(strstr(fw_calls_groups(), name));
        struct fw_calls *calls = start_one(name);
        const uint32_t count = list(calls, names);
        uint32_t wanted = 0;
        for (const char *const *at = group->calls; *at; at++, wanted++)
            assert_true(is_watched(calls, *at));
        for (const char *const *at = group->by_key; *at; at++, wanted++)
            assert_true(is_watched(calls, *at) && privacy_has(group, *at, &by_key) && by_key);
        assert_true(wanted > 0);
        assert_int_equal(count, wanted);
        fw_calls_stop(calls);
    }
}

/* All groups are within the limit, and a function of two of them is one name. */
static void all_groups_at_once(void **state)
{
    (void)state;
    const char *names[FW_CALLS_NAMES];
    const char *const wanted[] = {"target_none", "stat", "@privacy", "@privacy.disk-space"};
    struct fw_calls *calls = NULL;
    assert_int_equal(start(wanted, 4, &calls), FW_OK);
    const uint32_t count = list(calls, names);
    assert_string_equal(names[0], "target_none");
    assert_string_equal(names[1], "stat");
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
    for (size_t i = 0; i < privacy_group_count; i++)
        assert_true(is_watched(calls, privacy_groups[i].calls[0]));
    assert_false(is_watched(calls, "NSFileCreationDate")); /* data: no pointer to it is led away */
    fw_calls_stop(calls);
}

static void groups_that_are_not_there(void **state)
{
    (void)state;
    static const char *const absent[] = {
        "@privacy.", "@privacy.disk", "@privacy-disk-space", "@privacys", "@",
        "@files",    "@Privacy",      "@privacy.disk-space "};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        struct fw_calls *calls = NULL;
        assert_int_equal(start(&absent[i], 1, &calls), FW_ERR_NOT_FOUND);
        assert_null(calls);
    }
    const char *many[FW_CALLS_NAMES];
    static char own[FW_CALLS_NAMES][8];
    for (size_t i = 0; i + 1 < FW_CALLS_NAMES; i++) {
        snprintf(own[i], sizeof own[i], "f%zu", i);
        many[i] = own[i];
    }
    many[FW_CALLS_NAMES - 1] = "@privacy.disk-space";
    struct fw_calls *calls = NULL;
    assert_int_equal(start(many, FW_CALLS_NAMES, &calls), FW_ERR_ARGUMENT);
    const char *date = NULL;
    assert_true(fw_calls_groups_version(&date) > 0);
    assert_int_equal(strlen(date), strlen("2026-01-01"));
    assert_int_equal(fw_calls_groups_version(NULL), privacy_version);
}

static IMP implementation_of(void *class, const char *selector)
{
    unsigned count = 0;
    Method *methods = class_copyMethodList(class, &count);
    for (unsigned i = 0; i < count; i++)
        if (method_getName(methods[i]) == sel_registerName(selector))
            return method_getImplementation(methods[i]);
    return NULL;
}

static void is_counted(struct fw_calls *calls, const char *name, uint64_t times)
{
    struct fw_calls_api api;
    assert_true(api_of(calls, name, &api));
    assert_true(api.found && !api.refused && api.pointers > 0);
    assert_int_equal(api.calls, times);
}

static void functions_methods_and_properties(void **state)
{
    (void)state;
    assert_non_null(dlopen(CLASSES, RTLD_NOW));
    struct fw_calls *calls = start_one("@privacy");
    void *defaults = objc_lookUpClass("NSUserDefaults"), *document = objc_lookUpClass("UIDocument"),
         *mode = object_getClass(objc_lookUpClass("UITextInputMode"));
    assert_int_equal(((int (*)(void *, SEL, int))implementation_of(defaults, "boolForKey:"))(
                         NULL, sel_registerName("boolForKey:"), 7),
                     8);
    assert_int_equal(((int (*)(void *, SEL))implementation_of(document, "fileModificationDate"))(
                         NULL, sel_registerName("fileModificationDate")),
                     42);
    for (int i = 0; i < 2; i++)
        assert_int_equal(((int (*)(void *, SEL))implementation_of(mode, "activeInputModes"))(
                             NULL, sel_registerName("activeInputModes")),
                         2);
    is_counted(calls, "-[NSUserDefaults boolForKey:]", 1);
    is_counted(calls, "-[UIDocument fileModificationDate]", 1);
    is_counted(calls, "+[UITextInputMode activeInputModes]", 2);
    fw_calls_stop(calls);

    calls = start_one("@privacy.system-boot-time");
    assert_true(mach_absolute_time() > 0);
    struct fw_calls_api api;
    assert_true(api_of(calls, "mach_absolute_time", &api));
    assert_true(api.pointers > 0 && api.calls > 0);
    assert_false(is_watched(calls, "-[NSUserDefaults boolForKey:]"));
    fw_calls_stop(calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_is_what_the_list_says),
        cmocka_unit_test(all_groups_at_once),
        cmocka_unit_test(groups_that_are_not_there),
        cmocka_unit_test(functions_methods_and_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
