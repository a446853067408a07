/*
 * GSYM version 1. The string table is that of the map: its strings keep their offsets.
 *
 * LLVM's reader gives up on a line row of file 0 and forgets an inlined call whose file is 0. Where
 * the map knows no file we therefore name one whose directory and name are both empty, but not both
 * at offset 0: such a reader shows the frame, and no file.
 */
#include "symmap/export.h"
#include "symmap/export_tree.h"
#include "symmap/gsym.h"
#include "symmap/map.h"

#include <stdio.h>

enum { FILE_UNKNOWN = 1, FILES_BEFORE = 2 }; /* 0 is reserved */
enum { ULEB_MAX = 10 };

struct gsym {
    const struct symmap *map;
    struct span strings; /* of the map */
    struct export_files files;
    struct buffer infos; /* functions, their offsets counted from the first */
    uint32_t *starts, *places;
    size_t count, start_capacity, place_capacity;
    uint32_t unknown_name; /* offset of EXPORT_UNKNOWN */
    bool too_large;
};

static bool add_u8(struct buffer *b, unsigned value)
{
    uint8_t byte = (uint8_t)value;
    return buffer_add(b, &byte, 1);
}

static bool add_u32(struct buffer *b, uint64_t value)
{
    uint8_t bytes[4];
    put_u32(bytes, (uint32_t)value);
    return buffer_add(b, bytes, sizeof bytes);
}

static bool add_uleb(struct buffer *b, uint64_t value)
{
    uint8_t bytes[ULEB_MAX];
    return buffer_add(b, bytes, (size_t)(put_uleb(bytes, value) - bytes));
}

static size_t put_sleb(uint8_t *bytes, int64_t value)
{
    size_t n = 0;
    for (;;) {
        uint8_t byte = value & 0x7f;
        value >>= 7;
        bool last = (value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40));
        bytes[n++] = last ? byte : byte | 0x80;
        if (last)
            return n;
    }
}

static bool add_sleb(struct buffer *b, int64_t value)
{
    uint8_t bytes[ULEB_MAX];
    return buffer_add(b, bytes, put_sleb(bytes, value));
}

/* ---- lines ---- */

struct window { /* of line differences that one byte can say */
    int64_t least, range;
};

static size_t leb_size(uint64_t magnitude)
{
    size_t n = 1;
    for (; magnitude >= 0x40; magnitude >>= 7)
        n++;
    return n;
}

/* Bytes that a row takes. */
static size_t row_cost(const struct window *w, uint64_t addresses, int64_t lines)
{
    size_t cost = 1;
    if (lines < w->least || lines >= w->least + w->range) {
        cost += 1 + leb_size((uint64_t)(lines < 0 ? -lines : lines));
        lines = 0;
    }
    uint64_t adjusted = (uint64_t)(lines - w->least) + addresses * (uint64_t)w->range;
    if (adjusted > 255 - GSYM_LINE_SPECIAL)
        cost += leb_size(addresses >> 1) + (lines ? 2 : 0);
    return cost;
}

/* The best of a few windows. All have the difference 0. */
static struct window best_window(const struct export_function *f)
{
    static const struct window windows[] = {{-4, 15}, {-2, 8},   {-1, 4},  {-8, 25},
                                            {0, 1},   {-16, 36}, {-1, 10}, {-3, 20}};
    enum { COUNT = sizeof windows / sizeof windows[0], ENOUGH = 512 };
    size_t cost[COUNT] = {0}, best = 0;
    for (size_t i = 1; i < f->row_count && i < ENOUGH; i++) {
        uint64_t addresses = f->rows[i].lo - f->rows[i - 1].lo;
        int64_t lines = (int64_t)f->rows[i].line - f->rows[i - 1].line;
        for (size_t k = 0; k < COUNT; k++)
            cost[k] += row_cost(&windows[k], addresses, lines);
    }
    for (size_t k = 1; k < COUNT; k++)
        if (cost[k] < cost[best])
            best = k;
    return windows[best];
}

static uint32_t file_number(uint32_t file)
{
    return file ? file - 1 + FILES_BEFORE : FILE_UNKNOWN;
}

static bool add_row(struct buffer *b, const struct window *w, uint64_t addresses, int64_t lines)
{
    if (lines < w->least || lines >= w->least + w->range) {
        if (!add_u8(b, GSYM_LINE_LINE) || !add_sleb(b, lines))
            return false;
        lines = 0;
    }
    uint64_t most = 255 - GSYM_LINE_SPECIAL;
    if (addresses <= most && (uint64_t)(lines - w->least) + addresses * (uint64_t)w->range <= most)
        return add_u8(
            b, (unsigned)(GSYM_LINE_SPECIAL + (lines - w->least) + (int64_t)addresses * w->range));
    if (lines && (!add_u8(b, GSYM_LINE_LINE) || !add_sleb(b, lines)))
        return false;
    return add_u8(b, GSYM_LINE_ADDRESS) && add_uleb(b, addresses);
}

static bool add_lines(struct buffer *b, const struct export_function *f)
{
    struct window w = best_window(f);
    uint32_t file = 1, line = f->rows[0].line;
    uint64_t at = f->lo;
    bool good = add_sleb(b, w.least) && add_sleb(b, w.least + w.range - 1) && add_uleb(b, line);
    for (size_t i = 0; good && i < f->row_count; i++) {
        const struct export_row *row = &f->rows[i];
        if (file_number(row->file) != file) {
            file = file_number(row->file);
            good = add_u8(b, GSYM_LINE_FILE) && add_uleb(b, file);
        }
        good = good && add_row(b, &w, row->lo - at, (int64_t)row->line - line);
        at = row->lo;
        line = row->line;
    }
    return good && add_u8(b, GSYM_LINE_END);
}

/* ---- inlined calls ---- */

static uint64_t name_offset(const struct gsym *g, const char *name)
{
    return name && name[0] ? (uint64_t)((const uint8_t *)name - g->strings.data) : g->unknown_name;
}

/* Depth is that of the map's contexts: DEPTH_LIMIT. */
static bool add_call(const struct gsym *g, struct buffer *b, const struct export_function *f,
                     uint32_t number, uint64_t base)
{
    const struct export_call *call = &f->calls[number];
    const struct export_range *ranges = &f->ranges[call->first_range];
    bool good = add_uleb(b, call->range_count);
    for (uint32_t i = 0; good && i < call->range_count; i++)
        good = add_uleb(b, ranges[i].lo - base) && add_uleb(b, ranges[i].hi - ranges[i].lo);
    bool children = call->first_child != EXPORT_NONE;
    good = good && add_u8(b, children) && add_u32(b, name_offset(g, call->name)) &&
           add_uleb(b, file_number(call->call_file)) && add_uleb(b, call->call_line);
    for (uint32_t i = call->first_child; good && i != EXPORT_NONE; i = f->calls[i].next)
        good = add_call(g, b, f, i, ranges[0].lo);
    return good && (!children || add_uleb(b, 0));
}

static bool add_inlines(const struct gsym *g, struct buffer *b, const struct export_function *f)
{
    bool good = add_uleb(b, 1) && add_uleb(b, 0) && add_uleb(b, f->hi - f->lo) && add_u8(b, 1) &&
                add_u32(b, name_offset(g, f->name)) && add_uleb(b, 0) && add_uleb(b, 0);
    for (uint32_t i = f->first_call; good && i != EXPORT_NONE; i = f->calls[i].next)
        good = add_call(g, b, f, i, f->lo);
    return good && add_uleb(b, 0);
}

/* ---- functions ---- */

/* Kind and a length that is filled in when what follows is there. */
static bool begin_info(struct buffer *b, uint32_t kind, size_t *length)
{
    bool good = add_u32(b, kind) && add_u32(b, 0);
    *length = b->size;
    return good;
}

static void end_info(struct buffer *b, size_t length)
{
    put_u32(b->data + length - 4, (uint32_t)(b->size - length));
}

static bool add_function(void *context, const struct export_function *f)
{
    struct gsym *g = context;
    struct buffer *b = &g->infos;
    if (!f->name && !f->has_lines)
        return true; /* only bounds: nothing to say */
    while (b->size % 4)
        if (!add_u8(b, 0))
            return false;
    g->too_large |= b->size > UINT32_MAX || f->hi > UINT32_MAX;
    if (!array_room(&g->starts, &g->start_capacity, g->count, sizeof *g->starts) ||
        !array_room(&g->places, &g->place_capacity, g->count, sizeof *g->places))
        return false;
    g->starts[g->count] = (uint32_t)f->lo;
    g->places[g->count++] = (uint32_t)b->size;
    size_t length;
    bool good = add_u32(b, f->hi - f->lo) && add_u32(b, name_offset(g, f->name));
    if (good && (f->has_lines || f->call_count)) {
        good = begin_info(b, GSYM_INFO_LINES, &length) && add_lines(b, f);
        if (good)
            end_info(b, length);
    }
    if (good && f->call_count) {
        good = begin_info(b, GSYM_INFO_INLINES, &length) && add_inlines(g, b, f);
        if (good)
            end_info(b, length);
    }
    return good && add_u32(b, GSYM_INFO_END) && add_u32(b, 0);
}

/* ---- the file ---- */

static unsigned offset_size(const struct gsym *g)
{
    uint32_t last = g->count ? g->starts[g->count - 1] : 0;
    return last <= UINT8_MAX ? 1 : last <= UINT16_MAX ? 2 : 4;
}

static bool pad(struct buffer *b)
{
    bool good = true;
    while (good && b->size % 4)
        good = add_u8(b, 0);
    return good;
}

static bool add_header(const struct gsym *g, struct buffer *b)
{
    const struct symmap_identity *id = symmap_identity(g->map);
    uint8_t header[GSYM_HEADER_SIZE] = {0};
    uint32_t size = id->id_size < GSYM_UUID_SIZE ? id->id_size : GSYM_UUID_SIZE;
    put_u32(header, GSYM_MAGIC);
    put_u16(header + 4, 1);
    header[6] = (uint8_t)offset_size(g);
    header[7] = (uint8_t)size;
    put_u64(header + 8, id->base);
    put_u32(header + 16, (uint32_t)g->count);
    memcpy(header + 28, id->id, size);
    return buffer_add(b, header, sizeof header);
}

static bool add_tables(struct gsym *g, struct buffer *b, size_t *places)
{
    unsigned size = offset_size(g);
    bool good = true;
    for (size_t i = 0; good && i < g->count; i++) {
        uint8_t bytes[4];
        put_u32(bytes, g->starts[i]);
        good = buffer_add(b, bytes, size);
    }
    good = good && pad(b);
    *places = b->size;
    for (size_t i = 0; good && i < g->count; i++)
        good = add_u32(b, 0);
    return good;
}

static bool add_files(const struct gsym *g, struct buffer *b)
{
    const uint8_t *strings = g->strings.data;
    uint32_t empty = (uint32_t)g->strings.size - 1; /* the NUL that ends the last string */
    bool good = add_u32(b, g->files.count + FILES_BEFORE) && add_u32(b, 0) && add_u32(b, 0) &&
                add_u32(b, empty) && add_u32(b, 0);
    for (size_t i = 0; good && i < g->files.count; i++) {
        const struct export_file *file = &g->files.items[i];
        const char *directory = file->directory;
        good =
            add_u32(b, directory && directory[0] ? (uint64_t)((const uint8_t *)directory - strings)
                                                 : 0) &&
            add_u32(b, file->name[0] ? (uint64_t)((const uint8_t *)file->name - strings) : empty);
    }
    return good;
}

static fw_error put_together(struct gsym *g, struct buffer *b)
{
    size_t places;
    if (!add_header(g, b) || !add_tables(g, b, &places) || !add_files(g, b))
        return FW_ERR_MEMORY;
    size_t string_place = b->size;
    if (!buffer_add(b, g->strings.data, g->strings.size) ||
        !buffer_add(b, EXPORT_UNKNOWN, sizeof EXPORT_UNKNOWN) || !pad(b))
        return FW_ERR_MEMORY;
    size_t first = b->size;
    if (!buffer_add(b, g->infos.data, g->infos.size))
        return FW_ERR_MEMORY;
    if (g->too_large || b->size > UINT32_MAX)
        return FW_ERR_UNSUPPORTED;
    for (size_t i = 0; i < g->count; i++)
        put_u32(b->data + places + 4 * i, (uint32_t)first + g->places[i]);
    put_u32(b->data + 20, (uint32_t)string_place);
    put_u32(b->data + 24, (uint32_t)(g->strings.size + sizeof EXPORT_UNKNOWN));
    return FW_OK;
}

fw_error export_gsym(const struct symmap *map, uint8_t **bytes, size_t *size,
                     struct fw_failure *why)
{
    struct gsym g = {.map = map, .strings = map->section[SECTION_STRINGS]};
    if (!g.strings.size)
        g.strings = (struct span){(const uint8_t *)"", 1};
    g.unknown_name = (uint32_t)g.strings.size;
    struct buffer file = {0};
    fw_error error = export_each(map, &g.files, add_function, &g);
    if (error == FW_OK)
        error = put_together(&g, &file);
    export_files_free(&g.files);
    free(g.infos.data);
    free(g.starts);
    free(g.places);
    if (error != FW_OK) {
        free(file.data);
        if (why) {
            *why = (struct fw_failure){.code = error};
            snprintf(why->message, sizeof why->message, "%s",
                     error == FW_ERR_UNSUPPORTED
                         ? "GSYM: more than 4 GB, which version 1 cannot say"
                         : fw_error_text(error));
        }
        return error;
    }
    *bytes = file.data;
    *size = file.size;
    return FW_OK;
}
