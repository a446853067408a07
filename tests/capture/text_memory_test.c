/* Texts and the cache of names when memory runs out at any point: all of an answer, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "framewalk/capture.h"
#include "framewalk/stack_names.h"
#include "framewalk/text.h"
#include "support/alloc_fail.h"

static struct fw_frame frames[64];
static struct fw_stack stack = {.frames = frames, .capacity = 64};

static bool whole(char *text)
{
    bool there = text != NULL;
    if (text)
        assert_non_null(strstr(text, " main + "));
    free(text);
    return there;
}

static bool texts(void *unused)
{
    (void)unused;
    bool all = whole(fw_text_this_thread());
    all &= whole(fw_text_all_threads());
    all &= whole(fw_text_stack(&stack));
    void *at[1] = {(void *)(uintptr_t)frames[0].address};
    char **lines = fw_backtrace_symbols(at, 1);
    all &= lines != NULL;
    free(lines);
    return all;
}

/* The shared index is kept for good, so what the others need of it is read before memory is
 * counted.
 */
static void with_memory(void **state)
{
    (void)state;
    alloc_fail_pause();
    assert_true(texts(NULL));
    alloc_fail_resume();
}

static void texts_of_stacks(void **state)
{
    (void)state;
    assert_true(alloc_fail_each(texts, NULL) >= 5);
}

static bool names(void *unused)
{
    (void)unused;
    static const char *const images[] = {"/"};
    struct fw_stack_names_options options = {
        .size = sizeof options, .text = true, .images = images, .image_count = 1};
    struct fw_stack_names *cache;
    const struct fw_named_stack *named;
    fw_error error = fw_stack_names_create(&cache, &options);
    if (error != FW_OK) {
        assert_null(cache);
    } else {
        for (int i = 0; i < 2 && error == FW_OK; i++) {
            error = fw_stack_names_get(cache, &stack, &named);
            if (error == FW_OK)
                assert_non_null(strstr(named->text, " main + "));
            else
                assert_null(named);
            fw_stack_names_release(cache, named);
        }
        fw_stack_names_destroy(cache);
    }
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    return error == FW_OK;
}

static void the_cache(void **state)
{
    (void)state;
    assert_true(alloc_fail_each(names, NULL) > 4);
}

int main(void)
{
    fw_capture(&stack, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_memory),
        cmocka_unit_test(texts_of_stacks),
        cmocka_unit_test(the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
