/* Reading and writing when memory runs out at any point: an error, or the whole answer; nothing is
 * lost. */
#include "report/fwr_support.h"
#include "report/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_fail.h"

struct attempt {
    struct span text, named;
};

static bool attempt(void *context)
{
    const struct attempt *a = context;
    struct report *r = NULL;
    struct fw_failure why = {0};
    struct report_bytes out = {0}, other = {0};
    fw_error error = report_read(a->text, &r, &why);
    if (error) {
        assert_int_equal(error, FW_ERR_MEMORY);
        assert_null(r);
        return false;
    }
    error = report_write(r, test_names, NULL, &out);
    if (!error) {
        assert_int_equal(out.size, a->named.size);
        assert_memory_equal(out.data, a->named.data, out.size);
        error = report_to_json(r, test_names, NULL, &other);
    }
    if (!error)
        error = report_to_collapsed(r, test_names, NULL, &other);
    if (!error && r->threads[0].order == REPORT_STACK)
        error = report_to_crash(r, test_names, NULL, &other);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    report_bytes_free(&out);
    report_bytes_free(&other);
    report_free(r);
    return error == FW_OK;
}

static void each(void **state)
{
    static const char *const samples[] = {"ios.crash",           "crash.ips", "spindump.txt",
                                          "hang.metrickit.json", "meter.log", "perf.txt"};
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.named", samples[i]);
        struct attempt a = {load_own(samples[i]), load_own(name)};
        assert_true(alloc_fail_each(attempt, &a) > 5);
        free((void *)(uintptr_t)a.text.data);
        free((void *)(uintptr_t)a.named.data);
    }
}

/* Our own: no part of it may be missing without an error. */
static bool attempt_own(void *context)
{
    const struct fwr_file *file = context;
    struct report *r = NULL;
    struct fw_failure why = {0};
    fw_error error = report_read((struct span){file->data, file->size}, &r, &why);
    if (error) {
        assert_int_equal(error, FW_ERR_MEMORY);
        assert_null(r);
        return false;
    }
    assert_true(r->complete);
    assert_int_equal(r->thread_count, 6);
    assert_int_equal(r->frame_count, 18);
    assert_int_equal(r->image_count, 3);
    assert_int_equal(r->sample_count, 3);
    assert_int_equal(r->call_count, 2);
    assert_int_equal(r->script_frame_count, 2);
    assert_int_equal(r->symbol_count, 2);
    assert_int_equal(r->name_count, 2);
    assert_string_equal(r->info.os, "Debian GNU/Linux 12 (bookworm)");
    report_free(r);
    return true;
}

static void own(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    assert_true(alloc_fail_each(attempt_own, &file) > 10);
    fwr_file_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each), cmocka_unit_test(own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
