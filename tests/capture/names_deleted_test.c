/* Names in a program that was deleted while it runs: of functions that only its file knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "framewalk/names.h"

__attribute__((noinline)) static void hidden_function(void)
{
    __asm__ volatile("");
}

static int run_deleted(const char *path)
{
    struct fw_names *names;
    struct fw_name name;
    const struct fw_frame frame = {.address = (uintptr_t)hidden_function, .kind = FW_FRAME_EXACT};
    hidden_function();
    if (unlink(path) != 0 || fw_names_create(&names) != FW_OK)
        return 1;
    bool right = fw_names_lookup(names, &frame, &name) == FW_OK && name.function &&
                 !strcmp(name.function, "hidden_function");
    fw_names_destroy(names);
    return !right;
}

static void a_deleted_program_is_known(void **state)
{
    (void)state;
    char folder[] = "/tmp/fw-names-XXXXXX", command[256];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cp /proc/%d/exe %s/program && %s/program deleted; status=$?; rm -r %s; exit $status",
             (int)getpid(), folder, folder, folder);
    assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run_deleted(argv[0]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_deleted_program_is_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
