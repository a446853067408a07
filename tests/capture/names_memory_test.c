/* Names in process when memory runs out at any point: an error or the whole answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "framewalk/names.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating),
        cmocka_unit_test(refreshing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
