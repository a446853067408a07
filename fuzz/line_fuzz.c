/* Line tables: headers of all versions, names from sections of the same bytes, programs. What comes
 * out must be sorted, inside of its arrays and apart where it says so. */
#include "dwarf/line.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_lines(const struct dwarf_lines *lines)
{
    for (size_t i = 0; i < lines->sequence_count; i++) {
        const struct dwarf_sequence *s = &lines->sequences[i];
        check(s->lo < s->hi && s->row_count > 0);
        check((uint64_t)s->first_row + s->row_count <= lines->row_count);
        check(i == 0 || s[-1].lo <= s->lo);
        const struct dwarf_row *rows = &lines->rows[s->first_row];
        check(rows[0].address == s->lo && rows[s->row_count - 1].address < s->hi);
        for (uint32_t k = 1; k < s->row_count; k++)
            check(rows[k - 1].address < rows[k].address);
    }
    for (size_t i = 0; i < lines->file_count; i++) {
        const struct dwarf_file_name *file = &lines->files[i];
        check(strlen(file->comp_dir) + strlen(file->directory) + strlen(file->name) < SIZE_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct object_range code[] = {{0x1000, 0x2000}, {0x3000, 0x100000}};
    if (size < 2)
        return 0;
    struct span section = {data + 2, size - 2};
    struct dwarf_line_input input = {
        .line = section,
        .str = section,
        .line_str = section,
        .str_offsets = section,
        .str_offsets_base = data[1],
        .comp_dir = "/work",
        .unit_name = "unit.c",
        .address_size = data[0] & 1 ? 4 : 8,
        .swap = data[0] & 2,
        .keep_zero = data[0] & 4,
        .code = data[0] & 8 ? code : NULL,
        .code_count = data[0] & 8 ? 2 : 0,
    };
    struct arena arena = {0};
    struct dwarf_lines lines;
    struct fw_failure why;
    if (dwarf_lines_read(&input, &arena, &lines, &why) == FW_OK)
        check_lines(&lines);
    arena_reset(&arena);
    if (dwarf_line_files_read(&input, &arena, &lines, NULL) == FW_OK)
        check_lines(&lines);
    arena_free(&arena);
    return 0;
}
