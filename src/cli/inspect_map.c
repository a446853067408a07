/* What a symbol map holds. */
#include "cli/inspect.h"
#include "symmap/export.h"
#include "symmap/map.h"

#include <stdlib.h>

struct counts {
    uint64_t rows, gaps, frames, deepest, covered, lines;
};

static bool count_row(void *context, const struct symmap_row *row)
{
    struct counts *c = context;
    if (!row->frame_count) {
        c->gaps++;
        return true;
    }
    c->rows++;
    c->frames += row->frame_count;
    c->covered += row->hi - row->lo;
    c->lines += row->frames[0].line != 0;
    if (row->frame_count - 1 > c->deepest)
        c->deepest = row->frame_count - 1;
    return true;
}

static void add_identity(const struct symmap *map, json_t *to)
{
    static const char *const kinds[] = {"none", "build id", "UUID", "hash of the text"};
    const struct symmap_identity *id = symmap_identity(map);
    char text[BREAKPAD_ID_SIZE];
    inspect_text(to, "architecture", id->arch[0] ? id->arch : "unknown");
    inspect_text(to, "identity", id->id_kind < 4 ? kinds[id->id_kind] : "unknown");
    inspect_bytes(to, id->id_kind == SYMMAP_ID_UUID ? "uuid" : "build_id", id->id, id->id_size);
    if (id->id_size) {
        breakpad_id(id->id, id->id_size, id->id_kind == SYMMAP_ID_UUID, text);
        inspect_text(to, "debug_id", text);
    }
    inspect_hex(to, "base", id->base);
    if (id->object[0])
        inspect_text(to, "image", id->object);
    if (id->producer[0])
        inspect_text(to, "producer", id->producer);
    if (id->converter[0])
        inspect_text(to, "converter", id->converter);
}

static void add_sections(struct span bytes, json_t *to)
{
    json_t *table = inspect_table(to, "sections");
    for (uint32_t i = 0; i < get_u32(bytes.data + HEADER_SECTIONS); i++) {
        const uint8_t *p = bytes.data + HEADER_SIZE + (size_t)i * ENTRY_SIZE;
        uint32_t id = get_u32(p + ENTRY_ID);
        json_t *entry = inspect_entry(table);
        inspect_text(entry, "name", section_name(id));
        inspect_hex(entry, "offset", get_u64(p + ENTRY_OFFSET));
        inspect_number(entry, "size", get_u64(p + ENTRY_LENGTH));
    }
}

static void add_counts(const struct symmap *map, struct span bytes, json_t *to)
{
    struct counts counts = {0};
    symmap_each_row(map, count_row, &counts);
    json_t *numbers = json_object();
    inspect_number(numbers, "functions", map->function_count);
    inspect_number(numbers, "aliases", map->alias_count);
    inspect_number(numbers, "rows", counts.rows);
    inspect_number(numbers, "rows_with_line", counts.lines);
    inspect_number(numbers, "gaps", counts.gaps);
    inspect_number(numbers, "deepest_inlining", counts.deepest);
    inspect_number(numbers, "code_bytes", counts.covered);
    inspect_number(numbers, "subjects", map->subject_count);
    inspect_number(numbers, "files", map->file_count);
    inspect_number(numbers, "blocks", map->block_count);
    inspect_number(numbers, "calls", map->call_count);
    json_object_set_new(numbers, "columns", json_boolean(map->columns));
    if (counts.rows && bytes.size) {
        json_object_set_new(numbers, "bytes_a_row",
                            json_real((double)bytes.size / (double)counts.rows));
        json_object_set_new(
            numbers, "code_bytes_a_row",
            json_real((double)map->section[SECTION_CODE].size / (double)counts.rows));
    }
    json_object_set_new(to, "contents", numbers);
}

static void add_functions(const struct symmap *map, json_t *to)
{
    json_t *table = inspect_table(to, "functions");
    uint64_t base = symmap_identity(map)->base;
    for (uint32_t i = 0; i < symmap_function_count(map); i++) {
        struct symmap_function function;
        if (!symmap_function(map, i, &function))
            continue;
        json_t *entry = inspect_entry(table);
        inspect_hex(entry, "address", base + function.start);
        inspect_number(entry, "size", function.size);
        inspect_text(entry, "from",
                     function.flags & SYMMAP_FRAME_PLT           ? "stub"
                     : function.flags & SYMMAP_FRAME_SYNTHESIZED ? "bounds"
                     : function.flags & SYMMAP_FRAME_FROM_SYMBOL ? "symbol"
                                                                 : "debug");
        inspect_text(entry, "name", function.name ? function.name : "");
        for (size_t k = 0; k < symmap_alias_count(map, i); k++) {
            const char *alias = symmap_alias(map, i, k);
            json_t *further = inspect_entry(table);
            inspect_hex(further, "address", base + function.start);
            inspect_number(further, "size", function.size);
            inspect_text(further, "from", "alias");
            inspect_text(further, "name", alias ? alias : "");
        }
    }
}

static void set_path(json_t *to, const char *directory, const char *name)
{
    char path[8192];
    size_t size = directory ? strlen(directory) : 0;
    snprintf(path, sizeof path, "%s%s%s", size ? directory : "",
             size && directory[size - 1] != '/' ? "/" : "", name ? name : "");
    inspect_text(to, "file", path);
}

static void add_files(const struct symmap *map, json_t *to)
{
    json_t *table = inspect_table(to, "files");
    for (uint32_t i = 0; i < map->file_count; i++) {
        struct format_pair file = map_pair(map, SECTION_FILES, i);
        set_path(inspect_entry(table), map_string(map, file.key), map_string(map, file.value));
    }
}

/* ---- one address ---- */

struct wanted {
    uint64_t offset, base;
    json_t *to;
    bool found;
};

static bool take_row(void *context, const struct symmap_row *row)
{
    struct wanted *w = context;
    if (row->hi <= w->offset)
        return true;
    if (row->lo > w->offset || !row->frame_count)
        return false;
    json_t *at = json_object(), *table;
    w->found = true;
    inspect_hex(at, "from", w->base + row->lo);
    inspect_hex(at, "to", w->base + row->hi);
    json_object_set_new(w->to, "row", at);
    table = inspect_table(w->to, "frames");
    for (size_t i = 0; i < row->frame_count; i++) {
        const struct symmap_frame *frame = &row->frames[i];
        json_t *entry = inspect_entry(table);
        inspect_text(entry, "function", frame->name ? frame->name : "");
        inspect_text(entry, "how",
                     frame->flags & SYMMAP_FRAME_INLINED       ? "inlined"
                     : frame->flags & SYMMAP_FRAME_FROM_SYMBOL ? "symbol"
                     : frame->flags & SYMMAP_FRAME_PART        ? "part"
                                                               : "function");
        inspect_hex(entry, "start", w->base + frame->start);
        inspect_number(entry, "size", frame->size);
        inspect_number(entry, "line", frame->line);
        inspect_number(entry, "column", frame->column);
        set_path(entry, frame->directory, frame->file);
    }
    return false;
}

bool inspect_map(const struct symmap *map, struct span bytes, const struct inspect_options *options,
                 json_t *to)
{
    add_identity(map, to);
    if (options->has_address) {
        uint64_t base = symmap_identity(map)->base;
        struct wanted wanted = {options->address - base, base, to, false};
        if (options->address >= base)
            symmap_each_row(map, take_row, &wanted);
        inspect_hex(to, "address", options->address);
        json_object_set_new(to, "known", json_boolean(wanted.found));
        return wanted.found;
    }
    add_counts(map, bytes, to);
    if (bytes.size)
        add_sections(bytes, to);
    if (options->functions)
        add_functions(map, to);
    if (options->files)
        add_files(map, to);
    return true;
}
