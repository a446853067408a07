/*
 * watch/spool*.c: every system call of opening, writing, recovering and making room fails in turn;
 * and in turn is the last one that the process makes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sys_fail.h"
#include "watch/spool_support.h"

/* Where the processor is emulated or a sanitizer looks on, each kind of fault meets every STEP-th
 * call, beginning with another one than the kind before it. */
#ifndef STEP
#define STEP 1
#endif

enum { ID_MAX = 16 };

static long first_call(void)
{
    static long before;
    return before++ % STEP + 1;
}

struct told { /* ids of reports whose end was acknowledged */
    char id[ID_MAX][SPOOL_ID_SIZE];
    int count;
};

static void tell(struct told *told, bool acknowledged, const char *id)
{
    if (acknowledged)
        strcpy(told->id[told->count++], id);
}

static struct fw_reports *try_open(const char *folder, uint32_t max_files)
{
    struct fw_reports *reports = NULL;
    struct fw_failure why = {.code = FW_OK};
    struct fw_reports_options options = {
        .size = sizeof options, .folder = folder, .max_files = max_files};
    fw_error error = fw_reports_open(&options, &reports, &why);
    assert_int_equal(error == FW_OK, reports != NULL);
    assert_int_equal(error, why.code);
    return reports;
}

/* What a dead process may leave, of each kind: a hang without end and with half a record behind it,
 * an ended one without its final name, an empty one, one that is no report. */
static void leave_behind(const char *folder)
{
    struct fw_reports *reports = spool_open(folder, 100);
    static const char garbage[] = "no report at all, but somebody named it as one";
    for (int i = 0; i < 4; i++) {
        struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
        if (i < 2) {
            spool_say_hang(report, 700000000);
            assert_true(spool_flush(report, false));
        }
        if (i == 0)
            assert_int_equal(pwrite(report->file.fd, garbage, 20, (off_t)report->end), 20);
        if (i == 1) {
            spool_say_end(report, FWR_RECOVERED, 800000000);
            assert_true(fwr_end(spool_writer(report)));
        }
        if (i == 3)
            assert_int_equal(pwrite(report->file.fd, garbage, sizeof garbage, 0), sizeof garbage);
    }
    fw_reports_close(reports);
}

static void expect_settled(const char *folder, const struct told *told, unsigned least_hangs)
{
    struct spool_contents now;
    fw_reports_close(spool_open(folder, 100));
    spool_look(folder, &now);
    assert_int_equal(now.parts, 0);
    assert_int_equal(now.unreadable, 0);
    assert_int_equal(now.foreign, 0);
    assert_true(now.hangs >= least_hangs);
    for (int i = 0; i < told->count; i++)
        assert_int_equal(access(spool_path(folder, told->id[i], ".fwr"), F_OK), 0);
}

/* A session from begin to end: recovery, a hang that is flushed twice, one that was none, calls. */
static void work(const char *folder, struct told *told)
{
    char id[SPOOL_ID_SIZE];
    struct fw_reports *reports = try_open(folder, 100);
    if (!reports)
        return;
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 2000);
    if (report) {
        spool_say_hang(report, 300000000);
        spool_flush(report, true);
        spool_say_end(report, FWR_RECOVERED, 400000000);
        strcpy(id, spool_id(report));
        tell(told, spool_finish(report), id);
    }
    report = spool_begin(reports, FWR_KIND_HANG, 3000);
    if (report) {
        spool_say_hang(report, 300000000);
        spool_flush(report, false);
        spool_discard(report);
    }
    tell(told, spool_write_calls(reports, 4000, id), id);
    fw_reports_close(reports);
}

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *list = opendir("/proc/self/fd");
    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count;
}

static void fail_each(enum sys_fault fault, int error)
{
    const char *folder = spool_new_folder();
    for (long n = first_call();; n += STEP) {
        struct told told = {.count = 0};
        leave_behind(folder);
        unsigned before = open_files();
        sys_fault_at(n, fault, error);
        work(folder, &told);
        const char *faulted = sys_faulted();
        sys_fault_at(0, SYS_FAIL, 0);
        assert_int_equal(open_files(), before);
        expect_settled(folder, &told, 2);
        if (!faulted) {
            assert_int_equal(told.count, 2);
            print_message("%ld calls\n", n / STEP);
            break;
        }
        spool_remove_folder(folder);
    }
    spool_remove_folder(folder);
}

static void each_call_fails(void **state)
{
    (void)state;
    fail_each(SYS_FAIL, EIO);
    fail_each(SYS_FAIL, EACCES);
}

static void each_call_and_its_kind_fail(void **state)
{
    (void)state;
    fail_each(SYS_FAIL_LATER, EROFS);
    fail_each(SYS_FAIL_LATER, ENOSPC);
}

static void each_write_is_short(void **state)
{
    (void)state;
    fail_each(SYS_SHORT, ENOSPC);
    fail_each(SYS_SHORT, EDQUOT);
}

/* Runs `what` in a child whose n-th call is its last; false when it needs fewer. `told` is shared.
 */
static bool dies_at(long n, enum sys_fault fault, void (*what)(const char *, struct told *),
                    const char *folder, struct told *told)
{
    int status;
    told->count = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sys_fault_at(n, fault, EIO);
        what(folder, told);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return true;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

static struct told *share(void)
{
    void *memory =
        mmap(NULL, sizeof(struct told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void die_each(enum sys_fault fault)
{
    struct told *told = share();
    bool died = true;
    long n = first_call();
    for (; died; n += STEP) {
        const char *folder = spool_new_folder();
        leave_behind(folder);
        died = dies_at(n, fault, work, folder, told);
        expect_settled(folder, told, 2);
        spool_remove_folder(folder);
    }
    assert_int_equal(told->count, 2);
    print_message("%ld deaths\n", n / STEP);
}

static void the_process_dies_at_each_call(void **state)
{
    (void)state;
    die_each(SYS_DIE);
    die_each(SYS_DIE_HALF);
}

static void recover(const char *folder, struct told *told)
{
    (void)told;
    fw_reports_close(spool_open(folder, 100));
}

/* One after the other in the same folder: none undoes or repeats what those before it did. */
static void recoverers_die_at_each_call(void **state)
{
    (void)state;
    struct told *told = share();
    const enum sys_fault faults[] = {SYS_DIE, SYS_DIE_HALF};
    for (int i = 0; i < 2; i++) {
        struct spool_contents now;
        const char *folder = spool_new_folder();
        leave_behind(folder);
        for (long n = first_call(); dies_at(n, faults[i], recover, folder, told); n += STEP)
            ;
        spool_look(folder, &now);
        assert_int_equal(now.parts, 0);
        assert_int_equal(now.unreadable, 0);
        assert_int_equal(now.whole, 2);
        assert_int_equal(now.ended, 2);
        assert_int_equal(now.hangs, 2);
        spool_remove_folder(folder);
    }
}

enum { MANY = 9, FEW = 3 };

static void make_room(const char *folder, struct told *told)
{
    (void)told;
    fw_reports_close(spool_open(folder, FEW));
}

/* Whatever was removed is counted once, wherever the process died between the two. */
static void evictors_die_at_each_call(void **state)
{
    (void)state;
    struct told *told = share();
    const enum sys_fault faults[] = {SYS_DIE, SYS_DIE_HALF};
    for (int i = 0; i < 2; i++) {
        bool died = true;
        for (long n = first_call(); died; n += STEP) {
            struct spool_contents now;
            const char *folder = spool_new_folder();
            struct fw_reports *reports = spool_open(folder, 100);
            for (int j = 0; j < MANY; j++)
                assert_true(spool_write_hang(reports, (uint64_t)j, 300000000, NULL));
            fw_reports_close(reports);
            died = dies_at(n, faults[i], make_room, folder, told);

            reports = spool_open(folder, 1); /* takes the counter, whatever is left */
            spool_look(folder, &now);
            assert_int_equal(now.whole, 1);
            assert_int_equal(now.unreadable, 0);
            assert_int_equal(spool_state_evicted(&reports->folder), MANY - 1);
            fw_reports_close(reports);
            spool_remove_folder(folder);
        }
    }
}

/* Room is made as far as it can be; nothing but reports goes. */
static void each_call_of_making_room_fails(void **state)
{
    (void)state;
    const int errors[] = {EIO, EACCES, ENOSPC};
    for (int i = 0; i < 3; i++) {
        const char *faulted = "";
        for (long n = first_call(); faulted; n += STEP) {
            struct spool_contents now;
            const char *folder = spool_new_folder();
            struct fw_reports *reports = spool_open(folder, 100);
            for (int j = 0; j < MANY; j++)
                assert_true(spool_write_hang(reports, (uint64_t)j, 300000000, NULL));
            fw_reports_close(reports);
            sys_fault_at(n, SYS_FAIL, errors[i]);
            fw_reports_close(try_open(folder, FEW));
            faulted = sys_faulted();
            sys_fault_at(0, SYS_FAIL, 0);
            fw_reports_close(spool_open(folder, FEW));
            spool_look(folder, &now);
            assert_int_equal(now.whole, FEW);
            assert_int_equal(now.unreadable, 0);
            spool_remove_folder(folder);
        }
    }
}

/* Which of the calls since the n-th is the first of that name. */
static long next_call(long n, const char *name)
{
    while (sys_call(n) && strcmp(sys_call(n), name) != 0)
        n++;
    assert_non_null(sys_call(n));
    return n;
}

/* What no kill shows, but a crash of the machine: contents are on disk before their name is, and
 * the name before the end is acknowledged. */
static void the_disk_has_it_in_order(void **state)
{
    (void)state;
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 100);
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
    spool_say_hang(report, 300000000);
    sys_fault_at(0, SYS_FAIL, 0);
    assert_true(spool_flush(report, true));
    long n = next_call(1, "pwrite");
    n = next_call(n, "fdatasync");
    next_call(n, "fsync"); /* the name of the .part */
    sys_fault_at(0, SYS_FAIL, 0);
    assert_true(spool_finish(report));
    n = next_call(1, "pwrite");
    n = next_call(n, "fdatasync");
    n = next_call(n, "renameat");
    next_call(n, "fsync");
    fw_reports_close(reports);

    leave_behind(folder);
    sys_fault_at(0, SYS_FAIL, 0);
    reports = spool_open(folder, 100);
    n = next_call(1, "pwrite");
    n = next_call(n, "fdatasync");
    n = next_call(n, "renameat");
    next_call(n, "fsync");
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails),
        cmocka_unit_test(each_call_and_its_kind_fail),
        cmocka_unit_test(each_write_is_short),
        cmocka_unit_test(the_process_dies_at_each_call),
        cmocka_unit_test(recoverers_die_at_each_call),
        cmocka_unit_test(evictors_die_at_each_call),
        cmocka_unit_test(each_call_of_making_room_fails),
        cmocka_unit_test(the_disk_has_it_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
