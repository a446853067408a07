/* Which waits are the loop's: sequences of waits as real programs make them. */
#include "watch/agent/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
    LOOP_SITE = 0x1000,
    OTHER_SITE = 0x2000,
    OUTER = 0x7fff8000,
    LOOP_SP = 0x7fff0000,
    INNER = 0x7ffe0000,
    FIRST_CALLER = 0x5000,
    OTHER_CALLER = 0x6000,
};

static uintptr_t caller_now;

static uintptr_t canned_caller(void)
{
    return caller_now;
}

static enum loop_wait wait_on(struct loop *loop, uintptr_t site, uintptr_t sp, int object)
{
    struct loop_place place = {.site = site, .sp = sp, .object = object};
    return loop_wait(loop, &place, false);
}

static enum loop_wait wait_at(struct loop *loop, uintptr_t site, uintptr_t sp)
{
    return wait_on(loop, site, sp, -1);
}

static enum loop_wait look_at(struct loop *loop, uintptr_t site, uintptr_t sp)
{
    struct loop_place place = {.site = site, .sp = sp, .object = -1};
    return loop_wait(loop, &place, true);
}

static struct loop settled(void)
{
    struct loop loop = {.caller = canned_caller};
    caller_now = FIRST_CALLER;
    for (int i = 0; i < 100; i++)
        assert_int_equal(wait_on(&loop, LOOP_SITE, LOOP_SP, 5), LOOP_IDLE);
    assert_true(loop_is_settled(&loop));
    return loop;
}

static void test_blocking_wait_is_inside(void **state)
{
    (void)state;
    struct loop loop = settled();
    for (int i = 0; i < 20; i++)
        assert_int_equal(wait_at(&loop, OTHER_SITE, INNER), LOOP_INSIDE);
    assert_int_equal(wait_on(&loop, LOOP_SITE, LOOP_SP, 5), LOOP_IDLE);
}

static void test_nested_loop_is_idle(void **state)
{
    (void)state;
    struct loop loop = settled();
    assert_int_equal(wait_on(&loop, LOOP_SITE, INNER, 5), LOOP_IDLE);
    /* a library's own function around poll(), called from elsewhere */
    caller_now = OTHER_CALLER;
    assert_int_equal(wait_on(&loop, LOOP_SITE, INNER, 5), LOOP_INSIDE);
    /* another descriptor: libuv's loop for a synchronous child */
    caller_now = FIRST_CALLER;
    assert_int_equal(wait_on(&loop, LOOP_SITE, INNER, 6), LOOP_INSIDE);
    assert_int_equal(wait_on(&loop, LOOP_SITE, LOOP_SP, 5), LOOP_IDLE);
}

static bool all_alike(uintptr_t a, uintptr_t b)
{
    (void)a, (void)b;
    return true;
}

static void test_callers_that_are_alike(void **state)
{
    (void)state;
    struct loop loop = settled();
    loop.alike = all_alike;
    caller_now = OTHER_CALLER;
    assert_int_equal(wait_on(&loop, LOOP_SITE, INNER, 5), LOOP_IDLE);
}

static void test_program_start(void **state)
{
    (void)state;
    struct loop loop = {.caller = canned_caller};
    /* a DNS query in main, further out than the loop will be */
    assert_int_equal(wait_at(&loop, OTHER_SITE, OUTER), LOOP_IDLE);
    assert_int_equal(wait_at(&loop, OTHER_SITE, OUTER), LOOP_IDLE);
    for (int i = 0; i < 20; i++)
        assert_int_equal(wait_at(&loop, LOOP_SITE, LOOP_SP), LOOP_IDLE);
    assert_true(loop_is_settled(&loop));
    assert_int_equal(wait_at(&loop, OTHER_SITE, INNER), LOOP_INSIDE);
}

static void test_another_loop_after_the_first(void **state)
{
    (void)state;
    struct loop loop = settled();
    int inside = 0;
    while (wait_at(&loop, OTHER_SITE, INNER) == LOOP_INSIDE)
        inside++;
    assert_int_equal(inside, LOOP_OLD - 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(wait_at(&loop, OTHER_SITE, INNER), LOOP_IDLE);
    /* the old one comes back: it is further out */
    assert_int_equal(wait_on(&loop, LOOP_SITE, LOOP_SP, 5), LOOP_IDLE);
    assert_false(loop_is_settled(&loop));
}

static void test_challenger_must_be_alone(void **state)
{
    (void)state;
    struct loop loop = settled();
    for (int i = 0; i < 1000; i++) { /* one blocking wait each turn, for ever */
        assert_int_equal(wait_at(&loop, OTHER_SITE, INNER), LOOP_INSIDE);
        assert_int_equal(wait_on(&loop, LOOP_SITE, LOOP_SP, 5), LOOP_IDLE);
    }
    for (int i = 0; i < 1000; i++) /* or many, from different depths */
        assert_int_equal(wait_at(&loop, OTHER_SITE, INNER - 16 * (uintptr_t)(i % 2)), LOOP_INSIDE);
}

static bool in_handler(void)
{
    return true;
}

static void test_handler_is_no_loop(void **state)
{
    (void)state;
    struct loop loop = settled();
    loop.in_handler = in_handler;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(wait_at(&loop, OTHER_SITE, INNER), LOOP_INSIDE);
}

static void test_zero_waits(void **state)
{
    (void)state;
    struct loop loop = settled();
    loop.own.object = -1;
    assert_int_equal(look_at(&loop, LOOP_SITE, LOOP_SP), LOOP_TURN);
    assert_int_equal(look_at(&loop, LOOP_SITE, INNER),
                     LOOP_TURN);    /* while (gtk_events_pending()) */
    for (int i = 0; i < 10000; i++) /* who spins is busy */
        assert_int_equal(look_at(&loop, OTHER_SITE, INNER), LOOP_INSIDE);
    assert_int_equal(look_at(&loop, OTHER_SITE, OUTER), LOOP_INSIDE);
    assert_int_equal(wait_at(&loop, LOOP_SITE, LOOP_SP), LOOP_IDLE);
    assert_true(loop_is_settled(&loop));
}

static void test_game_loop(void **state)
{
    (void)state;
    struct loop loop = {.caller = canned_caller};
    for (int i = 0; i < 20; i++)
        look_at(&loop, LOOP_SITE, LOOP_SP);
    assert_true(loop_is_settled(&loop));
    assert_int_equal(look_at(&loop, LOOP_SITE, LOOP_SP), LOOP_TURN);
    /* what waits in earnest is worth more, wherever it stands */
    assert_int_equal(wait_at(&loop, OTHER_SITE, INNER), LOOP_IDLE);
    assert_int_equal(loop.own.site, OTHER_SITE);
}

static void test_other_stacks(void **state)
{
    (void)state;
    struct loop loop = settled();
    uintptr_t far_away = 0x10000;
    assert_int_equal(wait_on(&loop, LOOP_SITE, far_away, 5), LOOP_IDLE);
    assert_int_equal(wait_at(&loop, OTHER_SITE, far_away), LOOP_INSIDE);
    assert_int_equal(wait_at(&loop, OTHER_SITE, (uintptr_t)OUTER + (64 << 20)), LOOP_INSIDE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocking_wait_is_inside),
        cmocka_unit_test(test_nested_loop_is_idle),
        cmocka_unit_test(test_callers_that_are_alike),
        cmocka_unit_test(test_program_start),
        cmocka_unit_test(test_another_loop_after_the_first),
        cmocka_unit_test(test_challenger_must_be_alone),
        cmocka_unit_test(test_handler_is_no_loop),
        cmocka_unit_test(test_zero_waits),
        cmocka_unit_test(test_game_loop),
        cmocka_unit_test(test_other_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
