/*
 * watch/spool*.c, session.c: several processes and one folder; fork with and without exec; writing
 * without malloc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sanitizers.h"
#include "watch/spool_support.h"

static struct fw_reports_totals totals_of(struct fw_reports *reports)
{
    struct fw_reports_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_reports_totals(reports, &totals), FW_OK);
    return totals;
}

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One byte from another process: it has come so far. */
static void wait_for(int pipe_end)
{
    char byte;
    assert_int_equal(read(pipe_end, &byte, 1), 1);
}

static void say_so(int pipe_end)
{
    if (write(pipe_end, "!", 1) != 1)
        _exit(9);
}

/* Begins a report, says so, and stays until it is killed. */
static pid_t hanging_process(const char *folder)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct fw_reports *reports = spool_open(folder, 100);
        struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
        spool_say_hang(report, 300000000);
        spool_flush(report, true);
        say_so(ready[1]);
        for (;;)
            pause();
    }
    wait_for(ready[0]);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void living_processes_are_left_alone(void **state)
{
    (void)state;
    struct spool_contents now;
    const char *folder = spool_new_folder();
    pid_t child = hanging_process(folder);
    struct fw_reports *reports = spool_open(folder, 100);
    assert_int_equal(totals_of(reports).recovered, 0);
    fw_reports_close(reports);
    kill(child, SIGSTOP);
    reports = spool_open(folder, 100);
    assert_int_equal(totals_of(reports).recovered, 0);
    fw_reports_close(reports);
    spool_look(folder, &now);
    assert_int_equal(now.parts, 1);
    kill(child, SIGKILL);
    assert_int_equal(status_of(child), 128 + SIGKILL);
    reports = spool_open(folder, 100);
    assert_int_equal(totals_of(reports).recovered, 1);
    fw_reports_close(reports);
    spool_look(folder, &now);
    assert_int_equal(now.killed, 1);
    spool_remove_folder(folder);
}

/* A second session of the same process excludes the first as another process does. */
static void two_sessions_of_one_process(void **state)
{
    (void)state;
    const char *folder = spool_new_folder();
    struct fw_reports *first = spool_open(folder, 100);
    struct spool_report *report = spool_begin(first, FWR_KIND_HANG, 1000);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, false));
    struct fw_reports *second = spool_open(folder, 100);
    assert_int_equal(totals_of(second).recovered, 0);
    fw_reports_close(second);
    second = spool_open(folder, 100);
    assert_int_equal(totals_of(second).recovered, 0);
    fw_reports_close(second);
    assert_true(spool_finish(report));
    fw_reports_close(first);
    spool_remove_folder(folder);
}

static void several_processes_write_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 3, REPORTS = 100, MOST = 10 };
    pid_t child[PROCESSES];
    struct spool_contents now;
    const char *folder = spool_new_folder();
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            struct fw_reports *reports = spool_open(folder, MOST);
            bool all = true;
            for (uint64_t j = 0; j < REPORTS; j++)
                all = spool_write_hang(reports, j, 300000000, NULL) && all;
            fw_reports_close(reports);
            _exit(all ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(status_of(child[i]), 0);
    spool_look(folder, &now);
    assert_int_equal(now.whole, MOST);
    assert_int_equal(now.parts, 0);
    assert_int_equal(now.unreadable, 0);
    struct fw_reports *reports = spool_open(folder, MOST);
    assert_int_equal(spool_state_evicted(&reports->folder), PROCESSES * REPORTS - MOST);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void several_recover_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 4, LEFT = 200 };
    pid_t child[PROCESSES];
    int recovered[2], go[2];
    struct spool_contents now;
    const char *folder = spool_new_folder();
    struct fw_reports_options options = {
        .size = sizeof options, .folder = folder, .no_recovery = true};
    struct fw_reports *reports;
    for (int i = 0; i < LEFT / SPOOL_OPEN_MAX; i++) {
        assert_int_equal(fw_reports_open(&options, &reports, NULL), FW_OK);
        for (int j = 0; j < SPOOL_OPEN_MAX; j++) {
            struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
            spool_say_hang(report, 300000000);
            assert_true(spool_flush(report, false));
        }
        fw_reports_close(reports);
    }
    assert_int_equal(pipe(recovered), 0);
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            wait_for(go[0]);
            reports = spool_open(folder, LEFT);
            uint64_t count = totals_of(reports).recovered;
            _exit(write(recovered[1], &count, sizeof count) == sizeof count ? 0 : 1);
        }
    }
    assert_int_equal(write(go[1], "!!!!", PROCESSES), PROCESSES);
    uint64_t sum = 0, count;
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(status_of(child[i]), 0);
        assert_int_equal(read(recovered[0], &count, sizeof count), sizeof count);
        sum += count;
    }
    assert_int_equal(sum, LEFT);
    spool_look(folder, &now);
    assert_int_equal(now.killed, LEFT);
    assert_int_equal(now.ended, LEFT);
    assert_int_equal(now.parts, 0);
    for (int i = 0; i < 2; i++) {
        close(recovered[i]);
        close(go[i]);
    }
    spool_remove_folder(folder);
}

static void a_child_does_not_write_its_parents_reports(void **state)
{
    (void)state;
    struct spool_contents now;
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 100);
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, false));
    const uint64_t end = report->end;
    pid_t child = fork();
    if (child == 0) {
        struct fw_reports_totals totals = {.size = sizeof totals};
        bool right = spool_begin(reports, FWR_KIND_HANG, 1) == NULL;
        for (int i = 0; i < 2000; i++)
            spool_say_hang(report, 300000000); /* beyond what the writer keeps pending */
        right = !spool_flush(report, true) && right;
        right = !spool_finish(report) && right;
        spool_discard(report);
        right = fw_reports_set_key(reports, "key", "value") == FW_ERR_UNSUPPORTED && right;
        right = fw_reports_totals(reports, &totals) == FW_ERR_UNSUPPORTED && right;
        fw_reports_close(reports);
        /* A session of its own: the parent's report is not a left one. */
        struct fw_reports *own = spool_open(folder, 100);
        right = totals_of(own).recovered == 0 && right;
        right = spool_write_hang(own, 2, 300000000, NULL) && right;
        fw_reports_close(own);
        _exit(right ? 0 : 1);
    }
    assert_int_equal(status_of(child), 0);
    spool_look(folder, &now);
    assert_int_equal(now.parts, 1);
    assert_int_equal(now.ended, 1);
    assert_int_equal(report->end, end);
    spool_say_end(report, FWR_RECOVERED, 400000000);
    assert_true(spool_finish(report));
    spool_look(folder, &now);
    assert_int_equal(now.ended, 2);
    assert_int_equal(now.unreadable, 0);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

/* A process with an open report has a child, then is killed; the child lives on. What it left is
 * recovered all the same. `make_child` never returns in the child. */
static void child_outlives(void (*make_child)(int ready, int until))
{
    int ready[2], until[2];
    struct spool_contents now;
    const char *folder = spool_new_folder();
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(until), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct fw_reports *reports = spool_open(folder, 100);
        struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
        spool_say_hang(report, 300000000);
        spool_flush(report, true);
        close(until[1]);
        make_child(ready[1], until[0]);
        for (;;)
            pause();
    }
    wait_for(ready[0]);
    kill(parent, SIGKILL);
    assert_int_equal(status_of(parent), 128 + SIGKILL);
    fw_reports_close(spool_open(folder, 100));
    spool_look(folder, &now);
    assert_int_equal(now.parts, 0);
    assert_int_equal(now.killed, 1);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(until[i]); /* ends the child */
    }
    spool_remove_folder(folder);
}

static void fork_alone(int ready, int until)
{
    char byte;
    if (fork() == 0) {
        say_so(ready);
        _exit(read(until, &byte, 1) == 0 ? 0 : 1);
    }
}

static void fork_and_exec(int ready, int until)
{
    if (fork() == 0) {
        dup2(ready, 1);
        dup2(until, 0);
        execl("/bin/sh", "sh", "-c", "printf !; read line", (char *)NULL);
        _exit(1);
    }
}

static void children_do_not_keep_the_lock(void **state)
{
    (void)state;
    child_outlives(fork_alone);
    child_outlives(fork_and_exec);
}

/* A child that no handler of fork() reaches keeps the lock: recovery waits for its end. */
static void a_raw_child_delays_recovery(void **state)
{
    (void)state;
    struct spool_contents now;
    int until[2];
    const char *folder = spool_new_folder();
    assert_int_equal(pipe(until), 0);
    struct fw_reports *reports = spool_open(folder, 100);
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, true));
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        char byte;
        close(until[1]);
        _exit(read(until[0], &byte, 1) == 0 ? 0 : 1);
    }
    fw_reports_close(reports); /* as if the parent had died */
    reports = spool_open(folder, 100);
    assert_int_equal(totals_of(reports).recovered, 0);
    fw_reports_close(reports);
    close(until[1]);
    assert_int_equal(status_of(child), 0);
    fw_reports_close(spool_open(folder, 100));
    spool_look(folder, &now);
    assert_int_equal(now.killed, 1);
    close(until[0]);
    spool_remove_folder(folder);
}

static void *write_many(void *context)
{
    struct fw_reports *reports = context;
    uintptr_t failed = 0;
    for (uint64_t i = 0; i < 50; i++) {
        failed += !spool_write_hang(reports, i, 300000000, NULL);
        failed += fw_reports_set_key(reports, "turn", i % 2 ? "odd" : "even") != FW_OK;
        failed += totals_of(reports).refused != 0;
    }
    return (void *)failed;
}

static void threads_share_a_session(void **state)
{
    (void)state;
    struct spool_contents now;
    pthread_t threads[SPOOL_OPEN_MAX];
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 20);
    for (int i = 0; i < SPOOL_OPEN_MAX; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, reports), 0);
    for (int i = 0; i < SPOOL_OPEN_MAX; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_ptr_equal(failed, NULL);
    }
    assert_int_equal(totals_of(reports).evicted, SPOOL_OPEN_MAX * 50 - 20);
    fw_reports_close(reports);
    spool_look(folder, &now);
    assert_int_equal(now.ended, 20);
    spool_remove_folder(folder);
}

#if !UNDER_ASAN && !UNDER_TSAN && defined(__GLIBC__)
static _Atomic unsigned long allocations;

void *__libc_malloc(size_t size);
__attribute__((visibility("default"))) void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

/* The thread that hangs may hold malloc's lock. */
static void writing_does_not_allocate(void **state)
{
    (void)state;
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 2);
    const unsigned long before = allocations;
    for (uint64_t i = 0; i < 5; i++) {
        struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, i);
        spool_say_hang(report, 300000000);
        bool right = spool_flush(report, true);
        spool_say_end(report, FWR_RECOVERED, 300000000);
        right = spool_finish(report) && right;
        report = spool_begin(reports, FWR_KIND_HANG, i);
        spool_discard(report);
        if (!right)
            fail();
    }
    assert_int_equal(allocations, before);
    assert_int_equal(totals_of(reports).evicted, 3);
    fw_reports_close(reports);
    fw_reports_close(spool_open(folder, 2)); /* what libc allocates is seen */
    assert_true(allocations > before);
    spool_remove_folder(folder);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(living_processes_are_left_alone),
        cmocka_unit_test(two_sessions_of_one_process),
        cmocka_unit_test(several_processes_write_at_once),
        cmocka_unit_test(several_recover_at_once),
        cmocka_unit_test(a_child_does_not_write_its_parents_reports),
        cmocka_unit_test(children_do_not_keep_the_lock),
        cmocka_unit_test(a_raw_child_delays_recovery),
        cmocka_unit_test(threads_share_a_session),
#if !UNDER_ASAN && !UNDER_TSAN && defined(__GLIBC__)
        cmocka_unit_test(writing_does_not_allocate),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
