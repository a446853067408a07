/* An application with both libraries: takes its own stack, and names it from its own debug
 * information. Its own functions have names that the libraries use inside. */
#include <framewalk/framewalk.h>
#include <framewalk/symbolicate.h>

#include <link.h>
#include <stdio.h>

int object_open(void);
int demangle(void);
int object_open(void)
{
    return 1;
}
int demangle(void)
{
    return 2;
}

static int first_image(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static struct fw_frame frames[64];
static struct fw_stack stack = {.frames = frames, .capacity = 64};

__attribute__((noinline)) static int take_stack(void)
{
    fw_capture(&stack, 0);
    return object_open() + demangle();
}

int main(void)
{
    int number = take_stack();
    uint64_t bias = 0;
    dl_iterate_phdr(first_image, &bias);
    const struct fw_symbolicator_options options = {.size = sizeof options, .cache_folder = ""};
    struct fw_source_request request = {.size = sizeof request, .path = "/proc/self/exe"};
    struct fw_symbolicator *symbolicator;
    struct fw_source *source;
    struct fw_symbols *symbols;
    struct fw_failure why = {0};
    if (fw_symbolicator_create(&options, &symbolicator) != FW_OK ||
        fw_source_open(symbolicator, &request, &source, &why) != FW_OK) {
        puts(why.message);
        return 1;
    }
    struct fw_stack_address addresses[64];
    for (uint32_t i = 0; i < stack.count; i++) {
        uint32_t returns = frames[i].kind == FW_FRAME_RETURN ? FW_ADDRESS_RETURN : 0;
        addresses[i] = (struct fw_stack_address){
            source, {frames[i].address - bias, FW_ADDRESS_LINK | returns}};
    }
    if (fw_symbolicate_stack(addresses, stack.count, &symbols, &why) != FW_OK) {
        puts(why.message);
        return 1;
    }
    for (size_t i = 0; i < symbols->count && symbols->items[i].frame_count; i++) {
        const struct fw_symbol_frame *f = symbols->items[i].frames;
        printf("%s %s:%u\n", f->function, f->file ? f->file : "?", (unsigned)f->line);
    }
    printf("%d %s\n", number, fw_error_text(FW_OK));
    fw_symbols_free(symbols);
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);
    return 0;
}
