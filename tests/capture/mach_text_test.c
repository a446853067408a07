/* Texts and the cache of names on Apple, in the host: nothing is left behind, the same facts as
 * dladdr() gives, and an image that went away is noticed without being asked. */
#include "capture/mach_targets.h"
#include "capture/modules.h"
#include "framewalk/stack_names.h"
#include "framewalk/text.h"

#include <dlfcn.h>

static void nothing_is_left(void **state)
{
    (void)state;
    struct target target = {.body = spin};
    target_begin(&target, 0);
    char *texts[] = {fw_text_this_thread(), fw_text_main_thread(), fw_text_thread(target.id),
                     fw_text_all_threads(), fw_text_thread(0xdead00)};
    target_end(&target);
    check_nothing_left();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_non_null(texts[i]);
        assert_true(strncmp(texts[i], "Thread ", 7) == 0);
    }
    assert_non_null(strstr(texts[2], " target_main + "));
    assert_non_null(strstr(texts[3], " target_main + "));
    assert_non_null(strstr(texts[3], " (main, this thread) "));
    assert_non_null(strstr(texts[4], "\nno stack: there is no such thread\n"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
}

static void queue_in_the_title(void **state)
{
    (void)state;
    machhost_set_queue(machhost_queue("com.example.cart"));
    char *text = fw_text_this_thread();
    machhost_set_queue(NULL);
    assert_non_null(text);
    const char *label = strstr(text, ", queue \"com.example.cart\"\n0   ");
    assert_true(label && strchr(text, '\n') > label);
    free(text);
}

/* Apple's rule from dladdr's facts, asked one byte earlier. */
static void as_dladdr_says(void **state)
{
    (void)state;
    void *addresses[64];
    int count = fw_backtrace(addresses, 62);
    assert_true(count > 2);
    addresses[count++] = (char *)(uintptr_t)strlen + 1; /* libSystem */
    addresses[count++] = (void *)(uintptr_t)64;         /* nothing */
    char **lines = fw_backtrace_symbols(addresses, count);
    assert_non_null(lines);
    for (int i = 0; i < count; i++) {
        char expected[1024];
        uintptr_t address = (uintptr_t)addresses[i];
        Dl_info info = {0};
        dladdr((void *)(address - 1), &info);
        const char *slash = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
        const char *image = slash ? slash + 1 : info.dli_fname ? info.dli_fname : "???";
        const char *symbol = info.dli_sname ? info.dli_sname : info.dli_fname ? image : "0x0";
        uintptr_t from = (uintptr_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase);
        snprintf(expected, sizeof expected, "%-4d%-35s 0x%016lx %s + %lu", i, image,
                 (unsigned long)address, symbol, (unsigned long)(address - from));
        assert_string_equal(lines[i], expected);
    }
    free(lines);
}

/* Symbols of an image are read when a frame in it is to be named: there are hundreds of images. */
static void only_images_that_are_met(void **state)
{
    (void)state;
    module_call call;
    void *module = module_load(MODULE_ONE, &call);
    void *here[] = {(char *)(uintptr_t)only_images_that_are_met + 1};
    void *there[] = {(char *)(uintptr_t)call + 1};
    free(fw_backtrace_symbols(here, 1)); /* lists the module */
    const uint64_t before = machhost_calls("vm_read_overwrite");
    char **lines = fw_backtrace_symbols(here, 1);
    assert_non_null(lines);
    assert_non_null(strstr(lines[0], " only_images_that_are_met + 1"));
    assert_true(machhost_calls("vm_read_overwrite") == before);
    free(lines);
    for (int again = 0; again < 2; again++) {
        lines = fw_backtrace_symbols(there, 1);
        assert_non_null(lines);
        assert_non_null(strstr(lines[0], " function_one + 1"));
        free(lines);
    }
    assert_true(machhost_calls("vm_read_overwrite") > before);
    dlclose(module);
}

static void images_that_change_unasked(void **state)
{
    (void)state;
    struct fw_stack_names *cache;
    assert_int_equal(fw_stack_names_create(&cache, NULL), FW_OK);
    module_call last = NULL, call;
    unsigned same_place = 0;
    for (int i = 0; i < 8; i++) {
        void *module = module_load(i % 2 ? MODULE_TWO : MODULE_ONE, &call);
        same_place += call == last;
        last = call;
        struct fw_frame frame = {.address = (uintptr_t)call + 1, .kind = FW_FRAME_RETURN};
        struct fw_stack stack = {
            .frames = &frame, .count = 1, .head = 1, .end = FW_END_ROOT, .id = 77};
        const struct fw_named_stack *named;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(fw_stack_names_get(cache, &stack, &named), FW_OK);
            assert_string_equal(named->frames[0].name.function,
                                i % 2 ? "function_two" : "function_one");
            fw_stack_names_release(cache, named);
        }
        dlclose(module);
        assert_int_equal(fw_stack_names_get(cache, &stack, &named), FW_OK);
        assert_null(named->frames[0].name.image);
        fw_stack_names_release(cache, named);
    }
    if (!same_place)
        print_message("the loader never used the same addresses again\n");
    fw_stack_names_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(queue_in_the_title),
        cmocka_unit_test(as_dladdr_says),
        cmocka_unit_test(only_images_that_are_met),
        cmocka_unit_test(images_that_change_unasked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
