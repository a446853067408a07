/*
 * One file's sections and the index of its units (DWARF 5 sections 7.5.1 and 7.3.5).
 *
 * Invariant: units are ascending by offset, .debug_info before .debug_types, do not overlap and lie
 * inside their section; a length that lies ends the index there, with what came before kept.
 */
#include "base/array.h"
#include "dwarf/abbrev.h"

#include <stdio.h>

static const char *const names[SECTION_COUNT] = {
    [SECTION_INFO] = "info",         [SECTION_TYPES] = "types",
    [SECTION_ABBREV] = "abbrev",     [SECTION_STR] = "str",
    [SECTION_LINE_STR] = "line_str", [SECTION_STR_OFFSETS] = "str_offsets",
    [SECTION_ADDR] = "addr",         [SECTION_RANGES] = "ranges",
    [SECTION_RNGLISTS] = "rnglists", [SECTION_LINE] = "line",
    [SECTION_ARANGES] = "aranges",   [SECTION_CU_INDEX] = "cu_index",
    [SECTION_TU_INDEX] = "tu_index",
};

enum { NOT_READ = 0, PLAIN, DWO };

/* How a section is called in files of a role. */
static int form_of(enum dwarf_role role, unsigned section)
{
    switch (section) {
    case SECTION_INFO:
    case SECTION_TYPES:
    case SECTION_ABBREV:
    case SECTION_STR:
    case SECTION_STR_OFFSETS: return role == ROLE_DWO ? DWO : PLAIN;
    case SECTION_RNGLISTS: return role == ROLE_DWO ? DWO : role == ROLE_MAIN ? PLAIN : NOT_READ;
    case SECTION_LINE_STR: return role == ROLE_DWO ? NOT_READ : PLAIN;
    case SECTION_CU_INDEX:
    case SECTION_TU_INDEX: return role == ROLE_DWO ? PLAIN : NOT_READ;
    default: return role == ROLE_MAIN ? PLAIN : NOT_READ;
    }
}

/* Cut behind the last NUL: any offset inside then begins a string that ends. */
static void cut_strings(struct span *strings)
{
    while (strings->size && strings->data[strings->size - 1])
        strings->size--;
}

static fw_error load_sections(struct dwarf_file *file, enum dwarf_role role, struct fw_failure *why)
{
    for (unsigned i = 0; i < SECTION_COUNT; i++) {
        struct fw_failure ignored;
        int form = form_of(role, i);
        if (form == NOT_READ)
            continue;
        fw_error error =
            object_debug_section(file->object, names[i], form == DWO, &file->section[i], &ignored);
        if (error == FW_ERR_MEMORY || (error != FW_OK && error != FW_ERR_NOT_FOUND &&
                                       (i == SECTION_INFO || i == SECTION_ABBREV))) {
            if (why)
                *why = ignored;
            return error;
        }
        if (error != FW_OK)
            file->section[i] = (struct span){NULL, 0};
    }
    cut_strings(&file->section[SECTION_STR]);
    cut_strings(&file->section[SECTION_LINE_STR]);
    return FW_OK;
}

struct indexer {
    struct dwarf_file *file;
    size_t unit_capacity, slot_capacity;
    bool no_memory;
};

static void broken(struct dwarf_file *file, uint64_t offset, const char *what)
{
    if (file->broken.code != FW_OK)
        return;
    file->broken.code = FW_ERR_CORRUPT;
    file->broken.place = offset;
    snprintf(file->broken.message, sizeof file->broken.message, "%s: .debug_info%s+0x%llx: %s",
             object_label(file->object), file->dwo ? ".dwo" : "", (unsigned long long)offset, what);
}

/* The header at the reader's place; the reader is left behind the unit. False: it makes no sense;
 * *skip: but its length does. */
static bool read_header(struct reader *section, bool types, struct unit *unit, bool *skip)
{
    struct dwarf_unit_header *h = &unit->header;
    h->offset = reader_offset(section);
    h->in_types = types;
    h->offset_size = 4;
    uint64_t length = reader_u32(section);
    if (length == UINT32_MAX) {
        length = reader_u64(section);
        h->offset_size = 8;
    } else if (length >= 0xfffffff0) {
        section->failed = true;
    }
    struct reader r = reader_sub(section, length);
    *skip = !section->failed;
    h->size = reader_offset(section) - h->offset;
    h->version = reader_u16(&r);
    h->unit_type = types ? DW_UT_type : DW_UT_compile;
    if (h->version >= 5) {
        h->unit_type = reader_u8(&r);
        h->address_size = reader_u8(&r);
        unit->abbrev_start = reader_uint(&r, h->offset_size);
    } else {
        unit->abbrev_start = reader_uint(&r, h->offset_size);
        h->address_size = reader_u8(&r);
    }
    uint64_t type = 0;
    if (h->unit_type == DW_UT_type || h->unit_type == DW_UT_split_type) {
        unit->signature = reader_u64(&r);
        type = reader_uint(&r, h->offset_size);
    } else if (h->unit_type == DW_UT_skeleton || h->unit_type == DW_UT_split_compile) {
        unit->signature = reader_u64(&r);
    }
    unit->first_die = (uint64_t)(r.pos - section->begin);
    if (r.failed || section->failed || type > h->size)
        return false;
    unit->type_die = h->offset + type;
    return h->version >= 2 && h->version <= 5 &&
           (h->address_size == 2 || h->address_size == 4 || h->address_size == 8);
}

static bool index_section(struct indexer *x, unsigned which)
{
    struct dwarf_file *file = x->file;
    struct span data = file->section[which];
    struct reader r = reader_over(data.data, data.size);
    r.swap = file->swap;
    while (reader_left(&r)) {
        struct unit unit = {.file = file};
        uint64_t offset = reader_offset(&r);
        bool skip = false;
        if (!read_header(&r, which == SECTION_TYPES, &unit, &skip)) {
            broken(file, offset, skip ? "a unit header that makes no sense" : "a unit is cut off");
            if (!skip)
                break;
            continue;
        }
        if (!array_room(&file->units, &x->unit_capacity, file->unit_count, sizeof *file->units))
            return false;
        file->units[file->unit_count++] = unit;
    }
    return true;
}

const struct unit *dwarf_unit_at(const struct dwarf_file *file, bool types, uint64_t offset)
{
    size_t lo = types ? file->info_count : 0;
    size_t hi = types ? file->unit_count : file->info_count, end = hi, begin = lo;
    while (lo < hi) { /* the first that begins behind the offset */
        size_t mid = lo + (hi - lo) / 2;
        if (file->units[mid].header.offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == begin || lo > end)
        return NULL;
    const struct unit *unit = &file->units[lo - 1];
    return offset - unit->header.offset < unit->header.size ? unit : NULL;
}

static bool is_type(const struct unit *unit)
{
    return unit->header.unit_type == DW_UT_type || unit->header.unit_type == DW_UT_split_type;
}

static int by_signature(const void *a, const void *b)
{
    const struct unit *x = *(const struct unit *const *)a, *y = *(const struct unit *const *)b;
    if (is_type(x) != is_type(y))
        return is_type(x) ? 1 : -1;
    if (x->signature != y->signature)
        return x->signature < y->signature ? -1 : 1;
    return x < y ? -1 : x > y; /* of copies the first counts */
}

const struct unit *dwarf_unit_signed(const struct dwarf_file *file, bool type, uint64_t signature)
{
    size_t lo = 0, hi = file->signed_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct unit *unit = file->signed_units[mid];
        if (is_type(unit) < type || (is_type(unit) == type && unit->signature < signature))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == file->signed_count)
        return NULL;
    const struct unit *unit = file->signed_units[lo];
    return is_type(unit) == type && unit->signature == signature ? unit : NULL;
}

static bool index_signatures(struct dwarf_file *file)
{
    size_t count = 0;
    for (size_t i = 0; i < file->unit_count; i++)
        count += file->units[i].signature != 0 || is_type(&file->units[i]);
    if (!count)
        return true;
    file->signed_units = malloc(count * sizeof *file->signed_units);
    if (!file->signed_units)
        return false;
    for (size_t i = 0; i < file->unit_count; i++)
        if (file->units[i].signature != 0 || is_type(&file->units[i]))
            file->signed_units[file->signed_count++] = &file->units[i];
    qsort(file->signed_units, count, sizeof *file->signed_units, by_signature);
    return true;
}

/* ---- abbreviation slots: units of one shape and offset share one ---- */

static int by_table(const void *a, const void *b)
{
    const struct abbrev_slot *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->version != y->version)
        return x->version < y->version ? -1 : 1;
    if (x->address_size != y->address_size)
        return x->address_size < y->address_size ? -1 : 1;
    return (x->offset_size > y->offset_size) - (x->offset_size < y->offset_size);
}

static struct abbrev_slot slot_for(const struct unit *unit)
{
    struct abbrev_slot slot = {.offset = unit->abbrev_start,
                               .version = unit->header.version,
                               .address_size = unit->header.address_size,
                               .offset_size = unit->header.offset_size};
    return slot;
}

static bool index_abbrevs(struct dwarf_file *file)
{
    if (!file->unit_count)
        return true;
    file->slots = calloc(file->unit_count, sizeof *file->slots);
    if (!file->slots)
        return false;
    for (size_t i = 0; i < file->unit_count; i++)
        file->slots[i] = slot_for(&file->units[i]);
    array_sort(file->slots, file->unit_count, sizeof *file->slots, by_table);
    for (size_t i = 0; i < file->unit_count; i++)
        if (!i || by_table(&file->slots[file->slot_count - 1], &file->slots[i]) != 0)
            memcpy(&file->slots[file->slot_count++], &file->slots[i], sizeof *file->slots);
    size_t next = 0; /* units mostly have their slots in order, one each */
    for (size_t i = 0; i < file->unit_count; i++) {
        struct abbrev_slot key = slot_for(&file->units[i]), *slot = &file->slots[next];
        if (next == file->slot_count || by_table(&key, slot) != 0)
            slot = bsearch(&key, file->slots, file->slot_count, sizeof key, by_table);
        file->units[i].abbrevs = slot;
        next = (size_t)(slot - file->slots) + 1;
    }
    return true;
}

fw_error dwarf_file_open(struct dwarf_file *file, struct dwarf *dwarf, struct object *object,
                         enum dwarf_role role, struct fw_failure *why)
{
    *file = (struct dwarf_file){.dwarf = dwarf,
                                .object = object,
                                .dwo = role == ROLE_DWO,
                                .mark = role == ROLE_SUPPLEMENTARY ? (uint64_t)1 << 62 : 0};
    file->swap = object_is_big_endian(object) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    fw_error error = load_sections(file, role, why);
    if (error != FW_OK)
        return error;
    struct indexer x = {.file = file};
    bool good = index_section(&x, SECTION_INFO);
    file->info_count = file->unit_count;
    good = good && index_section(&x, SECTION_TYPES);
    if (good && file->dwo)
        dwarf_package_read(file);
    good = good && index_abbrevs(file) && (!file->dwo || dwarf_split_sign(file)) &&
           index_signatures(file);
    if (good)
        return FW_OK;
    dwarf_file_close(file);
    if (why)
        *why = (struct fw_failure){.code = FW_ERR_MEMORY, .message = "out of memory"};
    return FW_ERR_MEMORY;
}

void dwarf_file_close(struct dwarf_file *file)
{
    for (size_t i = 0; i < file->unit_count; i++)
        free(atomic_load(&file->units[i].root));
    for (size_t i = 0; i < file->slot_count; i++)
        abbrev_table_free(atomic_load(&file->slots[i].table));
    free(file->units);
    free(file->slots);
    free(file->signed_units);
    *file = (struct dwarf_file){0};
}
