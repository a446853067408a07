/* The order of versions: versions.h. */
#include "collector/versions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int order_of(const char *a, const char *a_build, int64_t a_ms, const char *b,
                    const char *b_build, int64_t b_ms)
{
    struct version_order x, y;
    version_order(a, a_build, a_ms, &x);
    version_order(b, b_build, b_ms, &y);
    int order = memcmp(x.key, y.key, x.size < y.size ? x.size : y.size);
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Every one of a list before every one behind it, though their dates say the opposite. */
static void rises(const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        for (size_t j = i + 1; list[j]; j++)
            if (order_of(list[i], "", 1000 - (int64_t)i, list[j], "", 1000 - (int64_t)j) >= 0)
                fail_msg("\"%s\" is not before \"%s\"", list[i], list[j]);
}

static void test_numbers(void **state)
{
    (void)state;
    rises((const char *const[]){"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
                                "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1",
                                NULL});
    rises((const char *const[]){"0.9", "v1.0", "1.2", "1.02.1", "1.9", "1.10", "2", "10.0", NULL});
    rises((const char *const[]){"3.1.0.9", "3.1.0.10", "3.1.0.10.1", "3.1.1.0", "3.2", NULL});
    rises((const char *const[]){"2025-12-31", "2026-01-02", "2026-11-03", "2026.11.04",
                                "2026.11.04-2", "20261105", NULL});
    rises((const char *const[]){"3.1 beta 2", "3.1rc1", "3.1", "3.1-1", "3.1-2", NULL});
    rises((const char *const[]){"beta-3.1", "3.1", "3.1-5-gabc1234", "3.1-17-g0123abc", "3.1.1",
                                NULL});
    rises((const char *const[]){"3.1b2", "3.1b10", "3.1", "99999999999999999999.0",
                                "100000000000000000000.0", NULL});
}

static void test_builds_and_dates(void **state)
{
    (void)state;
    assert_true(order_of("2.9", "900", 9, "2.9", "1207", 1) < 0);
    assert_true(order_of("2.9", "99999999999999999999999", 9, "2.9.1", "", 1) < 0);
    assert_true(order_of("2.9.0", "7", 9, "2.9", "8", 1) < 0);
    assert_true(order_of("2.9+5", "", 9, "2.9+12", "", 1) < 0);
    /* No numbers: dates. Hashes of commits are no numbers. */
    assert_true(order_of("nightly", "", 1, "main", "", 2) < 0);
    assert_true(order_of("9f3ab2c", "", 1, "0123abc", "", 2) < 0);
    assert_true(order_of("2.1", "9f3ab2c", 1, "2.1", "0123abc", 2) < 0);
    assert_true(order_of("nightly", "", 9, "1.0", "", 1) < 0);
    assert_true(order_of("", "", -5, "(other)", "", 5) < 0);
    assert_int_equal(order_of("2.1", "7", 3, "2.1.0", "7", 3), 0);
}

static struct version_order about(const char *version, const char *build)
{
    struct version_order o;
    version_order(version, build, 0, &o);
    return o;
}

static void test_lines_and_pre_releases(void **state)
{
    (void)state;
    static const char *const before[] = {"3.0.0-beta.1", "3.0b1",     "3.0 RC 2",
                                         "beta/3.0",     "3.0.0-7",   "3.0-5-gabc1234",
                                         "3.0-SNAPSHOT", "3.0.0-x64", "3.0 (TestFlight)"};
    static const char *const released[] = {"3.0",        "v3.0.0",     "3.0.0.7", "3.0-7",
                                           "2026-11-03", "3.0.0+beta", "Abc-3.0", "3.0 Pro"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (!about(before[i], "").prerelease)
            fail_msg("\"%s\" is a release", before[i]);
    for (size_t i = 0; i + 1 < sizeof released / sizeof *released; i++)
        if (i != 5 && about(released[i], "").prerelease)
            fail_msg("\"%s\" is no release", released[i]);
    assert_true(about("3.0", "12-beta").prerelease);
    assert_string_equal(about("shop-3.0", "").line, "shop");
    assert_string_equal(about("Helper Tool v3.0", "").line, "helper-tool");
    assert_string_equal(about("v3.0", "").line, "");
    assert_string_equal(about("shop-beta-3.0", "").line, "shop");
    assert_false(about("deadbeef12", "").numbered);
    assert_true(about("20261103", "").numbered);
}

static void test_beside(void **state)
{
    (void)state;
    assert_int_equal(version_beside("2.2.0", "1", 0, "2.2.0", "", INT64_MAX), 0);
    assert_int_equal(version_beside("2.2", "1", 0, "2.2.0", "", INT64_MAX), 0);
    assert_int_equal(version_beside("2.10", "", 0, "2.2.0", "", INT64_MAX), 1);
    assert_int_equal(version_beside("2.1.9", "999", 0, "2.2.0", "", INT64_MAX), -1);
    assert_int_equal(version_beside("2.2.0-beta.1", "", 0, "2.2.0", "", INT64_MAX), -1);
    assert_int_equal(version_beside("2.2.0", "8", 0, "2.2.0", "7", INT64_MAX), 1);
    assert_int_equal(version_beside("2.2.0", "7", 0, "2.2", "7", INT64_MAX), 0);
    assert_int_equal(version_beside("2.2.0", "6", 0, "2.2.0", "7", INT64_MAX), -1);
    assert_int_equal(version_beside("helper-9.0", "", 0, "2.2.0", "", INT64_MAX), -1);
    assert_int_equal(version_beside("nightly", "", 9, "2.2.0", "", INT64_MAX), -1);
    assert_int_equal(version_beside("abcdef1", "", 9, "fedcba2", "", 5), 1);
    assert_int_equal(version_beside("abcdef1", "", 9, "fedcba2", "", INT64_MAX), -1);
    assert_int_equal(version_beside("fedcba2", "", 9, "fedcba2", "", INT64_MAX), 0);
    assert_int_equal(version_beside("2.2", "abcdef1", 9, "2.2", "fedcba2", 5), 1);
    assert_int_equal(version_beside("2.2", "abcdef1", 4, "2.2", "fedcba2", 5), -1);
}

static void test_split(void **state)
{
    (void)state;
    char version[256], build[256], longest[600];
    assert_true(version_split("2.1 (7)", version, build));
    assert_string_equal(version, "2.1");
    assert_string_equal(build, "7");
    assert_true(version_split("2.1 (x) (7)", version, build));
    assert_string_equal(version, "2.1 (x)");
    assert_true(version_split("(other)", version, build));
    assert_string_equal(version, "(other)");
    assert_string_equal(build, "");
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    assert_false(version_split(longest, version, build));
    assert_false(version_split("", version, build));
}

/* Any bytes make a key that fits, and the order is one: no cycles. */
static int by_key(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return order_of(*x, "", 0, *y, "", 0);
}

static void test_garbage(void **state)
{
    (void)state;
    enum { COUNT = 300, MOST = 300 };
    static char texts[COUNT][MOST];
    static const char alphabet[] = "0019.-_+ abvrcgf(\xff\xc3";
    const char *list[COUNT];
    uint32_t random = 7;
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = i % 7 ? i % 12 : MOST - 1;
        for (size_t j = 0; j < size; j++) {
            random = random * 1664525 + 1013904223;
            texts[i][j] = alphabet[(random >> 16) % (sizeof alphabet - 1)];
        }
        list[i] = texts[i];
        assert_true(about(texts[i], texts[i]).size <= VERSION_KEY_SIZE);
    }
    qsort(list, COUNT, sizeof *list, by_key);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = i; j < COUNT; j++)
            assert_true(order_of(list[i], "", 0, list[j], "", 0) <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_builds_and_dates),
        cmocka_unit_test(test_lines_and_pre_releases),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
