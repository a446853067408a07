/* watch/spool*.c, session*.c: reports in a real folder, by one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch/spool_support.h"

static struct fw_reports_totals totals_of(struct fw_reports *reports)
{
    struct fw_reports_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_reports_totals(reports, &totals), FW_OK);
    return totals;
}

static void a_report_is_part_then_whole(void **state)
{
    (void)state;
    struct spool_contents now;
    struct stat stat_of;
    const char *folder = spool_new_path();
    struct fw_reports *reports = spool_open(folder, 0);
    assert_int_equal(stat(folder, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0700);

    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, 1000);
    assert_non_null(report);
    assert_int_equal(strlen(spool_id(report)), SPOOL_DIGITS);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, true));
    spool_look(folder, &now);
    assert_int_equal(now.parts, 1);
    assert_int_equal(now.whole, 0);
    assert_int_equal(stat(spool_path(folder, spool_id(report), ".part"), &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
    assert_true(stat_of.st_size > 0);

    spool_say_end(report, FWR_RECOVERED, 400000000);
    assert_true(spool_finish(report));
    spool_look(folder, &now);
    assert_int_equal(now.parts, 0);
    assert_int_equal(now.whole, 1);
    assert_int_equal(now.ended, 1);
    assert_int_equal(now.unreadable, 0);
    assert_int_equal(now.hangs, 1);

    struct fw_reports_totals totals = totals_of(reports);
    assert_int_equal(totals.files, 1);
    assert_true(totals.bytes > 0);
    assert_int_equal(totals.refused, 0);

    report = spool_begin(reports, FWR_KIND_HANG, 1000);
    spool_say_hang(report, 300000000);
    assert_true(spool_flush(report, false));
    spool_discard(report);
    spool_look(folder, &now);
    assert_int_equal(now.parts, 0);
    assert_int_equal(now.whole, 1);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_part_then_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
