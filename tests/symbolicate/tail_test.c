/* Tail calls, on programs of which the source says what was jumped over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "framewalk/capture.h"
#include "framewalk/symbolicate.h"

enum { ONE_WAY, SINGLE_JUMP, TWO_WAYS, TWO_PLACES, UNKNOWN_WAY, CIRCLE, DIRECT };

static struct fw_frame frames[64];
static struct fw_stack stack;

static void take(void)
{
    stack = (struct fw_stack){.frames = frames, .capacity = 64};
    fw_capture(&stack, 0);
}

static struct fw_symbolicator *symbolicator;
static struct fw_source *source;
static struct link_map *map;
static void (*run)(int, int, void (*)(void));

static void open_program(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle)
        fail_msg("%s", dlerror());
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    void *symbol = dlsym(handle, "tail_run");
    assert_non_null(symbol);
    memcpy(&run, &symbol, sizeof run);
    struct fw_symbolicator_options options = {.size = sizeof options, .cache_folder = ""};
    assert_int_equal(fw_symbolicator_create(&options, &symbolicator), FW_OK);
    struct fw_source_request request = {.size = sizeof request, .path = path};
    struct fw_failure why = {0};
    if (fw_source_open(symbolicator, &request, &source, &why) != FW_OK)
        fail_msg("%s", why.message);
}

static void close_program(void)
{
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);
}

/* The functions of the program on the stack, innermost first, as "bottom two! one! one_way";
 * "!" marks inferred ones, "?" a place where several ways are possible. */
static void describe(int which, int choice, char *text, size_t size)
{
    run(which, choice, take);
    struct fw_stack_address addresses[64];
    for (uint32_t i = 0; i < stack.count; i++) {
        Dl_info info;
        bool inside = dladdr((void *)(uintptr_t)stack.frames[i].address, &info) != 0 &&
                      (uintptr_t)info.dli_fbase == map->l_addr;
        uint32_t returns = stack.frames[i].kind == FW_FRAME_RETURN ? FW_ADDRESS_RETURN : 0;
        addresses[i] = (struct fw_stack_address){
            .source = inside ? source : NULL,
            .address = {stack.frames[i].address - map->l_addr, FW_ADDRESS_LINK | returns}};
    }
    struct fw_symbols *symbols;
    struct fw_failure why = {0};
    if (fw_symbolicate_stack(addresses, stack.count, &symbols, &why) != FW_OK)
        fail_msg("%s", why.message);
    text[0] = '\0';
    for (size_t i = 0; i < symbols->count; i++) {
        if (!addresses[i].source)
            continue;
        for (size_t k = 0; k < symbols->items[i].frame_count; k++) {
            const struct fw_symbol_frame *f = &symbols->items[i].frames[k];
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s%s%s", used ? " " : "",
                     f->function ? f->function : "-", f->flags & FW_SYMBOL_TAIL_CALL ? "!" : "",
                     f->flags & FW_SYMBOL_AMBIGUOUS_TAIL ? "?" : "");
        }
    }
    fw_symbols_free(symbols);
}

static const char *const programs[] = {TAIL_PROGRAMS};

static void expect(int which, int choice, const char *expected)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[512];
        open_program(programs[i]);
        describe(which, choice, text, sizeof text);
        if (strcmp(text, expected) != 0)
            fail_msg("%s: %s instead of %s", programs[i], text, expected);
        close_program();
    }
}

static void one_chain_of_two_is_shown(void **state)
{
    (void)state;
    expect(ONE_WAY, 0, "bottom two! one! one_way tail_run");
}

static void one_jump_is_shown(void **state)
{
    (void)state;
    expect(SINGLE_JUMP, 0, "bottom single! single_jump tail_run");
}

static void of_two_ways_none_is_shown(void **state)
{
    (void)state;
    expect(TWO_WAYS, 0, "bottom? two_ways tail_run");
    expect(TWO_WAYS, 1, "bottom? two_ways tail_run");
}

static void two_places_in_one_function_are_one_way(void **state)
{
    (void)state;
    expect(TWO_PLACES, 1, "bottom twin! two_places tail_run");
}

/* GCC says nothing of such a jump, so nothing is known; clang says that there is one. */
static void a_jump_through_a_pointer_proves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[512];
        open_program(programs[i]);
        describe(UNKNOWN_WAY, 0, text, sizeof text);
        bool gcc = strstr(programs[i], "gcc") != NULL;
        assert_string_equal(text,
                            gcc ? "bottom unknown_way tail_run" : "bottom? unknown_way tail_run");
        close_program();
    }
}

static void a_circle_is_ambiguous(void **state)
{
    (void)state;
    expect(CIRCLE, 3, "bottom? circle tail_run");
}

static void a_direct_call_has_nothing_between(void **state)
{
    (void)state;
    expect(DIRECT, 0, "bottom direct tail_run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_chain_of_two_is_shown),
        cmocka_unit_test(one_jump_is_shown),
        cmocka_unit_test(of_two_ways_none_is_shown),
        cmocka_unit_test(two_places_in_one_function_are_one_way),
        cmocka_unit_test(a_jump_through_a_pointer_proves_nothing),
        cmocka_unit_test(a_circle_is_ambiguous),
        cmocka_unit_test(a_direct_call_has_nothing_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
