/*
 * The indexes of a package (.dwp): .debug_cu_index and .debug_tu_index of DWARF 5 section 7.3.5.3,
 * and of version 2, which GNU tools and LLVM write for DWARF 4.
 *
 * A package is .dwo files one behind the other in each section. A row of an index says where the
 * parts of one unit begin, so all that is needed is to shift what the unit counts from zero.
 */
#include "dwarf/internal.h"

enum { COLUMN_LIMIT = 16 };

struct package_index {
    struct reader all;
    uint32_t version, columns, units, slots;
    uint64_t rows;    /* offset of the row numbers */
    uint64_t offsets; /* offset of the table of offsets */
    uint32_t kind[COLUMN_LIMIT];
};

static bool read_index(struct package_index *index, const struct dwarf_file *file, unsigned section)
{
    struct span data = file->section[section];
    struct reader r = reader_over(data.data, data.size);
    r.swap = file->swap;
    *index = (struct package_index){.all = r};
    index->version = reader_u32(&r);
    if (index->version != 2) {
        reader_seek(&r, 0);
        index->version = reader_u16(&r);
        reader_skip(&r, 2);
    }
    index->columns = reader_u32(&r);
    index->units = reader_u32(&r);
    index->slots = reader_u32(&r);
    index->rows = reader_offset(&r) + (uint64_t)index->slots * 8;
    reader_skip(&r, (uint64_t)index->slots * 12);
    if (r.failed || index->columns > COLUMN_LIMIT || (index->version != 2 && index->version != 5))
        return false;
    for (uint32_t i = 0; i < index->columns; i++)
        index->kind[i] = reader_u32(&r);
    index->offsets = reader_offset(&r);
    reader_skip(&r, (uint64_t)index->units * index->columns * 4);
    return !r.failed;
}

/* What one row says of its unit. */
static void apply_row(struct dwarf_file *file, const struct package_index *index, uint32_t row,
                      uint64_t signature)
{
    uint64_t offset[COLUMN_LIMIT + 1] = {0};
    bool types = false;
    struct reader r = index->all;
    reader_seek(&r, index->offsets + (uint64_t)row * index->columns * 4);
    for (uint32_t i = 0; i < index->columns; i++) {
        uint32_t value = reader_u32(&r);
        if (index->kind[i] == DW_SECT_TYPES && index->version == 2) {
            types = true;
            offset[DW_SECT_INFO] = value;
        } else if (index->kind[i] <= COLUMN_LIMIT) {
            offset[index->kind[i]] = value;
        }
    }
    struct unit *unit = (struct unit *)(uintptr_t)dwarf_unit_at(file, types, offset[DW_SECT_INFO]);
    if (r.failed || !unit || unit->packaged)
        return;
    unit->packaged = true;
    unit->signature = signature;
    unit->abbrev_start += offset[DW_SECT_ABBREV];
    unit->str_offsets_start = offset[DW_SECT_STR_OFFSETS];
    unit->rnglists_start = index->version == 5 ? offset[DW_SECT_RNGLISTS] : 0;
}

static void read_rows(struct dwarf_file *file, unsigned section)
{
    struct package_index index;
    if (!file->section[section].size || !read_index(&index, file, section))
        return;
    struct reader signatures = index.all, rows = index.all;
    reader_seek(&signatures, index.rows - (uint64_t)index.slots * 8);
    reader_seek(&rows, index.rows);
    for (uint32_t i = 0; i < index.slots; i++) {
        uint64_t signature = reader_u64(&signatures);
        uint32_t row = reader_u32(&rows);
        if (row && row <= index.units)
            apply_row(file, &index, row - 1, signature);
    }
}

void dwarf_package_read(struct dwarf_file *file)
{
    read_rows(file, SECTION_CU_INDEX);
    read_rows(file, SECTION_TU_INDEX);
}
