/*
 * How a program ends while it hangs, and what its report says then: a program of this test's own,
 * started anew for each way.
 */
#include "watch/hang_loops.h"
#include "watch/spool_support.h"

#include "capture/targets.h"
#include "watch/hang_hooks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* ---- the program ---- */

static struct fw_hang_monitor *monitor;

static void exit_in_callback(void *context, const struct fw_hang_event *event)
{
    (void)context;
    if (!event->ended)
        exit(3);
}

static void hang_in_handler(void)
{
    hang_until_told(true);
}

static void start(const char *folder, void (*callback)(void *, const struct fw_hang_event *))
{
    static struct fw_reports *reports;
    struct fw_hang_watch *watch;
    const struct fw_reports_options where = {.size = sizeof where, .folder = folder};
    if (fw_reports_open(&where, &reports, NULL) != FW_OK)
        _exit(10);
    const struct fw_hang_options options = {
        .size = sizeof options, .threshold_ms = 50, .reports = reports, .on_hang = callback};
    if (fw_hang_start(&options, &monitor) != FW_OK ||
        fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch) != FW_OK)
        _exit(11);
    fw_hang_busy(watch);
}

static int be(const char *way, const char *folder)
{
    alarm(LOOPS_PATIENCE_S);
    start(folder, strcmp(way, "callback") == 0 ? exit_in_callback : on_hang);
    if (strcmp(way, "handler") == 0) {
        atexit(hang_in_handler);
        return 3;
    }
    if (!hang_until_told(true))
        _exit(12);
    if (strcmp(way, "exit") == 0)
        exit(3);
#if !defined(__APPLE__)
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(3);
#endif
    if (strcmp(way, "child") == 0) { /* the parent's monitor is not the child's to end */
        const pid_t pid = fork();
        if (pid == 0)
            exit(3);
        int status;
        waitpid(pid, &status, 0);
        raise(SIGKILL);
    }
    if (strcmp(way, "abort") == 0) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    return 3;
}

/* ---- the test ---- */

static const char *program;

static void run(const char *way, int wanted, unsigned killed)
{
    const char *folder = spool_new_folder();
    struct spool_contents contents;
    int status;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl(program, program, way, folder, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, wanted);
    fw_reports_close(spool_open(folder, 0)); /* the next start */
    spool_look(folder, &contents);
    assert_int_equal(contents.whole, 1);
    assert_int_equal(contents.hangs, 1);
    assert_int_equal(contents.killed, killed);
    assert_int_equal(contents.unreadable + contents.parts, 0);
    spool_remove_folder(folder);
}

static void ends_by_itself(void **state)
{
    (void)state;
    run("return", 3 << 8, 0);
    run("exit", 3 << 8, 0);
    run("handler", 3 << 8, 0);
    run("callback", 3 << 8, 0);
#if !defined(__APPLE__)
    run("quick_exit", 3 << 8, 0);
#endif
}

/* Before exec: no thread is asked by signal any more, for the next program has no handler. */
static void is_held(void **state)
{
    (void)state;
    struct fw_hang_watch *watch;
    monitor = start_monitor();
    assert_int_equal(fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch), FW_OK);
    fw_hang_busy(watch);
    assert_true(hang_until_told(true));
    hang_hold(monitor, 60000);
    const uint64_t before = totals_of(monitor).samples;
    for (unsigned i = 0; i < 20; i++)
        usleep(20000);
    assert_int_equal(totals_of(monitor).samples, before);
    hang_go_on(monitor);
    while (totals_of(monitor).samples == before)
        usleep(1000);
    fw_hang_stop(monitor);
}

static void is_killed(void **state)
{
    (void)state;
    run("kill", SIGKILL, 1);
    run("child", SIGKILL, 1);
    run("abort", SIGABRT, 1);
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return be(argv[1], argv[2]);
    program = argv[0];
    if (emulated()) {
        print_message("skipped in the emulator, which does not start itself\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_by_itself),
        cmocka_unit_test(is_killed),
        cmocka_unit_test(is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
