/* os/linux/ptrace.c on a child of this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/linux/ptrace.h"

enum { ITS_STATUS = 7 };

/* A child that ends with ITS_STATUS when `end` is closed. */
static pid_t begin_child(int *end)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        while (read(ends[0], &byte, 1) > 0)
            ;
        _exit(ITS_STATUS);
    }
    close(ends[0]);
    *end = ends[1];
    return child;
}

static void expect_its_status(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ITS_STATUS);
}

/* Waits until it has ended, without taking its status. */
static void wait_for_end(pid_t child)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

static bool can_trace(struct trace *trace, pid_t child)
{
    enum trace_status status = trace_seize(trace, child);
    if (status == TRACE_OK)
        return true;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    print_message("skipped: this system does not let us trace\n");
    return false;
}

static void a_child_that_ends_keeps_its_status(void **state)
{
    (void)state;
    struct trace trace;
    int end;
    pid_t child = begin_child(&end);
    if (!can_trace(&trace, child))
        skip();
    close(end);
    wait_for_end(child);
    trace_interrupt(&trace);
    assert_int_equal(trace_wait(&trace, trace_clock() + 10000000000u), TRACE_GONE);
    expect_its_status(child);
}

static void stops_and_goes_on(void **state)
{
    (void)state;
    struct trace trace;
    const struct arch *arch;
    struct regs regs;
    uint64_t pac_mask;
    int end;
    pid_t child = begin_child(&end);
    if (!can_trace(&trace, child))
        skip();
    assert_int_equal(trace_interrupt(&trace), TRACE_OK);
    assert_int_equal(trace_wait(&trace, trace_clock() + 10000000000u), TRACE_OK);
    assert_int_equal(trace_registers(&trace, &arch, &regs, &pac_mask), TRACE_OK);
    assert_ptr_equal(arch, &ARCH_NATIVE);
    trace_release(&trace);
    close(end);
    expect_its_status(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_ends_keeps_its_status),
        cmocka_unit_test(stops_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
