/* Tail calls, on programs of which the source says what was jumped over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "symbolicate/own_stack.h"

enum { ONE_WAY, SINGLE_JUMP, TWO_WAYS, TWO_PLACES, UNKNOWN_WAY, CIRCLE, DIRECT };

static const char *const programs[] = {TAIL_PROGRAMS};

static void expect(int which, int choice, const char *expected)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[512];
        struct own_program program;
        own_program_open(programs[i], &program);
        own_program_describe(&program, which, choice, text, sizeof text);
        if (strcmp(text, expected) != 0)
            fail_msg("%s: %s instead of %s", programs[i], text, expected);
        own_program_close(&program);
    }
}

static void one_chain_of_two_is_shown(void **state)
{
    (void)state;
    expect(ONE_WAY, 0, "bottom two! one! one_way tail_run");
}

static void one_jump_is_shown(void **state)
{
    (void)state;
    expect(SINGLE_JUMP, 0, "bottom single! single_jump tail_run");
}

static void of_two_ways_none_is_shown(void **state)
{
    (void)state;
    expect(TWO_WAYS, 0, "bottom? two_ways tail_run");
    expect(TWO_WAYS, 1, "bottom? two_ways tail_run");
}

static void two_places_in_one_function_are_one_way(void **state)
{
    (void)state;
    expect(TWO_PLACES, 1, "bottom twin! two_places tail_run");
}

/* GCC says nothing of such a jump, so nothing is known; clang says that there is one. */
static void a_jump_through_a_pointer_proves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[512];
        struct own_program program;
        own_program_open(programs[i], &program);
        own_program_describe(&program, UNKNOWN_WAY, 0, text, sizeof text);
        bool gcc = strstr(programs[i], "gcc") != NULL;
        assert_string_equal(text,
                            gcc ? "bottom unknown_way tail_run" : "bottom? unknown_way tail_run");
        own_program_close(&program);
    }
}

static void a_circle_is_ambiguous(void **state)
{
    (void)state;
    expect(CIRCLE, 3, "bottom? circle tail_run");
}

static void a_direct_call_has_nothing_between(void **state)
{
    (void)state;
    expect(DIRECT, 0, "bottom direct tail_run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_chain_of_two_is_shown),
        cmocka_unit_test(one_jump_is_shown),
        cmocka_unit_test(of_two_ways_none_is_shown),
        cmocka_unit_test(two_places_in_one_function_are_one_way),
        cmocka_unit_test(a_jump_through_a_pointer_proves_nothing),
        cmocka_unit_test(a_circle_is_ambiguous),
        cmocka_unit_test(a_direct_call_has_nothing_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
