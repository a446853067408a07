#include "symbolicate/own_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "framewalk/capture.h"

static struct fw_frame frames[64];
static struct fw_stack stack;

static void take(void)
{
    stack = (struct fw_stack){.frames = frames, .capacity = 64};
    fw_capture(&stack, 0);
}

void own_program_open(const char *path, struct own_program *program)
{
    *program = (struct own_program){.handle = dlopen(path, RTLD_NOW)};
    if (!program->handle)
        fail_msg("%s", dlerror());
    struct link_map *map;
    assert_int_equal(dlinfo(program->handle, RTLD_DI_LINKMAP, &map), 0);
    program->map = map;
    void *symbol = dlsym(program->handle, "tail_run");
    assert_non_null(symbol);
    memcpy(&program->run, &symbol, sizeof program->run);
    struct fw_symbolicator_options options = {.size = sizeof options, .cache_folder = ""};
    assert_int_equal(fw_symbolicator_create(&options, &program->symbolicator), FW_OK);
    struct fw_source_request request = {.size = sizeof request, .path = path};
    struct fw_failure why = {0};
    if (fw_source_open(program->symbolicator, &request, &program->source, &why) != FW_OK)
        fail_msg("%s", why.message);
}

void own_program_close(struct own_program *program)
{
    fw_source_close(program->source);
    fw_symbolicator_destroy(program->symbolicator);
    dlclose(program->handle);
}

static void add(char *text, size_t size, const struct fw_symbol_frame *f)
{
    size_t used = strlen(text);
    const char *name = f->function ? f->function : "-";
    snprintf(text + used, size - used, "%s%.*s%s%s%s%s", used ? " " : "", (int)strcspn(name, "("),
             name, f->flags & FW_SYMBOL_TAIL_CALL ? "!" : "",
             f->flags & FW_SYMBOL_INLINED ? "~" : "", f->flags & FW_SYMBOL_PART ? "*" : "",
             f->flags & FW_SYMBOL_AMBIGUOUS_TAIL ? "?" : "");
}

void own_program_describe(struct own_program *program, int which, int choice, char *text,
                          size_t size)
{
    const struct link_map *map = program->map;
    program->run(which, choice, take);
    struct fw_stack_address addresses[64];
    for (uint32_t i = 0; i < stack.count; i++) {
        Dl_info info;
        bool inside = dladdr((void *)(uintptr_t)stack.frames[i].address, &info) != 0 &&
                      (uintptr_t)info.dli_fbase == map->l_addr;
        uint32_t returns = stack.frames[i].kind == FW_FRAME_RETURN ? FW_ADDRESS_RETURN : 0;
        addresses[i] = (struct fw_stack_address){
            .source = inside ? program->source : NULL,
            .address = {stack.frames[i].address - map->l_addr, FW_ADDRESS_LINK | returns}};
    }
    struct fw_symbols *symbols;
    struct fw_failure why = {0};
    if (fw_symbolicate_stack(addresses, stack.count, &symbols, &why) != FW_OK)
        fail_msg("%s", why.message);
    text[0] = '\0';
    for (size_t i = 0; i < symbols->count; i++) {
        if (!addresses[i].source) {
            assert_int_equal(symbols->items[i].reason, FW_REASON_UNKNOWN_FILE);
            continue;
        }
        for (size_t k = 0; k < symbols->items[i].frame_count; k++)
            add(text, size, &symbols->items[i].frames[k]);
    }
    fw_symbols_free(symbols);
}
