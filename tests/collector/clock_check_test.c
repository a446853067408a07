/* Which time it is when the wall clock may be wrong (collector/clock_check.h), by clocks that are
 * set by hand. */
#include "collector/clock_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static const int64_t start = INT64_C(1795339395188);

struct world { /* what the clocks would say, and how far the wall clock is off */
    struct clock_check check;
    int64_t passed, off;
};

static int64_t told(struct world *w)
{
    return clock_check_tell(&w->check, start + w->passed + w->off, 5000 + w->passed);
}

/* Time passes in steps of a minute, and somebody asks all the while. */
static int64_t pass(struct world *w, int64_t ms)
{
    for (; ms > MINUTE; ms -= MINUTE) {
        w->passed += MINUTE;
        told(w);
    }
    w->passed += ms;
    return told(w);
}

static struct world begun(int64_t known, int64_t off)
{
    struct world w = {.off = off};
    clock_check_known(&w.check, known, start + off, 5000);
    return w;
}

#define RIGHT(w) assert_int_equal(told(&w), start + w.passed)

static void a_right_clock_is_followed(void **state)
{
    (void)state;
    struct world w = begun(start - HOUR, 0);
    assert_int_equal(pass(&w, 3 * DAY), start + 3 * DAY);
    w.off = 400; /* the time service moves it a little */
    assert_int_equal(told(&w), start + w.passed + 400);
    assert_int_equal(w.check.state, CLOCK_FINE);
}

static void a_jump_of_ten_seconds_changes_nothing(void **state)
{
    (void)state;
    const int64_t jumps[] = {402 * DAY, -402 * DAY, 10 * MINUTE, -HOUR, 3 * DAY};
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        struct world w = begun(start - HOUR, 0);
        pass(&w, HOUR);
        w.off = jumps[i];
        bool far = jumps[i] > DAY || jumps[i] < -DAY;
        RIGHT(w);
        assert_int_equal(w.check.state, far ? CLOCK_JUMPED : CLOCK_FINE);
        pass(&w, 10 * SECOND);
        RIGHT(w);
        w.off = 0;
        RIGHT(w);
        assert_int_equal(w.check.state, CLOCK_FINE);
    }
}

static void a_jump_that_lasts_is_followed(void **state)
{
    (void)state;
    struct world w = begun(start - HOUR, 0);
    w.off = HOUR;
    pass(&w, MINUTE);
    RIGHT(w);
    pass(&w, 2 * MINUTE);
    assert_int_equal(told(&w), start + w.passed + HOUR);
    w.off = 402 * DAY;
    pass(&w, 23 * HOUR);
    assert_int_equal(told(&w), start + w.passed + HOUR);
    assert_int_equal(w.check.state, CLOCK_JUMPED);
    w.off = 403 * DAY; /* elsewhere again: the day begins anew */
    pass(&w, 23 * HOUR);
    assert_int_equal(told(&w), start + w.passed + HOUR);
    pass(&w, 2 * HOUR);
    assert_int_equal(told(&w), start + w.passed + 403 * DAY);
    assert_int_equal(w.check.state, CLOCK_FINE);
}

static void a_clock_that_runs_too_fast_takes_nothing_along(void **state)
{
    (void)state;
    struct world w = begun(start, 0);
    for (int second = 0; second < 40 * 24 * 3600; second += 10) { /* ten times too fast, 40 days */
        w.passed += SECOND;
        w.off += 9 * SECOND;
        told(&w);
    }
    assert_true(told(&w) - (start + w.passed) < 2 * DAY);
    assert_int_equal(w.check.state, CLOCK_JUMPED);
}

static void a_server_that_was_off_for_long(void **state)
{
    (void)state;
    struct world w = begun(start - 402 * DAY, 0);
    assert_int_equal(w.check.state, CLOCK_AHEAD);
    RIGHT(w); /* what comes in gets the right time */
    pass(&w, 23 * HOUR);
    assert_int_equal(w.check.state, CLOCK_AHEAD);
    pass(&w, 2 * HOUR);
    assert_int_equal(w.check.state, CLOCK_FINE);
    RIGHT(w);
    w = begun(start - 402 * DAY, 0);
    clock_check_confirm(&w.check, start, 5000);
    assert_int_equal(w.check.state, CLOCK_FINE);
    struct world weekend = begun(start - 47 * HOUR, 0);
    assert_int_equal(weekend.check.state, CLOCK_FINE);
}

static void a_wrong_clock_at_the_start_is_set_right(void **state)
{
    (void)state;
    const int64_t offs[] = {402 * DAY, -20 * 365 * DAY};
    for (size_t i = 0; i < sizeof offs / sizeof *offs; i++) {
        struct world w = begun(start - MINUTE, offs[i]);
        assert_int_equal(w.check.state, offs[i] > 0 ? CLOCK_AHEAD : CLOCK_BEHIND);
        pass(&w, 10 * MINUTE);
        if (offs[i] < 0) /* time never goes back behind what is known */
            assert_int_equal(told(&w), start - MINUTE + w.passed);
        w.off = 0;
        RIGHT(w);
        assert_int_equal(w.check.state, CLOCK_FINE);
    }
}

static void two_servers_disagree(void **state)
{
    (void)state;
    struct world wrong = begun(start - 5 * SECOND, 402 * DAY);
    clock_check_other(&wrong.check, start, start + 402 * DAY, 5000);
    assert_int_equal(wrong.check.state, CLOCK_DISPUTED);
    RIGHT(wrong); /* it takes the time of the other one */
    pass(&wrong, 3 * DAY);
    assert_int_equal(wrong.check.state, CLOCK_DISPUTED); /* that does not pass by itself */
    RIGHT(wrong);
    wrong.off = 0;
    clock_check_other(&wrong.check, start + wrong.passed, start + wrong.passed,
                      5000 + wrong.passed);
    assert_int_equal(wrong.check.state, CLOCK_FINE);
    /* One that was sure keeps its time, and removes nothing. */
    struct world sure = begun(start - SECOND, 0);
    clock_check_other(&sure.check, start + 402 * DAY, start, 5000);
    assert_int_equal(sure.check.state, CLOCK_DISPUTED);
    RIGHT(sure);
    clock_check_confirm(&sure.check, start, 5000);
    assert_int_equal(sure.check.state, CLOCK_FINE);
}

static void nothing_is_known_of_a_new_database(void **state)
{
    (void)state;
    struct world w = begun(0, -30 * 365 * DAY);
    assert_int_equal(w.check.state, CLOCK_FINE);
    assert_int_equal(told(&w), start - 30 * 365 * DAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_clock_is_followed),
        cmocka_unit_test(a_jump_of_ten_seconds_changes_nothing),
        cmocka_unit_test(a_jump_that_lasts_is_followed),
        cmocka_unit_test(a_clock_that_runs_too_fast_takes_nothing_along),
        cmocka_unit_test(a_server_that_was_off_for_long),
        cmocka_unit_test(a_wrong_clock_at_the_start_is_set_right),
        cmocka_unit_test(two_servers_disagree),
        cmocka_unit_test(nothing_is_known_of_a_new_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
