/*
 * A program with a monitor and a call watch of its own, whose first thread leaves while others go
 * on, or leaves alone: it ends when it would without them, with the same status. Each case is a
 * child process, for its end is what is looked at.
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/targets.h"
#include "framewalk/calls.h"
#include "framewalk/hang.h"
#include "framewalk/threads.h"

enum { AT_EXIT = 77 /* how a process ends whose exit handlers ran */ };

static void at_end(void)
{
    _exit(AT_EXIT);
}

static void start_watches(void)
{
    static const char *names[] = {"open"};
    const struct fw_calls_options calls_options = {
        .size = sizeof calls_options, .names = names, .count = 1, .write_seconds = 1};
    struct fw_hang_monitor *monitor;
    struct fw_hang_watch *watch;
    struct fw_calls *calls;
    if (fw_calls_start(&calls_options, &calls) != FW_OK || fw_hang_start(NULL, &monitor) != FW_OK ||
        fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch) != FW_OK)
        _exit(1);
    fw_hang_idle(watch);
    fw_hang_busy(watch);
}

static void *go_on(void *argument)
{
    pause_ms(400);
    return argument;
}

static void start_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, go_on, NULL) != 0)
        _exit(1);
}

/* How a child that runs `body` ends; 124 << 8 when it does not within a minute. */
static int status_of(void (*body)(void))
{
    int status = 124 << 8;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        atexit(at_end);
        body();
        _exit(2);
    }
    for (int i = 0; i < 6000; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        pause_ms(10);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 124 << 8;
}

static void leaves_to_thread(void)
{
    start_watches();
    start_thread();
    pthread_exit(NULL);
}

static void leaves_alone(void)
{
    start_watches();
    pthread_exit(NULL);
}

static void leaves_raw(void)
{
    start_watches();
    syscall(SYS_exit, 5);
}

static void leaves_raw_to_thread(void)
{
    start_watches();
    start_thread();
    syscall(SYS_exit, 0);
}

static void leaves_killed(void)
{
    start_watches();
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    getppid();
}

static void libcs_last_thread_runs_exit_handlers(void **state)
{
    (void)state;
    assert_int_equal(status_of(leaves_to_thread), AT_EXIT << 8);
    assert_int_equal(status_of(leaves_alone), AT_EXIT << 8);
}

static void the_kernels_last_thread_ends_the_process(void **state)
{
    (void)state;
    if (emulated()) { /* whose own threads outlive the program's */
        print_message("skipped in the emulator\n");
        skip();
    }
    assert_int_equal(status_of(leaves_raw), 5 << 8);
    assert_int_equal(status_of(leaves_raw_to_thread), 0);
    assert_int_equal(status_of(leaves_killed), SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libcs_last_thread_runs_exit_handlers),
        cmocka_unit_test(the_kernels_last_thread_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
