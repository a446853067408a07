/* Another process, and a core, when memory runs out at any point: an error, or the whole answer. */
#include "capture/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object/codecs.h"
#include "support/alloc_fail.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct target target;

/* True when the stack with the known functions is whole and named; false when memory was missing
 * for a name. */
static bool expect_stack(struct fw_process *process, const struct fw_process_thread *threads,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < threads[i].thread.stack.count; k++) {
            struct fw_symbol symbol;
            fw_error error =
                fw_process_symbol(process, &threads[i].thread.stack.frames[k], &symbol);
            if (error == FW_ERR_MEMORY)
                return false;
            assert_int_equal(error, FW_OK);
            assert_non_null(symbol.image);
            if (!symbol.name || strcmp(symbol.name, "wait_pipe") != 0)
                continue;
            alloc_fail_pause();
            assert_true(stack_has(process, &threads[i], LIST("wait_pipe", "recurse*3", "start")));
            alloc_fail_resume();
            return true;
        }
    fail_msg("no thread is in wait_pipe");
    return false;
}

static bool capture(struct fw_process *process, bool consistent)
{
    const struct fw_process_thread *threads;
    size_t count;
    struct fw_failure why;
    struct fw_process_options options = {
        .size = sizeof options, .consistent = consistent, .max_frames = 64, .stack_bytes = 1 << 16};
    fw_error error = fw_process_capture(process, &options, &threads, &count, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    if (error != FW_OK) {
        assert_int_equal(why.code, error);
        for (size_t i = 0; i < count; i++)
            assert_true(threads[i].thread.stack.end != FW_END_NONE);
        return false;
    }
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(threads[i].thread.stack.end, FW_END_ROOT);
    return expect_stack(process, threads, count);
}

static bool live(void *consistent)
{
    struct fw_process *process;
    struct fw_failure why;
    fw_error error = fw_process_open(target.pid, &process, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    if (error != FW_OK)
        return assert_null(process), false;
    struct fw_process_info info;
    fw_process_describe(process, &info);
    assert_non_null(strstr(info.executable, "program_threads"));
    assert_non_null(strstr(info.command, "pipe:2"));
    bool good = capture(process, consistent != NULL);
    fw_process_close(process);
    assert_int_equal(target_traced(target.pid), 0);
    return good;
}

static void a_running_process(void **state)
{
    (void)state;
    assert_true(alloc_fail_each(live, NULL) > 20);
    assert_true(alloc_fail_each(live, &target) > 20);
}

static bool from_core(void *path)
{
    struct fw_process *process;
    struct fw_failure why;
    fw_error error = fw_process_open_core(path, NULL, NULL, &process, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    if (error != FW_OK)
        return assert_null(process), false;
    struct fw_process_info info;
    fw_process_describe(process, &info);
    assert_non_null(strstr(info.executable, "program_threads"));
    bool good = capture(process, false);
    fw_process_close(process);
    return good;
}

static void a_core(void **state)
{
    (void)state;
    char folder[] = "/tmp/fw-memory-XXXXXX", path[128], command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/core.%d", folder, (int)target.pid);
    snprintf(command, sizeof command, "gcore -o %s/core %d >%s/log 2>&1", folder, (int)target.pid,
             folder);
    bool made = system(command) == 0 && access(path, R_OK) == 0;
    unsigned needed = made ? alloc_fail_each(from_core, path) : 0;
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (!made)
        skip(); /* gdb is not here, or may not trace */
    assert_true(needed > 20);
}

static int begin(void **state)
{
    (void)state;
    object_set_codecs(&object_codecs_all);
    return !target_start(&target, FW_PROGRAM_THREADS, LIST("pipe:2"));
}

static int end(void **state)
{
    (void)state;
    target_end(&target);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_process),
        cmocka_unit_test(a_core),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
