/*
 * watch/spool*.c where the folder, or the descriptors, are not as they were: read-only, full,
 * limited, deleted, closed by the host program. Errors are counted, the program goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sanitizers.h"
#include "watch/spool_support.h"

/* Between these, what is lost is meant to be. */
#if UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_disable(void)
{
}
static void __lsan_enable(void)
{
}
#endif

static struct fw_reports_totals totals_of(struct fw_reports *reports)
{
    struct fw_reports_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_reports_totals(reports, &totals), FW_OK);
    return totals;
}

static fw_error try_open(const char *folder, struct fw_failure *why)
{
    struct fw_reports *reports = NULL;
    struct fw_reports_options options = {.size = sizeof options, .folder = folder};
    fw_error error = fw_reports_open(&options, &reports, why);
    fw_reports_close(reports);
    return error;
}

static void a_read_only_folder(void **state)
{
    (void)state;
    struct fw_failure why = {.code = FW_OK};
    const char *folder = spool_new_folder();
    if (geteuid() != 0) {
        assert_int_equal(chmod(folder, 0500), 0);
        assert_int_equal(try_open(folder, &why), FW_ERR_PERMISSION);
        assert_non_null(strstr(why.message, folder));
        chmod(folder, 0700);
        spool_remove_folder(folder);
        return;
    }
    if (mount("tmpfs", folder, "tmpfs", 0, "size=256k,mode=700") != 0) {
        spool_remove_folder(folder);
        print_message("skip: root ignores modes, and mounts are not allowed here\n");
        skip();
    }
    struct fw_reports *reports = spool_open(folder, 0);
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, true));
    fw_reports_close(reports); /* an open file would keep it from becoming read-only */
    assert_int_equal(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_int_equal(try_open(folder, &why), FW_ERR_PERMISSION);
    assert_int_equal(why.os_error, EROFS);
    assert_int_equal(mount(NULL, folder, NULL, MS_REMOUNT, NULL), 0);
    reports = spool_open(folder, 0);
    assert_int_equal(totals_of(reports).recovered, 1);
    fw_reports_close(reports);
    umount(folder);
    spool_remove_folder(folder);
}

/* Writes until it is refused; everything that was acknowledged is there. */
static void fill(struct fw_reports *reports, const char *folder, unsigned most)
{
    unsigned acknowledged = 0;
    struct spool_contents now;
    while (acknowledged < most && spool_write_hang(reports, acknowledged, 300000000, NULL))
        acknowledged++;
    assert_true(acknowledged < most);
    assert_true(totals_of(reports).refused > 0);
    spool_look(folder, &now);
    assert_true(now.ended >= acknowledged);
    assert_int_equal(now.unreadable, 0);
    for (int i = 0; i < 20; i++)
        spool_write_hang(reports, 1, 300000000, NULL);
    spool_look(folder, &now);
    assert_int_equal(now.unreadable, 0);
    assert_int_equal(now.parts, 0);
}

static void a_full_disk(void **state)
{
    (void)state;
    const char *folder = spool_new_folder();
    if (geteuid() != 0 || mount("tmpfs", folder, "tmpfs", 0, "size=64k,mode=700") != 0) {
        spool_remove_folder(folder);
        print_message("skip: mounts are not allowed here\n");
        skip();
    }
    struct fw_reports *reports = spool_open(folder, 1000);
    fill(reports, folder, 1000);
    fw_reports_close(reports);
    reports = spool_open(folder, 3); /* room is made on a full disk */
    assert_int_equal(totals_of(reports).files, 3);
    assert_true(spool_state_evicted(&reports->folder) > 0);
    assert_true(spool_write_hang(reports, 1000, 300000000, NULL));
    fw_reports_close(reports);
    umount(folder);
    spool_remove_folder(folder);
}

/* SIGXFSZ would end the program: nothing beyond the limit is tried. */
static void a_limit_of_file_sizes(void **state)
{
    (void)state;
    const char *folder = spool_new_folder();
    pid_t child = fork();
    if (child == 0) {
        struct fw_reports *reports = spool_open(folder, 0);
        struct rlimit limit = {900, 900};
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &limit);
        struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1);
        spool_say_hang(report, 300000000);
        bool first = spool_flush(report, false);
        for (int i = 0; i < 50; i++)
            spool_say_hang(report, 300000000);
        bool more = spool_flush(report, false), safe = spool_finish(report);
        _exit(first && !more && !safe && totals_of(reports).refused == 1 ? 0 : 1);
    }
    int status;
    struct spool_contents now;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    /* What was whole is kept: it breaks off, and nobody takes it for a fatal one. */
    fw_reports_close(spool_open(folder, 0));
    spool_look(folder, &now);
    assert_int_equal(now.whole, 1);
    assert_int_equal(now.broken, 1);
    assert_int_equal(now.killed, 0);
    assert_int_equal(now.unreadable, 0);
    spool_remove_folder(folder);
}

static void a_folder_deleted_meanwhile(void **state)
{
    (void)state;
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 0);
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, true));
    spool_remove_folder(folder);
    spool_say_end(report, FWR_RECOVERED, 400000000);
    assert_false(spool_finish(report));
    assert_null(spool_begin(reports, FWR_KIND_HANG, 1));
    struct fw_reports_totals totals = totals_of(reports);
    assert_int_equal(totals.refused, 2);
    assert_int_equal(totals.files, 0);
    fw_reports_close(reports);
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void a_name_that_cannot_be_had(void **state)
{
    (void)state;
    struct spool_contents now;
    char id[SPOOL_ID_SIZE];
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 0);
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1);
    strcpy(id, spool_id(report));
    spool_say_hang(report, 300000000);
    spool_say_end(report, FWR_RECOVERED, 400000000);
    const char *name = spool_path(folder, id, ".fwr");
    assert_int_equal(mkdir(name, 0700), 0);
    assert_false(spool_finish(report));
    assert_int_equal(totals_of(reports).refused, 1);
    assert_true(spool_write_hang(reports, 2, 300000000, NULL));
    fw_reports_close(reports);
    assert_int_equal(rmdir(name), 0);
    /* It was ended in order: the next process only names it. */
    fw_reports_close(spool_open(folder, 0));
    spool_look(folder, &now);
    assert_int_equal(now.ended, 2);
    assert_int_equal(now.killed, 0);
    assert_int_equal(now.parts, 0);
    spool_remove_folder(folder);
}

/* A daemon closes all descriptors that it finds, and opens files of its own. */
static void descriptors_closed_by_the_program(void **state)
{
    (void)state;
    struct stat stat_of;
    const char *folder = spool_new_folder(), *other = spool_new_folder();
    char precious[512];
    snprintf(precious, sizeof precious, "%s/precious", other);
    __lsan_disable(); /* the folder's list: closedir would close what is the program's by then */
    struct fw_reports *reports = spool_open(folder, 0);
    __lsan_enable();
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, false));
    const int number = report->file.fd, folder_number = reports->folder.file.fd;
    close(number);
    close(folder_number);
    int file = open(precious, O_RDWR | O_CREAT, 0600);
    assert_int_equal(dup2(file, number), number);
    int another = open(other, O_RDONLY | O_DIRECTORY);
    assert_int_equal(dup2(another, folder_number), folder_number);

    for (int i = 0; i < 50; i++)
        spool_say_hang(report, 300000000);
    assert_false(spool_flush(report, true));
    assert_false(spool_finish(report));
    assert_null(spool_begin(reports, FWR_KIND_HANG, 1));
    assert_true(totals_of(reports).refused >= 2);
    fw_reports_close(reports);
    assert_int_equal(stat(precious, &stat_of), 0);
    assert_int_equal(stat_of.st_size, 0);
    assert_true(fcntl(number, F_GETFD) >= 0); /* they are the program's */
    assert_true(fcntl(folder_number, F_GETFD) >= 0);
    struct spool_contents now;
    spool_look(other, &now);
    assert_int_equal(now.parts + now.whole, 0);
    assert_int_equal(now.foreign, 1);
    close(number);
    close(folder_number);
    close(file != number ? file : -1);
    close(another != folder_number ? another : -1);
    spool_remove_folder(folder);
    spool_remove_folder(other);
}

/* The number of the folder is a file of the program's by now, which it goes on reading or writing
 * where it was. */
static void the_programs_file_stays_where_it_is(void **state)
{
    (void)state;
    const char *folder = spool_new_folder(), *other = spool_new_folder();
    char precious[512];
    snprintf(precious, sizeof precious, "%s/precious", other);
    __lsan_disable(); /* the folder's list, as above */
    struct fw_reports *reports = spool_open(folder, 0);
    __lsan_enable();
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1);
    spool_say_hang(report, 300000000);
    const int number = reports->folder.file.fd;
    int file = open(precious, O_RDWR | O_CREAT, 0600);
    assert_int_equal(dup2(file, number), number);
    assert_int_equal(lseek(number, 100, SEEK_SET), 100);
    assert_false(spool_finish(report));
    assert_int_equal(totals_of(reports).files, 0);
    assert_int_equal(lseek(number, 0, SEEK_CUR), 100);
    fw_reports_close(reports);
    close(number);
    close(file);
    spool_remove_folder(folder);
    spool_remove_folder(other);
}

static void too_many_folders(void **state)
{
    (void)state;
    enum { MOST = 16 };
    struct fw_reports *reports[MOST], *more;
    struct fw_failure why;
    const char *folder = spool_new_folder();
    for (int i = 0; i < MOST; i++)
        reports[i] = spool_open(folder, 0);
    struct fw_reports_options options = {.size = sizeof options, .folder = folder};
    assert_int_equal(fw_reports_open(&options, &more, &why), FW_ERR_FULL);
    for (int i = 0; i < MOST; i++) {
        assert_true(spool_write_hang(reports[i], 1, 300000000, NULL));
        fw_reports_close(reports[i]);
    }
    assert_int_equal(try_open(folder, &why), FW_OK);
    spool_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_only_folder),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(a_limit_of_file_sizes),
        cmocka_unit_test(a_folder_deleted_meanwhile),
        cmocka_unit_test(a_name_that_cannot_be_had),
        cmocka_unit_test(descriptors_closed_by_the_program),
        cmocka_unit_test(the_programs_file_stays_where_it_is),
        cmocka_unit_test(too_many_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
