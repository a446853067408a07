/*
 * GSYM, version 1 (llvm/DebugInfo/GSYM/Header.h) and 2 (HeaderV2.h, GlobalData.h). Version 2 has
 * 64-bit offsets, also of strings within functions, and a directory of sections. A file of the
 * other byte order is told by its magic number.
 *
 * A function that cannot be read refuses the file: there is no way to tell what else is wrong.
 */
#include "base/array.h"
#include "symmap/gsym.h"
#include "symmap/import_unit.h"

struct gsym {
    struct import *import;
    struct span bytes;
    bool swap;
    unsigned version;
    unsigned address_size, offset_size; /* of the tables */
    uint32_t count;                     /* of functions */
    uint64_t base;
    struct span section[GSYM_SECTION_COUNT];
    uint64_t info_base; /* what offsets of functions count from */
    uint64_t budget;    /* items that may still be added */
    uint64_t lo, hi;    /* of the function at hand */
};

enum { ITEMS_A_BYTE = 4, ITEMS_ALWAYS = 1024 };

bool import_is_gsym(struct span bytes)
{
    struct reader r = reader_over(bytes.data, bytes.size);
    uint32_t magic = reader_u32(&r);
    return !r.failed && (magic == GSYM_MAGIC || magic == __builtin_bswap32(GSYM_MAGIC));
}

static fw_error corrupt(struct gsym *g, uint64_t place, const char *what)
{
    return import_fail(g->import, FW_ERR_CORRUPT, place, "GSYM: %s at 0x%llx", what,
                       (unsigned long long)place);
}

static uint64_t place_of(const struct gsym *g, const struct reader *r)
{
    return (uint64_t)(r->pos - g->bytes.data);
}

static bool take(struct gsym *g)
{
    if (!g->budget)
        return false;
    g->budget--;
    return true;
}

/* ---- header ---- */

static bool set_section(struct gsym *g, unsigned kind, uint64_t offset, uint64_t size)
{
    if (offset > g->bytes.size || size > g->bytes.size - offset)
        return false;
    g->section[kind] = (struct span){g->bytes.data + offset, (size_t)size};
    return true;
}

static void set_identity(struct gsym *g, const uint8_t *id, size_t size)
{
    struct symmap_identity *identity = &g->import->identity;
    identity->base = g->base;
    identity->id_size = (uint32_t)(size < sizeof identity->id ? size : sizeof identity->id);
    if (identity->id_size) {
        memcpy(identity->id, id, identity->id_size);
        identity->id_kind = SYMMAP_ID_BUILD_ID;
    }
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static fw_error header_1(struct gsym *g, struct reader *r)
{
    unsigned uuid_size = reader_u8(r);
    g->base = reader_u64(r);
    g->count = reader_u32(r);
    uint64_t strings = reader_u32(r), string_size = reader_u32(r);
    const uint8_t *uuid;
    if (!reader_take(r, GSYM_UUID_SIZE, &uuid))
        return corrupt(g, 0, "the header is cut off");
    if (uuid_size > GSYM_UUID_SIZE)
        return corrupt(g, 7, "a UUID of more than 20 bytes");
    set_identity(g, uuid, uuid_size);
    g->offset_size = 4;
    uint64_t addresses = round_up(GSYM_HEADER_SIZE, g->address_size);
    uint64_t infos = round_up(addresses + (uint64_t)g->count * g->address_size, 4);
    uint64_t files = infos + (uint64_t)g->count * 4;
    if (!set_section(g, GSYM_ADDRESSES, addresses, (uint64_t)g->count * g->address_size) ||
        !set_section(g, GSYM_INFO_OFFSETS, infos, (uint64_t)g->count * 4) ||
        !set_section(g, GSYM_FILES, files, g->bytes.size > files ? g->bytes.size - files : 0) ||
        !set_section(g, GSYM_STRINGS, strings, string_size) ||
        !set_section(g, GSYM_FUNCTIONS, 0, g->bytes.size))
        return corrupt(g, 16, "tables beyond the end of the file");
    return FW_OK;
}

static fw_error header_2(struct gsym *g, struct reader *r)
{
    if (reader_u8(r) != 0)
        return import_fail(g->import, FW_ERR_UNSUPPORTED, 7, "GSYM: unknown kind of strings");
    g->base = reader_u64(r);
    g->count = reader_u32(r);
    g->offset_size = 8;
    for (;;) {
        uint64_t place = place_of(g, r);
        uint32_t kind = reader_u32(r);
        uint64_t offset = reader_u64(r), size = reader_u64(r);
        if (r->failed)
            return corrupt(g, place, "the directory is cut off");
        if (kind == GSYM_ENTRIES_END)
            break;
        if (kind < GSYM_SECTION_COUNT && !set_section(g, kind, offset, size))
            return corrupt(g, place, "a section beyond the end of the file");
    }
    set_identity(g, g->section[GSYM_UUID].data, g->section[GSYM_UUID].size);
    if (g->section[GSYM_ADDRESSES].size < (uint64_t)g->count * g->address_size ||
        g->section[GSYM_INFO_OFFSETS].size < (uint64_t)g->count * g->offset_size)
        return corrupt(g, 16, "tables shorter than their count");
    return FW_OK;
}

static fw_error read_header(struct gsym *g)
{
    struct reader r = reader_over(g->bytes.data, g->bytes.size);
    g->swap = reader_u32(&r) != GSYM_MAGIC;
    r.swap = g->swap;
    g->version = reader_u16(&r);
    g->address_size = reader_u8(&r);
    if (r.failed || (g->version != 1 && g->version != 2))
        return import_fail(g->import, FW_ERR_UNSUPPORTED, 4, "GSYM: version %u is not known",
                           g->version);
    if (g->address_size != 1 && g->address_size != 2 && g->address_size != 4 &&
        g->address_size != 8)
        return corrupt(g, 6, "addresses of an odd size");
    fw_error error = g->version == 1 ? header_1(g, &r) : header_2(g, &r);
    struct span strings = g->section[GSYM_STRINGS];
    if (error == FW_OK && (!strings.size || strings.data[strings.size - 1]))
        error = corrupt(g, 20, "strings that do not end");
    return error;
}

/* ---- strings and files ---- */

static const char *string_at(const struct gsym *g, uint64_t offset)
{
    return offset < g->section[GSYM_STRINGS].size
               ? (const char *)g->section[GSYM_STRINGS].data + offset
               : NULL;
}

/* A string offset within tables and functions. */
static uint64_t string_offset(const struct gsym *g, struct reader *r)
{
    return reader_uint(r, g->offset_size);
}

/* File numbers of GSYM are ours: 0 is none in both. */
static fw_error read_files(struct gsym *g)
{
    struct reader r = reader_over(g->section[GSYM_FILES].data, g->section[GSYM_FILES].size);
    r.swap = g->swap;
    uint32_t count = reader_u32(&r);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t place = place_of(g, &r);
        const char *directory = string_at(g, string_offset(g, &r));
        const char *name = string_at(g, string_offset(g, &r));
        if (r.failed || !directory || !name)
            return corrupt(g, place, "a bad entry of the file table");
        if (i > 0 && !import_file(g->import, directory, name))
            return import_no_memory(g->import);
    }
    return FW_OK;
}

/* ---- functions ---- */

static fw_error add_row(struct gsym *g, const struct reader *r, uint64_t address, uint32_t file,
                        int64_t line)
{
    if (!take(g))
        return corrupt(g, place_of(g, r), "more rows than the file can hold");
    if (line < 0 || line > UINT32_MAX)
        return corrupt(g, place_of(g, r), "a line out of range");
    return import_line(g->import, address, file, (uint32_t)line) ? FW_OK
                                                                 : import_no_memory(g->import);
}

/* The address within the function that `step` more leads to; false beyond its end. */
static bool step_address(const struct gsym *g, uint64_t *address, uint64_t step)
{
    if (step > g->hi - *address)
        return false;
    *address += step;
    return true;
}

static fw_error read_lines(struct gsym *g, struct reader r)
{
    int64_t least = reader_sleb(&r), greatest = reader_sleb(&r);
    int64_t line = (int64_t)(reader_uleb(&r) & UINT32_MAX);
    if (r.failed || least > greatest || least < -0x10000 || greatest > 0x10000)
        return corrupt(g, place_of(g, &r), "a malformed line table");
    int64_t range = greatest - least + 1;
    uint64_t address = g->lo, file = 1;
    for (;;) {
        unsigned op = reader_u8(&r);
        uint64_t step = 0;
        if (r.failed || op == GSYM_LINE_END)
            break;
        if (op == GSYM_LINE_FILE) {
            file = reader_uleb(&r);
            continue;
        }
        if (op == GSYM_LINE_LINE) {
            int64_t lines = reader_sleb(&r);
            if (lines > UINT32_MAX || lines < -(int64_t)UINT32_MAX)
                return corrupt(g, place_of(g, &r), "a line out of range");
            line += lines;
            if (line > 2 * (int64_t)UINT32_MAX || line < -2 * (int64_t)UINT32_MAX)
                return corrupt(g, place_of(g, &r), "a line out of range");
            continue;
        }
        if (op == GSYM_LINE_ADDRESS) {
            step = reader_uleb(&r);
        } else {
            line += least + (op - GSYM_LINE_SPECIAL) % range;
            step = (uint64_t)((op - GSYM_LINE_SPECIAL) / range);
        }
        if (r.failed || !step_address(g, &address, step))
            return corrupt(g, place_of(g, &r), "a line row outside of its function");
        fw_error error = add_row(g, &r, address, file > UINT32_MAX ? 0 : (uint32_t)file, line);
        if (error != FW_OK)
            return error;
    }
    if (r.failed)
        return corrupt(g, place_of(g, &r), "a line table that is cut off");
    return import_lines_end(g->import, g->hi) ? FW_OK : import_no_memory(g->import);
}

struct level { /* of the tree of inlined calls */
    uint32_t call;
    uint64_t base; /* what ranges of children count from */
};

/* Ranges of one call. *base is the start of the first. */
static fw_error read_ranges(struct gsym *g, struct reader *r, uint64_t count, bool keep,
                            uint64_t *base)
{
    uint64_t from = *base;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t place = place_of(g, r);
        uint64_t start = reader_uleb(r), size = reader_uleb(r);
        if (r->failed || start > UINT64_MAX - from || size > UINT64_MAX - from - start || !take(g))
            return corrupt(g, place, "a bad range of an inlined call");
        if (i == 0)
            *base = from + start;
        if (keep && !import_range(g->import, from + start, from + start + size))
            return import_no_memory(g->import);
    }
    return FW_OK;
}

/* The outermost entry is the function itself. */
static fw_error read_inlines(struct gsym *g, struct reader r)
{
    struct level levels[IMPORT_DEPTH_MAX + 1];
    size_t depth = 0; /* levels whose children are being read */
    levels[0] = (struct level){DWARF_NONE, g->lo};
    for (bool first = true; first || depth; first = false) {
        uint64_t place = place_of(g, &r), count = reader_uleb(&r);
        if (!count && !r.failed && !first) {
            depth--;
            continue;
        }
        struct level level = {DWARF_NONE, first ? g->lo : levels[depth - 1].base};
        /* The name stands behind the ranges, the importer wants it before. */
        struct reader ahead = r;
        for (uint64_t i = 0; i < 2 * count && !ahead.failed; i++)
            reader_uleb(&ahead);
        bool children = reader_u8(&ahead) != 0;
        const char *name = string_at(g, string_offset(g, &ahead));
        uint64_t file = reader_uleb(&ahead), line = reader_uleb(&ahead);
        if (ahead.failed || !name || !count || !take(g))
            return corrupt(g, place, "a bad inlined call");
        if (!first && !import_call(g->import, levels[depth - 1].call, name,
                                   file > UINT32_MAX ? 0 : (uint32_t)file,
                                   line > UINT32_MAX ? 0 : (uint32_t)line, &level.call))
            return import_no_memory(g->import);
        fw_error error = read_ranges(g, &r, count, !first, &level.base);
        if (error != FW_OK)
            return error;
        r = ahead;
        if (!children)
            continue;
        if (depth == IMPORT_DEPTH_MAX)
            return corrupt(g, place, "inlined calls nested too deep");
        levels[depth++] = level;
    }
    return FW_OK;
}

static fw_error read_function(struct gsym *g, struct reader r, uint64_t lo, bool merged);

/* Functions that share the code of this one: u32 count, each a u32 size and a function. */
static fw_error read_merged(struct gsym *g, struct reader r, uint64_t lo)
{
    uint32_t count = reader_u32(&r);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t place = place_of(g, &r);
        struct reader one = reader_sub(&r, reader_u32(&r));
        if (r.failed)
            return corrupt(g, place, "merged functions that are cut off");
        fw_error error = read_function(g, one, lo, true);
        if (error != FW_OK)
            return error;
    }
    return FW_OK;
}

static fw_error read_infos(struct gsym *g, struct reader *r, bool merged)
{
    for (;;) {
        uint64_t place = place_of(g, r), lo = g->lo, hi = g->hi;
        uint32_t kind = reader_u32(r), size = reader_u32(r);
        struct reader contents = reader_sub(r, size);
        if (r->failed)
            return corrupt(g, place, "a function that is cut off");
        fw_error error = FW_OK;
        if (kind == GSYM_INFO_END)
            return FW_OK;
        if (kind == GSYM_INFO_LINES)
            error = read_lines(g, contents);
        else if (kind == GSYM_INFO_INLINES)
            error = read_inlines(g, contents);
        else if (kind == GSYM_INFO_MERGED && !merged)
            error = read_merged(g, contents, lo);
        g->lo = lo;
        g->hi = hi;
        if (error != FW_OK)
            return error;
    }
}

static fw_error read_function(struct gsym *g, struct reader r, uint64_t lo, bool merged)
{
    uint64_t place = place_of(g, &r);
    uint32_t size = reader_u32(&r);
    const char *name = string_at(g, string_offset(g, &r));
    if (r.failed || !name || lo > UINT64_MAX - size || !take(g))
        return corrupt(g, place, "a bad function");
    if (!size) /* a label: its end is not known */
        return FW_OK;
    g->lo = lo;
    g->hi = lo + size;
    if (!import_function(g->import, lo, g->hi, name))
        return import_no_memory(g->import);
    return read_infos(g, &r, merged);
}

static fw_error read_functions(struct gsym *g)
{
    struct reader addresses =
        reader_over(g->section[GSYM_ADDRESSES].data, g->section[GSYM_ADDRESSES].size);
    struct reader offsets =
        reader_over(g->section[GSYM_INFO_OFFSETS].data, g->section[GSYM_INFO_OFFSETS].size);
    addresses.swap = offsets.swap = g->swap;
    struct span functions = g->section[GSYM_FUNCTIONS];
    for (uint32_t i = 0; i < g->count; i++) {
        uint64_t address = reader_uint(&addresses, g->address_size);
        uint64_t offset = reader_uint(&offsets, g->offset_size);
        struct reader r = reader_at(functions.data, functions.size, offset);
        r.swap = g->swap;
        if (addresses.failed || offsets.failed || r.failed || address > UINT64_MAX - g->base)
            return corrupt(g, (uint64_t)i, "a bad entry of the address table");
        fw_error error = read_function(g, r, g->base + address, false);
        if (error != FW_OK)
            return error;
    }
    return FW_OK;
}

fw_error import_gsym(struct import *import, struct span bytes)
{
    struct gsym g = {.import = import,
                     .bytes = bytes,
                     .budget = (uint64_t)bytes.size * ITEMS_A_BYTE + ITEMS_ALWAYS};
    fw_error error = read_header(&g);
    if (error == FW_OK)
        error = read_files(&g);
    return error == FW_OK ? read_functions(&g) : error;
}
