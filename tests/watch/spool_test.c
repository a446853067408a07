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

static void several_are_open_at_a_time(void **state)
{
    (void)state;
    struct spool_contents now;
    struct spool_report *open_ones[SPOOL_OPEN_MAX];
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 0);
    for (int i = 0; i < SPOOL_OPEN_MAX; i++) {
        open_ones[i] = spool_begin(reports, FWR_KIND_HANG, 1000);
        assert_non_null(open_ones[i]);
        spool_say_hang(open_ones[i], 300000000);
        assert_true(spool_flush(open_ones[i], false));
    }
    assert_null(spool_begin(reports, FWR_KIND_HANG, 1000));
    assert_int_equal(totals_of(reports).refused, 1);
    for (int i = 0; i < SPOOL_OPEN_MAX; i++)
        assert_true(spool_finish(open_ones[i]));
    assert_true(spool_write_calls(reports, 1000, NULL));
    fw_reports_close(reports);
    spool_look(folder, &now);
    assert_int_equal(now.ended, SPOOL_OPEN_MAX + 1);
    spool_remove_folder(folder);
}

/* Whether a file holds that text somewhere. */
static bool holds(const char *path, const char *text)
{
    static char bytes[1 << 16];
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    ssize_t size = read(file, bytes, sizeof bytes);
    close(file);
    assert_true(size > 0);
    return memmem(bytes, (size_t)size, text, strlen(text)) != NULL;
}

static void reports_say_who_wrote_them(void **state)
{
    (void)state;
    char id[SPOOL_ID_SIZE], host[256] = "";
    struct fw_reports *reports;
    const char *folder = spool_new_folder();
    struct fw_reports_options options = {.size = sizeof options,
                                         .folder = folder,
                                         .app = "com.example.shop",
                                         .version = "2.1.0",
                                         .build = "20261122.1",
                                         .device_class = "server"};
    assert_int_equal(fw_reports_open(&options, &reports, NULL), FW_OK);
    assert_int_equal(fw_reports_set_key(reports, "screen", "checkout"), FW_OK);
    assert_int_equal(fw_reports_set_key(reports, "gone", "never-seen"), FW_OK);
    assert_int_equal(fw_reports_set_key(reports, "gone", NULL), FW_OK);
    assert_int_equal(fw_reports_set_key(reports, NULL, "x"), FW_ERR_ARGUMENT);
    assert_true(spool_write_hang(reports, 1000, 300000000, id));
    const char *path = spool_path(folder, id, ".fwr");
    const char *said[] = {"com.example.shop", "2.1.0",    "20261122.1", "server",
                          "screen",           "checkout", "test_spool"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_true(holds(path, said[i]));
    assert_false(holds(path, "never-seen"));
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_false(holds(path, host));
    fw_reports_close(reports);

    options.app = NULL; /* then the executable's name */
    assert_int_equal(fw_reports_open(&options, &reports, NULL), FW_OK);
    assert_string_equal(reports->about.app, "test_spool");
    assert_true(reports->about.os[0] != 0);
    assert_true(reports->about.age_ms < 1000 * 1000);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void long_keys_are_cut_at_a_character(void **state)
{
    (void)state;
    char name[16], long_value[400], id[SPOOL_ID_SIZE];
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 0);
    memset(long_value, 'x', sizeof long_value);
    memcpy(long_value + FW_REPORT_VALUE_SIZE - 3, "\xe2\x82\xac", 3); /* a euro sign at the edge */
    long_value[sizeof long_value - 1] = 0;
    for (int i = 0; i < FW_REPORT_KEYS; i++) {
        snprintf(name, sizeof name, "key%d", i);
        assert_int_equal(fw_reports_set_key(reports, name, i ? "value" : long_value), FW_OK);
    }
    assert_int_equal(fw_reports_set_key(reports, "one more", "value"), FW_ERR_FULL);
    assert_int_equal(fw_reports_set_key(reports, "key7", "other"), FW_OK);
    assert_int_equal(strlen(reports->key[0].value), FW_REPORT_VALUE_SIZE - 3);
    assert_true(spool_write_hang(reports, 1000, 300000000, id));
    assert_true(holds(spool_path(folder, id, ".fwr"), "other"));
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    struct fw_reports *reports;
    struct fw_failure why;
    char file[512];
    const char *folder = spool_new_folder();
    struct fw_reports_options options = {.size = sizeof options, .folder = folder};
    assert_int_equal(fw_reports_open(NULL, &reports, &why), FW_ERR_ARGUMENT);
    assert_int_equal(fw_reports_open(&options, NULL, NULL), FW_ERR_ARGUMENT);
    options.size = 1;
    assert_int_equal(fw_reports_open(&options, &reports, &why), FW_ERR_ARGUMENT);
    /* A program that was compiled when options ended behind the folder. */
    options.size = offsetof(struct fw_reports_options, max_files);
    assert_int_equal(fw_reports_open(&options, &reports, &why), FW_OK);
    fw_reports_close(reports);
    fw_reports_close(NULL);

    options.size = sizeof options;
    snprintf(file, sizeof file, "%s/no/such/parent", folder);
    options.folder = file;
    assert_int_equal(fw_reports_open(&options, &reports, &why), FW_ERR_SYSTEM);
    assert_non_null(strstr(why.message, "no/such/parent"));
    snprintf(file, sizeof file, "%s/spool.state", folder); /* a file in its place */
    assert_int_equal(fw_reports_open(&options, &reports, &why), FW_ERR_SYSTEM);
    assert_null(reports);
    spool_remove_folder(folder);
}

/* Leaves a .part as a process does that dies: begun, flushed, not ended. */
static void leave(const char *folder, enum fwr_kind kind, uint64_t duration_ns, char *id)
{
    struct fw_reports *reports = spool_open(folder, 100);
    struct spool_report *report = spool_begin(reports, kind, 5000);
    assert_non_null(report);
    if (kind == FWR_KIND_HANG)
        spool_say_hang(report, duration_ns);
    assert_true(spool_flush(report, false));
    strcpy(id, spool_id(report));
    fw_reports_close(reports);
}

static struct fwr_state survey(const char *folder, const char *id)
{
    struct fwr_state state;
    int file = open(spool_path(folder, id, ".fwr"), O_RDONLY);
    assert_true(file >= 0);
    assert_true(spool_survey(file, UINT64_MAX, &state));
    close(file);
    return state;
}

static void what_dead_processes_left_is_completed(void **state)
{
    (void)state;
    char hang[SPOOL_ID_SIZE], calls[SPOOL_ID_SIZE];
    const char *folder = spool_new_folder();
    leave(folder, FWR_KIND_HANG, 900000000, hang);
    leave(folder, FWR_KIND_CALLS, 0, calls); /* which recovers the first */
    struct fw_reports *reports = spool_open(folder, 100);
    assert_int_equal(totals_of(reports).recovered, 1);
    assert_int_equal(totals_of(reports).damaged, 0);
    assert_int_equal(totals_of(reports).files, 2);
    struct fwr_state now = survey(folder, hang);
    assert_true(now.ended && now.has_hang_end);
    assert_int_equal(now.ending, FWR_KILLED);
    assert_int_equal(now.duration_ns, 900000000);
    now = survey(folder, calls);
    assert_true(now.ended);
    assert_false(now.has_hang_end);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void recovery_can_be_left_to_others(void **state)
{
    (void)state;
    char hang[SPOOL_ID_SIZE];
    struct spool_contents now;
    struct fw_reports *reports;
    const char *folder = spool_new_folder();
    leave(folder, FWR_KIND_HANG, 900000000, hang);
    struct fw_reports_options options = {
        .size = sizeof options, .folder = folder, .no_recovery = true};
    assert_int_equal(fw_reports_open(&options, &reports, NULL), FW_OK);
    spool_look(folder, &now);
    assert_int_equal(now.parts, 1);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

static void damaged_reports_are_cut_or_removed(void **state)
{
    (void)state;
    char hang[SPOOL_ID_SIZE];
    struct spool_contents now;
    static const char garbage[300] = "anything but a report";
    const char *folder = spool_new_folder();
    leave(folder, FWR_KIND_HANG, 900000000, hang);
    int file = open(spool_path(folder, hang, ".part"), O_WRONLY | O_APPEND);
    assert_int_equal(write(file, garbage, sizeof garbage), sizeof garbage);
    close(file);
    put_file(spool_path(folder, "00000000000000000000000000000001", ".part"), garbage, 300);
    put_file(spool_path(folder, "00000000000000000000000000000002", ".fwr"), garbage, 300);
    put_file(spool_path(folder, "00000000000000000000000000000003", ".fwr"), garbage, 0);
    put_file(spool_path(folder, "00000000000000000000000000000004", ".part"), garbage, 0);
    struct fw_reports *reports = spool_open(folder, 100);
    assert_int_equal(totals_of(reports).damaged, 4); /* an empty .part is nothing yet */
    assert_int_equal(totals_of(reports).recovered, 1);
    spool_look(folder, &now);
    assert_int_equal(now.whole, 1);
    assert_int_equal(now.parts, 0);
    assert_int_equal(now.unreadable, 0);
    assert_int_equal(now.killed, 1);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void foreign_files_are_left_alone(void **state)
{
    (void)state;
    char outside[512];
    const char *folder = spool_new_folder(), *other = spool_new_folder();
    static const char *const names[] = {
        "README",
        ".hidden",
        "upload.state",
        "0000000000000000000000000000000.part",   /* 31 digits */
        "000000000000000000000000000000000.part", /* 33 */
        "0000000000000000000000000000000A.part",  /* not as we write them */
        "00000000000000000000000000000000.part~",
        "00000000000000000000000000000000",
    };
    const size_t count = sizeof names / sizeof *names;
    for (size_t i = 0; i < count; i++)
        put_file(spool_path(folder, names[i], ""), "mine", 4);
    /* Names of ours, but no plain files. */
    snprintf(outside, sizeof outside, "%s/outside", other);
    put_file(outside, "outside", 7);
    assert_int_equal(
        symlink(outside, spool_path(folder, "00000000000000000000000000000001", ".part")), 0);
    assert_int_equal(
        symlink(outside, spool_path(folder, "00000000000000000000000000000002", ".fwr")), 0);
    assert_int_equal(mkdir(spool_path(folder, "00000000000000000000000000000003", ".part"), 0700),
                     0);
    assert_int_equal(mkfifo(spool_path(folder, "00000000000000000000000000000004", ".part"), 0600),
                     0);
    assert_int_equal(mkfifo(spool_path(folder, "00000000000000000000000000000005", ".fwr"), 0600),
                     0);
    assert_int_equal(link(outside, spool_path(folder, "00000000000000000000000000000006", ".part")),
                     0);

    struct fw_reports *reports = spool_open(folder, 1);
    assert_true(spool_write_hang(reports, 1, 300000000, NULL));
    assert_true(spool_write_hang(reports, 2, 300000000, NULL));
    assert_int_equal(totals_of(reports).files, 1);
    assert_int_equal(totals_of(reports).damaged, 0);
    fw_reports_close(reports);

    struct stat stat_of;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(access(spool_path(folder, names[i], ""), F_OK), 0);
    static const char *const odd[] = {"1.part", "2.fwr", "3.part", "4.part", "5.fwr", "6.part"};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(
            lstat(spool_path(folder, "0000000000000000000000000000000", odd[i]), &stat_of), 0);
    assert_int_equal(stat(outside, &stat_of), 0);
    assert_int_equal(stat_of.st_size, 7);
    spool_remove_folder(folder);
    spool_remove_folder(other);
}

/* Whether a finished report is still there. */
static bool kept(const char *folder, const char *id)
{
    return access(spool_path(folder, id, ".fwr"), F_OK) == 0;
}

static void the_least_valuable_goes_first(void **state)
{
    (void)state;
    enum { OLD_HANG, NEW_HANG, SEVERE, FATAL, OLD_CALLS, NEW_CALLS, SNAPSHOT, COUNT };
    char id[COUNT][SPOOL_ID_SIZE];
    /* From the first to go to the last. */
    static const int order[COUNT] = {SNAPSHOT, OLD_CALLS, NEW_CALLS, OLD_HANG,
                                     NEW_HANG, SEVERE,    FATAL};
    const char *folder = spool_new_folder();
    leave(folder, FWR_KIND_HANG, 300000000, id[FATAL]); /* started at 5000 */
    struct fw_reports *reports = spool_open(folder, 100);
    assert_true(spool_write_calls(reports, 900, id[NEW_CALLS]));
    assert_true(spool_write_calls(reports, 800, id[OLD_CALLS]));
    assert_true(spool_write_hang(reports, 200, 300000000, id[NEW_HANG]));
    assert_true(spool_write_hang(reports, 100, 300000000, id[OLD_HANG]));
    assert_true(spool_write_hang(reports, 50, 2500000000, id[SEVERE]));
    struct spool_report *snapshot = spool_begin(reports, FWR_KIND_SNAPSHOT, 9000);
    strcpy(id[SNAPSHOT], spool_id(snapshot));
    assert_true(spool_finish(snapshot));
    fw_reports_close(reports);
    for (uint32_t left = COUNT - 1; left > 0; left--) {
        reports = spool_open(folder, left);
        assert_int_equal(totals_of(reports).evicted, 1);
        assert_int_equal(spool_state_evicted(&reports->folder), COUNT - left);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(kept(folder, id[order[i]]), i >= COUNT - left);
        fw_reports_close(reports);
    }
    spool_remove_folder(folder);
}

static void bytes_are_limited_too(void **state)
{
    (void)state;
    char id[SPOOL_ID_SIZE];
    struct fw_reports *reports;
    const char *folder = spool_new_folder();
    struct fw_reports_options options = {
        .size = sizeof options, .folder = folder, .max_bytes = 4000};
    assert_int_equal(fw_reports_open(&options, &reports, NULL), FW_OK);
    for (uint64_t i = 1; i <= 20; i++)
        assert_true(spool_write_hang(reports, i, 300000000, id));
    struct fw_reports_totals totals = totals_of(reports);
    assert_true(totals.bytes <= 4000);
    assert_true(totals.files > 0);
    assert_int_equal(totals.files + totals.evicted, 20);
    assert_true(kept(folder, id));
    fw_reports_close(reports);

    /* The sum of all processes goes into the next report. */
    assert_int_equal(fw_reports_open(&options, &reports, NULL), FW_OK);
    assert_int_equal(totals_of(reports).evicted, 0);
    assert_true(spool_write_hang(reports, 100, 300000000, id));
    assert_true(holds(spool_path(folder, id, ".fwr"), "evicted"));
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void a_report_that_is_being_sent_stays(void **state)
{
    (void)state;
    char first[SPOOL_ID_SIZE], second[SPOOL_ID_SIZE];
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 1);
    assert_true(spool_write_hang(reports, 1, 300000000, first));
    int sending = open(spool_path(folder, first, ".fwr"), O_RDONLY);
    assert_int_equal(flock(sending, LOCK_SH), 0);
    assert_true(spool_write_hang(reports, 2, 300000000, second));
    assert_true(kept(folder, first));
    assert_false(kept(folder, second)); /* the next one in order */
    close(sending);
    assert_true(spool_write_hang(reports, 3, 300000000, second));
    assert_false(kept(folder, first));
    assert_true(kept(folder, second));
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void the_counter_survives_damage(void **state)
{
    (void)state;
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, 1);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(spool_write_hang(reports, i, 300000000, NULL));
    assert_int_equal(spool_state_evicted(&reports->folder), 2);
    /* Either slot torn: the other has the count, or the one before. */
    for (int slot = 0; slot < 2; slot++) {
        uint8_t kept_bytes[128], torn[128];
        int file = open(spool_path(folder, "spool.state", ""), O_RDWR);
        assert_int_equal(pread(file, kept_bytes, 128, 0), 128);
        memcpy(torn, kept_bytes, 128);
        torn[slot * 64 + 17] ^= 0xff;
        assert_int_equal(pwrite(file, torn, 128, 0), 128);
        uint64_t evicted = spool_state_evicted(&reports->folder);
        assert_true(evicted == 2 || evicted == 1);
        assert_int_equal(pwrite(file, kept_bytes, 128, 0), 128);
        close(file);
    }
    put_file(spool_path(folder, "spool.state", ""), "garbage", 7);
    assert_true(spool_write_hang(reports, 9, 300000000, NULL));
    assert_int_equal(spool_state_evicted(&reports->folder), 1); /* begins anew */
    assert_int_equal(unlink(spool_path(folder, "spool.state", "")), 0);
    assert_true(spool_write_hang(reports, 10, 300000000, NULL));
    assert_int_equal(totals_of(reports).files, 1);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static void thousands_of_reports_are_cut_down(void **state)
{
    (void)state;
    enum { THOUSANDS = 5000, LEFT = 100 };
    static uint8_t bytes[1 << 16];
    char id[SPOOL_ID_SIZE];
    struct spool_contents now;
    const char *folder = spool_new_folder();
    struct fw_reports *reports = spool_open(folder, THOUSANDS);
    assert_true(spool_write_hang(reports, 1, 300000000, id));
    int file = open(spool_path(folder, id, ".fwr"), O_RDONLY);
    ssize_t size = read(file, bytes, sizeof bytes);
    assert_true(size > 0);
    close(file);
    for (int i = 1; i < THOUSANDS; i++) {
        char name[SPOOL_ID_SIZE];
        snprintf(name, sizeof name, "%08x%s", (unsigned)i * 2654435761u,
                 "000000000000000000000000");
        put_file(spool_path(folder, name, i % 16 ? ".fwr" : ".part"), bytes, (size_t)size);
    }
    fw_reports_close(reports);
    reports = spool_open(folder, LEFT);
    struct fw_reports_totals totals = totals_of(reports);
    assert_int_equal(totals.files, LEFT);
    assert_int_equal(totals.evicted, THOUSANDS - LEFT);
    assert_int_equal(totals.recovered, (THOUSANDS - 1) / 16);
    assert_int_equal(spool_state_evicted(&reports->folder), THOUSANDS - LEFT);
    spool_look(folder, &now);
    assert_int_equal(now.parts, 0);
    assert_int_equal(now.ended, LEFT);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_part_then_whole),
        cmocka_unit_test(several_are_open_at_a_time),
        cmocka_unit_test(reports_say_who_wrote_them),
        cmocka_unit_test(long_keys_are_cut_at_a_character),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(what_dead_processes_left_is_completed),
        cmocka_unit_test(recovery_can_be_left_to_others),
        cmocka_unit_test(damaged_reports_are_cut_or_removed),
        cmocka_unit_test(foreign_files_are_left_alone),
        cmocka_unit_test(the_least_valuable_goes_first),
        cmocka_unit_test(bytes_are_limited_too),
        cmocka_unit_test(a_report_that_is_being_sent_stays),
        cmocka_unit_test(the_counter_survives_damage),
        cmocka_unit_test(thousands_of_reports_are_cut_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
