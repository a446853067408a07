/* What is left out of other tools' reports, and that all else stays; on texts made for it and on
 * every file of the test data. */
#include "collector/scrub.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char salt[] = "1111111111111111111111111111111111111111111111111111111111111111";
static const char other_salt[] = "2222";

static char *scrubbed(const char *text, const char *with)
{
    struct report_bytes out = {0};
    assert_int_equal(scrub((struct span){(const uint8_t *)text, strlen(text)}, with, &out), FW_OK);
    return out.data;
}

static void expect(const char *text, const char *result)
{
    char *got = scrubbed(text, salt);
    assert_string_equal(got ? got : "", result);
    free(got);
}

static void test_home_folders(void **state)
{
    (void)state;
    expect("/Users/nick/Library/x", "~/Library/x");
    expect("Path: /home/anna/bin/shop\n", "Path: ~/bin/shop\n");
    expect("\"\\/Users\\/nick\\/Library\"", "\"~\\/Library\"");
    expect("(/Users/nick)", "(~)");
    expect("cd /home/anna", "cd ~");
    expect("at /Users/nick smith/Desktop/a.c:7", "at ~/Desktop/a.c:7");
    expect("/System/Volumes/Data/Users/nick/x", "/System/Volumes/Data/Users/USER/x");
    expect("file:///Users/nick/x", "file:///Users/USER/x");
    expect("a /Users/nick/x /Users/anna/y", "a ~/x ~/y");
}

static void test_what_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "/Users/USER/x",
        "/Users/Shared/x",
        "/Users/*/x",
        "/Users/",
        "/Users",
        "/homework/anna/x",
        "/usr/home",
        "/home//x",
        "crashReporterKey",
        "\"crashReporterKey\" : 12",
        "\"crashReporterKey\" : \"\"",
        "\"crashReporterKey\"",
        "  CrashReporter Key: in the middle of a line",
        "CrashReporter Key:   \n",
        "\\",
        "\"",
        "\"deviceName\":\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect(texts[i], texts[i]);
}

static void expect_hashed(const char *before, const char *value, const char *after)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", before, value, after);
    char *got = scrubbed(text, salt), *again = scrubbed(text, salt);
    char *other = scrubbed(text, other_salt);
    assert_string_equal(got, again);
    assert_string_not_equal(got, other);
    assert_null(strstr(got, value));
    assert_int_equal(strlen(got), strlen(before) + 32 + strlen(after));
    assert_memory_equal(got, before, strlen(before));
    assert_string_equal(got + strlen(before) + 32, after);
    assert_int_equal(strspn(got + strlen(before), "0123456789abcdef") >= 32, 1);
    free(got);
    free(again);
    free(other);
}

static void test_hashes(void **state)
{
    (void)state;
    expect_hashed("{\"crashReporterKey\" : \"", "c0dec0de-1", "\", \"x\":1}");
    expect_hashed("{\"storeInfo\":{\"deviceIdentifierForVendor\":\"",
                  "DCEF35CB-68D5-F524-FF13-060901F52EA8", "\",\"thirdParty\":true}}");
    expect_hashed("{\"deviceName\"\n:\t\"", "Anna\\\"s iPhone", "\"}");
    expect_hashed("Incident Identifier: 1\nCrashReporter Key:   ", "DCEF35CB-68D5",
                  "\r\nHardware Model: x\n");
    expect_hashed("Anonymous UUID:      ", "DCEF35CB-68D5", "\n");
    /* One device has one hash, wherever it stands. */
    char *json = scrubbed("{\"crashReporterKey\":\"abc\"}", salt);
    char *text = scrubbed("CrashReporter Key: abc", salt);
    assert_memory_equal(json + strlen("{\"crashReporterKey\":\""),
                        text + strlen("CrashReporter Key: "), 32);
    free(json);
    free(text);
}

/* ---- real reports ---- */

static size_t count_of(const struct report_bytes *bytes, const char *word)
{
    size_t count = 0, size = strlen(word);
    for (size_t i = 0; i + size <= bytes->size; i++)
        count += memcmp(bytes->data + i, word, size) == 0;
    return count;
}

/* The same frames, images and threads. */
static void expect_same_report(struct span before, struct span after)
{
    struct report *a, *b;
    struct fw_failure why;
    assert_int_equal(report_read(before, &a, &why), FW_OK);
    assert_int_equal(report_read(after, &b, &why), FW_OK);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->complete, b->complete);
    assert_int_equal(a->thread_count, b->thread_count);
    assert_int_equal(a->image_count, b->image_count);
    assert_int_equal(a->frame_count, b->frame_count);
    for (size_t i = 0; i < a->frame_count; i++) {
        assert_int_equal(a->frames[i].image, b->frames[i].image);
        assert_true(a->frames[i].offset == b->frames[i].offset);
        assert_true(a->frames[i].address == b->frames[i].address);
    }
    report_free(a);
    report_free(b);
}

static void check_file(const char *path, size_t *changed)
{
    static uint8_t text[1 << 24];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct span before = {text, fread(text, 1, sizeof text, file)};
    fclose(file);
    struct report_bytes out = {0};
    assert_int_equal(scrub(before, salt, &out), FW_OK);
    static const char *const gone[] = {"/Users/nick", "/home/mstange", "/Users/mstange",
                                       "c0dec0dec0dec0dec0dec0dec0dec0dec0de0001",
                                       "DCEF35CB-68D5-F524-FF13-060901F52EA8"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        assert_int_equal(count_of(&out, gone[i]), 0);
    *changed += out.size != before.size || memcmp(out.data, text, out.size) != 0;
    expect_same_report(before, (struct span){(uint8_t *)out.data, out.size});
    report_bytes_free(&out);
}

static void test_real_reports(void **state)
{
    (void)state;
    DIR *folder = opendir(FW_SHARED_DATA "/reports");
    size_t files = 0, changed = 0;
    if (!folder) {
        print_message("test data is not there\n");
        skip();
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/reports/%s", FW_SHARED_DATA, entry->d_name);
        check_file(path, &changed);
        files++;
    }
    closedir(folder);
    print_message("%zu files, %zu changed\n", files, changed);
    assert_int_equal(changed, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_home_folders),
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_real_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
