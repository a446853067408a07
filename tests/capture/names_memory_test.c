/* Names in process when memory runs out at any point: an error or the whole answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "capture/names_refresh.h"
#include "support/alloc_fail.h"

void named_in_the_executable(void);
void named_in_the_executable(void)
{
    __asm__ volatile("");
}

static void expect_name(const struct fw_names *names, uintptr_t address, const char *function)
{
    struct fw_frame frame = {.address = address};
    struct fw_name name;
    assert_int_equal(fw_names_lookup(names, &frame, &name), FW_OK);
    assert_non_null(name.function);
    assert_string_equal(name.function, function);
}

static void expect_names(const struct fw_names *names)
{
    expect_name(names, (uintptr_t)named_in_the_executable, "named_in_the_executable");
    expect_name(names, (uintptr_t)qsort, "qsort");
}

static bool create(void *unused)
{
    (void)unused;
    struct fw_names *names = (struct fw_names *)(uintptr_t)1;
    fw_error error = fw_names_create(&names);
    if (error == FW_OK)
        expect_names(names);
    else
        assert_null(names);
    fw_names_destroy(error == FW_OK ? names : NULL);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    return error == FW_OK;
}

static void creating(void **state)
{
    (void)state;
    assert_true(alloc_fail_each(create, NULL) > 10);
}

/* A refresh that fails leaves what was there. */
static bool refresh(void *unused)
{
    (void)unused;
    struct fw_names *names;
    alloc_fail_pause();
    assert_int_equal(fw_names_create(&names), FW_OK);
    alloc_fail_resume();
    fw_error error = fw_names_refresh(names);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    expect_names(names);
    fw_names_destroy(names);
    return error == FW_OK;
}

static void refreshing(void **state)
{
    (void)state;
    assert_true(alloc_fail_each(refresh, NULL) > 0);
}

static bool list_images(struct fw_names *names)
{
    struct names_list now = {0};
    if (names_source_list(&now))
        return names_adopt(names, &now) == FW_OK;
    names_list_free(&now);
    return false;
}

/* A lazy index reads the symbols of images that are asked for, and of no others; what failed is
 * read when there is memory again. */
static bool learn(void *unused)
{
    (void)unused;
    const struct fw_frame ours = {.address = (uintptr_t)named_in_the_executable};
    const struct fw_frame libc = {.address = (uintptr_t)qsort};
    struct fw_name name;
    alloc_fail_pause();
    struct fw_names *names = names_empty(true);
    assert_non_null(names);
    assert_true(list_images(names));
    alloc_fail_resume();
    assert_false(names_knows(names, &ours, 1));
    assert_true(names_knows(names, &ours, 0));
    const uint64_t changes = names_changes(names), generation = fw_names_generation(names);
    const bool learnt = names_learn(names, &ours, 1);
    alloc_fail_pause();
    if (!learnt) {
        assert_true(fw_names_outdated(names));
        assert_true(list_images(names));
        assert_true(names_learn(names, &ours, 1));
    } else {
        assert_int_equal(fw_names_generation(names), generation);
    }
    assert_int_equal(names_changes(names), changes);
    assert_true(names_knows(names, &ours, 1));
    expect_name(names, (uintptr_t)named_in_the_executable, "named_in_the_executable");
    assert_false(names_knows(names, &libc, 1));
    assert_int_equal(fw_names_lookup(names, &libc, &name), FW_OK);
    assert_non_null(name.image);
    assert_null(name.function);
    fw_names_destroy(names);
    alloc_fail_resume();
    return learnt;
}

static void learning(void **state)
{
    (void)state;
    assert_true(alloc_fail_each(learn, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating),
        cmocka_unit_test(refreshing),
        cmocka_unit_test(learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
