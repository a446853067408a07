/* Reading and writing when memory runs out at any point: an error, or the whole answer; nothing is
 * lost. */
#include "report/watch_reports.h"

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
    if (!error)
        error = report_to_speedscope(r, test_names, NULL, &other);
    if (!error)
        error = report_to_pprof(r, test_names, NULL, &other);
    if (!error)
        error = report_to_firefox(r, test_names, NULL, &other);
    if (!error)
        error = report_to_text(r, test_names, NULL, &other);
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

/* What only our own reports hold. */
static bool attempt_watch(void *context)
{
    static fw_error (*const writers[])(const struct report *, report_resolve, void *,
                                       struct report_bytes *) = {
        report_to_json,  report_to_collapsed, report_to_speedscope,
        report_to_pprof, report_to_firefox,   report_to_text,
    };
    fw_error error = FW_OK;
    for (size_t i = 0; i < sizeof writers / sizeof *writers && !error; i++) {
        struct report_bytes out = {0};
        error = writers[i](context, NULL, NULL, &out);
        assert_true(error == FW_OK || error == FW_ERR_MEMORY);
        report_bytes_free(&out);
    }
    return error == FW_OK;
}

static void watch(void **state)
{
    (void)state;
    assert_true(alloc_fail_each(attempt_watch, (void *)(uintptr_t)hang_report()) > 50);
    assert_true(alloc_fail_each(attempt_watch, (void *)(uintptr_t)calls_report()) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each), cmocka_unit_test(watch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
