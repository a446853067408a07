/*
 * Tail calls that cross units. Few addresses are answered from a map of the units that hold them,
 * which knows only that a jump leads elsewhere: the whole map must be asked before anything is
 * shown or left out. The programs are one source as C and as C++, by both compilers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "symbolicate/own_stack.h"

enum { ACROSS, TWO_WAYS, COLD_WAY, COLD_CALL, RECURSION, INLINED_JUMP };

static const char *const programs[] = {TAIL_UNIT_PROGRAMS};

static void describe(const char *path, int which, int choice, char *text, size_t size)
{
    struct own_program program;
    own_program_open(path, &program); /* new for each: no map stands yet */
    own_program_describe(&program, which, choice, text, size);
    own_program_close(&program);
}

static void expect(int which, int choice, const char *expected)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[512];
        describe(programs[i], which, choice, text, sizeof text);
        if (strcmp(text, expected) != 0)
            fail_msg("%s: %s instead of %s", programs[i], text, expected);
    }
}

static void a_chain_is_followed_into_another_unit_and_back(void **state)
{
    (void)state;
    expect(ACROSS, 0, "bottom same_name! far_one! same_name! across tail_run");
}

static void two_ways_through_another_unit_are_ambiguous(void **state)
{
    (void)state;
    expect(TWO_WAYS, 0, "bottom? two_ways tail_run");
    expect(TWO_WAYS, 1, "bottom? two_ways tail_run");
}

/* GCC moves the jump to often.cold: it is a jump of often() all the same. The name is that of the
 * symbol table, which C++ puts behind the parameters: often(int) (.cold). */
static void a_jump_in_a_cold_part_belongs_to_its_function(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[512];
        bool moved = strstr(programs[i], "gcc") || strstr(programs[i], "_g++");
        const char *cold = strstr(programs[i], "gcc") ? ".cold" : "";
        char way[128], call[128];
        snprintf(way, sizeof way, "bottom rare often%s!%s cold_way tail_run", cold,
                 moved ? "*" : "");
        snprintf(call, sizeof call, "bottom rare usual%s%s cold_call tail_run", cold,
                 moved ? "*" : "");
        describe(programs[i], COLD_WAY, 1, text, sizeof text);
        assert_string_equal(text, way);
        describe(programs[i], COLD_CALL, 1, text, sizeof text);
        assert_string_equal(text, call);
    }
}

static void recursion_has_nothing_between(void **state)
{
    (void)state;
    expect(RECURSION, 0, "bottom deeper deeper deeper tail_run");
}

static void calls_inlined_at_the_jump_are_shown(void **state)
{
    (void)state;
    expect(INLINED_JUMP, 0,
           "bottom same_name! far_one! helper!~ with_helper! inlined_jump tail_run");
}

/* A map that stands already gives the same. */
static void whole_maps_give_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct own_program program;
        own_program_open(programs[i], &program);
        for (int which = ACROSS; which <= INLINED_JUMP; which++) {
            char cold[512], warm[512];
            describe(programs[i], which, 1, cold, sizeof cold);
            for (int times = 0; times < 2; times++) { /* the first may be from a small map */
                own_program_describe(&program, which, 1, warm, sizeof warm);
                assert_string_equal(warm, cold);
            }
        }
        own_program_close(&program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_followed_into_another_unit_and_back),
        cmocka_unit_test(two_ways_through_another_unit_are_ambiguous),
        cmocka_unit_test(a_jump_in_a_cold_part_belongs_to_its_function),
        cmocka_unit_test(recursion_has_nothing_between),
        cmocka_unit_test(calls_inlined_at_the_jump_are_shown),
        cmocka_unit_test(whole_maps_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
