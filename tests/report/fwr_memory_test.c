/* Reading a Framewalk report when memory runs out at any point: an error, or all of it. */
#include "report/fwr_support.h"
#include "report/support.h"

#include <string.h>

#include "support/alloc_fail.h"

static bool attempt(void *context)
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

static void each(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    assert_true(alloc_fail_each(attempt, &file) > 10);
    fwr_file_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
