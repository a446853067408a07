/* A loaded Mach-O image: the input is all memory that may be read, at an address that the headers
 * of the seeds are made for; its first bytes are the header. Load commands, what they point at in
 * __LINKEDIT, the unwinder's view and the symbol index. */
#include "object/macho_loaded.h"
#include "object/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BASE = 0x10000 };

struct memory_bytes {
    const uint8_t *data;
    size_t size;
};

static volatile uint64_t sink;

static const void *bytes_at(void *context, uint64_t address, size_t size)
{
    const struct memory_bytes *m = context;
    const uint64_t offset = address - BASE;
    return offset <= m->size && size <= m->size - offset ? m->data + offset : NULL;
}

static bool take_segment(void *context, const struct macho_loaded_segment *s)
{
    (void)context;
    if (s->lo >= s->hi)
        __builtin_trap();
    return true;
}

static void touch(const struct unwind_section *s)
{
    for (size_t i = 0; i < s->size; i += 7)
        sink += s->data[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_bytes bytes = {data, size};
    const struct macho_memory memory = {bytes_at, &bytes};
    struct macho_loaded image;
    if (!macho_loaded_read(&image, &memory, BASE))
        return 0;
    struct unwind_image u;
    macho_loaded_segments(&image, take_segment, NULL);
    macho_loaded_unwind_image(&image, BASE + size / 2, &u);
    touch(&u.text);
    touch(&u.unwind_info);
    touch(&u.eh_frame);
    touch(&u.function_starts);
    for (size_t i = 0; i < UNWIND_STUB_AREAS; i++)
        touch(&u.plt[i]);
    struct symbols *symbols = symbols_build_loaded(&image);
    for (size_t i = 0; symbols && i < symbols_count(symbols); i++) {
        struct symbol_match match, found;
        symbols_at(symbols, i, &match);
        if (match.size == 0 || !symbols_lookup(symbols, match.vaddr, &found) ||
            found.vaddr != match.vaddr)
            __builtin_trap();
        sink += strlen(match.name);
    }
    if (symbols)
        symbols_destroy(symbols);
    return 0;
}
