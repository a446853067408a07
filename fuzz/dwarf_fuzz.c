/*
 * All sections of .debug_info's kind. The first byte chooses byte order and class, then each
 * section is two bytes of length and its contents, in the order of the table below; what is left
 * over is .debug_info.
 */
#include "../tests/dwarf/elf_bytes.h"
#include "dwarf/dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static uint64_t use_unit(const struct dwarf *dwarf, size_t unit,
                         const struct dwarf_options *options, struct arena *arena)
{
    struct dwarf_unit r;
    struct object_range *ranges;
    size_t count;
    struct dwarf_problems problems = {0};
    uint64_t sum = 0;
    arena_reset(arena);
    if (dwarf_unit_ranges(dwarf, unit, options, arena, &ranges, &count) == FW_OK && count)
        sum += ranges[count - 1].hi;
    if (dwarf_unit_read(dwarf, unit, options, arena, &r, &problems) != FW_OK)
        return sum;
    for (size_t i = 0; i < r.subject_count; i++)
        sum += r.subjects[i].name ? strlen(r.subjects[i].name) : 0;
    for (size_t i = 0; i < r.function_count; i++) {
        const struct dwarf_function *f = &r.functions[i];
        if (f->first_range + f->range_count > r.range_count ||
            f->first_inline + f->inline_count > r.inline_count ||
            f->first_call + f->call_count > r.call_count || f->subject >= r.subject_count)
            abort();
        for (uint32_t k = 0; k < f->inline_count; k++) {
            const struct dwarf_inline *n = &r.inlines[f->first_inline + k];
            if (n->first_range + n->range_count > r.range_count ||
                (n->parent != DWARF_NONE &&
                 (n->parent < f->first_inline || n->parent >= f->first_inline + k)) ||
                (n->subject != DWARF_NONE && n->subject >= r.subject_count))
                abort();
        }
    }
    dwarf_unit_done(dwarf, unit);
    return sum + (r.name ? strlen(r.name) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        ".debug_abbrev",          ".debug_str",        ".debug_line_str",
        ".debug_str_offsets",     ".debug_addr",       ".debug_ranges",
        ".debug_rnglists",        ".debug_aranges",    ".debug_types",
        ".debug_info.dwo",        ".debug_abbrev.dwo", ".debug_str.dwo",
        ".debug_str_offsets.dwo", ".debug_cu_index",   ".debug_rnglists.dwo"};
    enum { COUNT = sizeof names / sizeof names[0] };
    struct elf_part parts[COUNT + 1];
    struct reader r = reader_over(data, size);
    uint8_t mode = reader_u8(&r);
    for (size_t i = 0; i < COUNT; i++) {
        size_t length = reader_u16(&r);
        const uint8_t *bytes = (const uint8_t *)"";
        if (length > reader_left(&r))
            length = reader_left(&r);
        if (length)
            (void)reader_take(&r, length, &bytes);
        parts[i] = (struct elf_part){names[i], bytes, length};
    }
    parts[COUNT] = (struct elf_part){".debug_info", r.pos, reader_left(&r)};
    size_t file_size;
    uint8_t *file = elf_of(parts, COUNT + 1, mode & 1, mode & 2, 0x1000, 0x100000, &file_size);
    struct object *object = NULL;
    struct dwarf *dwarf = NULL;
    if (object_open_bytes(file, file_size, false, "fuzz", &object, NULL) == FW_OK) {
        const struct dwarf_companions companions = {.supplementary = mode & 4 ? object : NULL,
                                                    .package = mode & 8 ? object : NULL};
        if (dwarf_open(object, &companions, &dwarf, NULL) == FW_OK) {
            struct dwarf_options options = {.calls = true};
            struct arena arena = {0};
            if (mode & 16)
                (void)object_code_ranges(object, &options.code, &options.code_count);
            for (size_t i = 0; i < dwarf_unit_count(dwarf) && i < 64; i++)
                sink += use_unit(dwarf, i, &options, &arena);
            arena_free(&arena);
            dwarf_close(dwarf);
        }
        object_close(object);
    }
    free(file);
    return 0;
}
