/*
 * A stand-in for cmocka on targets for which Debian's cross packages have none (aarch64, armv7,
 * i386): the assertions and the group runner that our tests use, with cmocka's names and meaning.
 * On the build machine itself the real library is used, so a test that compiles only here is wrong.
 *
 * Invariant: a failing or skipping test leaves by longjmp to the runner, on the thread that runs
 * it.
 */
#ifndef TESTS_SUPPORT_CMOCKA_H
#define TESTS_SUPPORT_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func;
    CMFixtureFunction teardown_func;
    void *initial_state;
};

enum { CM_FAILED = 1, CM_SKIPPED = 2 };
static jmp_buf cm_leave;

#define cmocka_unit_test(f)                                          {#f, f, NULL, NULL, NULL}
#define cmocka_unit_test_setup(f, up)                                {#f, f, up, NULL, NULL}
#define cmocka_unit_test_teardown(f, down)                           {#f, f, NULL, down, NULL}
#define cmocka_unit_test_setup_teardown(f, up, down)                 {#f, f, up, down, NULL}
#define cmocka_unit_test_prestate(f, state)                          {#f, f, NULL, NULL, state}
#define cmocka_unit_test_prestate_setup_teardown(f, up, down, state) {#f, f, up, down, state}

#define print_message(...) printf(__VA_ARGS__)
#define print_error(...)   fprintf(stderr, __VA_ARGS__)

#define skip() longjmp(cm_leave, CM_SKIPPED)
#define fail_msg(...)                                                                              \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        longjmp(cm_leave, CM_FAILED);                                                              \
    } while (0)
#define fail() fail_msg("failed")

#define cm_check(condition, ...)                                                                   \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg(__VA_ARGS__);                                                                 \
    } while (0)
#define cm_compare(a, op, b)                                                                       \
    do {                                                                                           \
        const uintmax_t cm_a = (uintmax_t)(a), cm_b = (uintmax_t)(b);                              \
        cm_check(cm_a op cm_b, "%s %s %s: 0x%jx and 0x%jx", #a, #op, #b, cm_a, cm_b);              \
    } while (0)

#define assert_true(c)             cm_check((c), "%s is false", #c)
#define assert_false(c)            cm_check(!(c), "%s is true", #c)
#define assert_null(p)             cm_check((p) == NULL, "%s is not NULL", #p)
#define assert_non_null(p)         cm_check((p) != NULL, "%s is NULL", #p)
#define assert_ptr_equal(a, b)     cm_compare((uintptr_t)(a), ==, (uintptr_t)(b))
#define assert_ptr_not_equal(a, b) cm_compare((uintptr_t)(a), !=, (uintptr_t)(b))
#define assert_int_equal(a, b)     cm_compare(a, ==, b)
#define assert_int_not_equal(a, b) cm_compare(a, !=, b)
#define assert_in_range(v, low, high)                                                              \
    do {                                                                                           \
        cm_compare(v, >=, low);                                                                    \
        cm_compare(v, <=, high);                                                                   \
    } while (0)
#define assert_not_in_range(v, low, high)                                                          \
    cm_check((uintmax_t)(v) < (uintmax_t)(low) || (uintmax_t)(v) > (uintmax_t)(high),              \
             "%s is within %s and %s", #v, #low, #high)
#define assert_return_code(rc, error) cm_check((rc) >= 0, "%s failed: %d", #rc, (int)(error))

static inline bool cm_same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

#define assert_string_equal(a, b)                                                                  \
    do {                                                                                           \
        const char *cm_s = (a), *cm_t = (b);                                                       \
        cm_check(cm_same_text(cm_s, cm_t), "\"%s\" is not \"%s\"", cm_s ? cm_s : "(null)",         \
                 cm_t ? cm_t : "(null)");                                                          \
    } while (0)
#define assert_string_not_equal(a, b) cm_check(!cm_same_text((a), (b)), "both are \"%s\"", (a))
#define assert_memory_equal(a, b, size)                                                            \
    cm_check(memcmp((a), (b), (size)) == 0, "%s and %s differ", #a, #b)
#define assert_memory_not_equal(a, b, size)                                                        \
    cm_check(memcmp((a), (b), (size)) != 0, "%s and %s are the same", #a, #b)

static inline int cm_run_one(const struct CMUnitTest *test, void *group_state)
{
    void *state = test->initial_state ? test->initial_state : group_state;
    if (test->setup_func && test->setup_func(&state) != 0) {
        fprintf(stderr, "[  ERROR   ] %s: setup\n", test->name);
        return CM_FAILED;
    }
    const int result = setjmp(cm_leave);
    if (result == 0)
        test->test_func(&state);
    if (test->teardown_func && test->teardown_func(&state) != 0)
        return CM_FAILED;
    return result;
}

static inline int cm_run_group(const struct CMUnitTest *tests, size_t count, CMFixtureFunction up,
                               CMFixtureFunction down)
{
    static const char *const words[] = {"       OK", "  FAILED ", " SKIPPED "};
    void *state = NULL;
    int failures = 0;
    if (up && up(&state) != 0) {
        fprintf(stderr, "[  ERROR   ] group setup\n");
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        const int result = cm_run_one(&tests[i], state);
        printf("[%s ] %s\n", words[result], tests[i].name);
        failures += result == CM_FAILED;
    }
    if (down && down(&state) != 0)
        failures++;
    return failures;
}

#define cmocka_run_group_tests(tests, up, down)                                                    \
    cm_run_group(tests, sizeof(tests) / sizeof((tests)[0]), up, down)
#define cmocka_run_group_tests_name(name, tests, up, down) cmocka_run_group_tests(tests, up, down)

#endif
