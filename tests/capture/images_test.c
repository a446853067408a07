/* Images that come and go: libraries loaded, unloaded, and replaced at the same addresses. */
#include "capture/modules.h"
#include "capture/targets.h"

#include <dlfcn.h>

static struct fw_frame frames[FRAMES];
static struct fw_stack stack;

KNOWN(innermost) static void innermost(void)
{
    stack = (struct fw_stack){.frames = frames, .capacity = FRAMES};
    fw_capture(&stack, 0);
    NOT_A_TAIL_CALL();
}

KNOWN(calls_module) static void calls_module(module_call call)
{
    call(innermost);
    NOT_A_TAIL_CALL();
}

static void expect_stack_through(module_call call)
{
    calls_module(call);
    assert_int_equal(stack.end, FW_END_ROOT);
    assert_true(stack.count > 3);
    assert_int_equal(frames_between(&(struct fw_stack){.frames = frames, .count = 1},
                                    (uintptr_t)__start_known_innermost,
                                    (uintptr_t)__stop_known_innermost),
                     1);
    assert_true(frames[1].address > (uintptr_t)call);
    assert_true(frames[1].address < (uintptr_t)call + 256);
    assert_int_equal(frames_between(&(struct fw_stack){.frames = frames + 2, .count = 1},
                                    (uintptr_t)__start_known_calls_module,
                                    (uintptr_t)__stop_known_calls_module),
                     1);
}

static void loaded_code_is_found_at_once(void **state)
{
    (void)state;
    module_call call;
    void *module = module_load(MODULE_ONE, &call);
#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 35)
    fw_images_refresh();
#endif
    expect_stack_through(call);
    expect_stack_through(call);
    dlclose(module);
}

static void replaced_at_the_same_addresses(void **state)
{
    (void)state;
    unsigned same = 0;
    module_call before = NULL, call;
    for (int i = 0; i < 8; i++) {
        void *module = module_load(i % 2 ? MODULE_TWO : MODULE_ONE, &call);
        same += call == before;
        before = call;
        fw_images_refresh();
        expect_stack_through(call);
        dlclose(module);
    }
    if (!same)
        print_message("the loader never used the same addresses again\n");
}

static void copy_file(const char *from, const char *to)
{
    char command[1024];
    unlink(to); /* not written into: it may be mapped */
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

/* Also under the same path: names are those of the file that is loaded now. */
static void replaced_under_the_same_path(void **state)
{
    (void)state;
    char path[64];
    struct fw_names *names;
    module_call call;
    snprintf(path, sizeof path, "/tmp/fw-module-%d.so", (int)getpid());
    assert_int_equal(fw_names_create(&names), FW_OK);
    for (int i = 0; i < 6; i++) {
        copy_file(i % 2 ? MODULE_TWO : MODULE_ONE, path);
        void *module = module_load(path, &call);
        struct fw_frame frame = {.address = (uintptr_t)call};
        struct fw_name name;
        assert_int_equal(fw_names_refresh(names), FW_OK);
        assert_int_equal(fw_names_lookup(names, &frame, &name), FW_OK);
        assert_non_null(name.function);
        assert_string_equal(name.function, i % 2 ? "function_two" : "function_one");
        dlclose(module);
    }
    unlink(path);
    fw_names_destroy(names);
}

static _Atomic bool enough;

static void *loads_and_unloads(void *path)
{
    while (!enough) {
        void *module = dlopen(path, RTLD_NOW);
        fw_images_refresh();
        if (module)
            dlclose(module);
        fw_images_refresh();
    }
    return NULL;
}

static void captured_while_others_load(void **state)
{
    (void)state;
    static struct captured captured;
    pthread_t loaders[2];
    struct target target = {.body = spin};
    enough = false;
    target_begin(&target, 0);
    pthread_create(&loaders[0], NULL, loads_and_unloads, (void *)MODULE_ONE);
    pthread_create(&loaders[1], NULL, loads_and_unloads, (void *)MODULE_TWO);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(capture_into(&captured, target.id, NULL), FW_OK);
        assert_whole(&captured.thread);
    }
    enough = true;
    pthread_join(loaders[0], NULL);
    pthread_join(loaders[1], NULL);
    target_end(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loaded_code_is_found_at_once),
        cmocka_unit_test(replaced_at_the_same_addresses),
        cmocka_unit_test(replaced_under_the_same_path),
        cmocka_unit_test(captured_while_others_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
