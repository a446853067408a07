/* Reading a Framewalk report when memory runs out at any point: an error, or all of it. */
#include "report/fwr_support.h"
#include "report/support.h"

#include <stdlib.h>
#include <string.h>

#include "support/alloc_fail.h"

static bool is_named(const struct report *r, const char *function)
{
    for (size_t i = 0; i < r->name_count; i++)
        if (strcmp(r->names[i].function, function) == 0)
            return true;
    return false;
}

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
    assert_int_equal(r->name_count, 11);
    assert_true(is_named(r, "main"));
    assert_true(is_named(r, "shop::checkout()"));
    assert_true(is_named(r, "shop.load() -> ()"));
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

static bool knows_each(void *context, const struct fwr_image *image)
{
    (void)context;
    (void)image;
    return true;
}

static bool find_long(void *context, uint64_t address, struct fwr_function *function)
{
    *function = (struct fwr_function){address & ~(uint64_t)0xff, 0x100, context};
    return true;
}

static bool attempt_long(void *context)
{
    const struct fwr_file *file = context;
    struct report *r = NULL;
    fw_error error = report_read((struct span){file->data, file->size}, &r, NULL);
    if (error) {
        assert_int_equal(error, FW_ERR_MEMORY);
        return false;
    }
    assert_int_equal(r->name_count, 1);
    assert_int_equal(strncmp(r->names[0].function, "shop::add(int*, int*, ", 22), 0);
    report_free(r);
    return true;
}

/* A name for which the demangler allocates: its hundreds of parameters have no room on the stack.
 */
static void long_name(void **state)
{
    char name[1000] = "_ZN4shop3addE";
    struct fwr_file file = {0};
    struct fw_frame frame;
    const uint64_t address = FAKE_STEP + 0x1000;
    (void)state;
    for (size_t at = strlen(name); at + 2 < sizeof name; at += 2)
        memcpy(name + at, "Pi", 2);
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    fwr_name_functions(
        w, &(struct fwr_namer){.context = name, .knows = knows_each, .find = find_long});
    const struct fw_stack stack = fwr_test_stack(&frame, &address, 1);
    fwr_thread(w, &(struct fwr_thread){.id = 1, .stack = fwr_stack(w, &stack)});
    assert_true(fwr_end(w));
    free(w);
    assert_true(alloc_fail_each(attempt_long, &file) > 10);
    fwr_file_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each), cmocka_unit_test(long_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
