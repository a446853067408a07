/* A program that only asks for names: of the static library nothing is linked in that captures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "framewalk/names.h"

__attribute__((noinline)) void named_function(void);
void named_function(void)
{
    __asm__ volatile("");
}

static void the_program_itself_is_known(void **state)
{
    (void)state;
    struct fw_names *names;
    struct fw_name name;
    const struct fw_frame frame = {.address = (uintptr_t)named_function, .kind = FW_FRAME_EXACT};
    assert_int_equal(fw_names_create(&names), FW_OK);
    assert_int_equal(fw_names_lookup(names, &frame, &name), FW_OK);
    assert_non_null(name.function);
    assert_string_equal(name.function, "named_function");
    assert_int_equal(name.offset, 0);
    fw_names_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_program_itself_is_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
