/* Lengths of time as people read them: to the nearest, also where the unit changes. */
#include "base/duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void to_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(duration_ms(702499999), 702);
    assert_int_equal(duration_ms(702500000), 703);
    assert_int_equal(duration_ms(UINT64_MAX), UINT64_MAX / 1000000 + 1);
    assert_int_equal(duration_in(5, 2), 3);
    assert_int_equal(duration_in(0, 100), 0);
}

static void units(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ms"},
        {403500000, "404 ms"},
        {999499999, "999 ms"},
        {999500000, "1.00 s"},
        {1634999999, "1.63 s"},
        {119994999999, "119.99 s"},
        {119995000000, "2 min 00 s"},
        {179900000000, "3 min 00 s"},
        {7200000000000, "2.0 h"},
        {172800000000000, "2.0 days"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DURATION_TEXT];
        duration_text(text, cases[i].ns);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_the_nearest),
        cmocka_unit_test(units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
