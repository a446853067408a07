/*
 * A loaded ELF image whose dynamic section and tables say anything (src/watch/got_image.c): one
 * segment, which is the input; its first two bytes say where the dynamic section is.
 */
#include <stdlib.h>
#include <string.h>

#include "watch/got_image.h"

static void look_at(void *context, const struct got_relocation *relocation)
{
    const struct got_image *image = context;
    ElfW(Sym) symbol;
    volatile size_t sum = 0;
    sum += *(const volatile uint8_t *)relocation->slot;
    if (got_symbol(image, relocation->symbol, &symbol))
        sum += strlen(got_string(image, symbol.st_name));
    const char *version = got_wanted_version(image, relocation->symbol);
    if (version)
        sum += strlen(version);
}

static void needed(void *context, const char *name)
{
    volatile size_t *sum = context;
    *sum += strlen(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"open", "target_plain", "f"};
    if (size < 16)
        return 0;
    uint8_t *memory = malloc(size);
    memcpy(memory, data, size);
    const ElfW(Phdr) segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_W | PF_X, .p_memsz = size};
    char none[] = "";
    struct link_map map = {.l_addr = (uintptr_t)memory,
                           .l_name = none,
                           .l_ld = (void *)(memory + (data[0] | (size_t)data[1] << 8) % size)};
    struct got_image image;
    volatile size_t sum = 0;
    if (got_image_read(&image, &map, &segment, 1)) {
        ElfW(Sym) symbol;
        for (size_t i = 0; i < 3; i++) {
            got_find(&image, names[i], strlen(names[i]), NULL, &symbol);
            got_find(&image, names[i], strlen(names[i]), "V1", &symbol);
        }
        got_relocations(&image, look_at, &image);
        got_needed(&image, needed, (void *)(uintptr_t)&sum);
    }
    free(memory);
    return 0;
}
