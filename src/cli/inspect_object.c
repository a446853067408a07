/* What an ELF or Mach-O file holds: identity, segments, code and debug sections, debug
 * information, symbols. */
#include "cli/inspect.h"

#include "dwarf/constants.h"
#include "dwarf/dwarf.h"
#include "object/debug_map.h"
#include "object/debug_sections.h"
#include "symmap/export.h"

#include <stdlib.h>
#include <string.h>

static const char *type_name(const struct object *object)
{
    static const char *const names[] = {
        "file", "executable", "shared object", "relocatable object", "core file", "dSYM"};
    enum object_type type = object_type(object);
    return type <= OBJECT_DSYM ? names[type] : "file";
}

static void add_identity(struct object *object, json_t *to)
{
    bool macho = object_is_macho(object);
    struct span id = object_build_id(object);
    char text[64], debug_id[BREAKPAD_ID_SIZE];
    snprintf(text, sizeof text, "%s %s", macho ? "Mach-O" : "ELF", type_name(object));
    inspect_text(to, "kind", text);
    inspect_text(to, "architecture", object_arch_name(object));
    snprintf(text, sizeof text, "%u-bit, %s-endian", object_is_64(object) ? 64 : 32,
             object_is_big_endian(object) ? "big" : "little");
    inspect_text(to, "layout", text);
    inspect_bytes(to, macho ? "uuid" : "build_id", id.data, id.size);
    if (id.size) {
        breakpad_id(id.data, id.size, macho, debug_id);
        inspect_text(to, "debug_id", debug_id);
    }
    inspect_hex(to, "base", object_base(object));
    if (object_entry(object))
        inspect_hex(to, "entry", object_entry(object));
    if (object_is_truncated(object))
        json_object_set_new(to, "truncated", json_true());
}

static void add_links(struct object *object, json_t *to)
{
    const char *path;
    struct span id;
    uint32_t crc;
    if (object_debuglink(object, &path, &crc)) {
        char text[4200];
        snprintf(text, sizeof text, "%.4000s, CRC 0x%08x", path, crc);
        inspect_text(to, "debug_link", text);
    }
    if (object_debugaltlink(object, &path, &id)) {
        inspect_text(to, "supplementary", path);
        inspect_bytes(to, "supplementary_id", id.data, id.size);
    }
}

static void add_segments(const struct object *object, json_t *to)
{
    json_t *table = inspect_table(to, "segments");
    for (size_t i = 0; i < object_segment_count(object); i++) {
        const struct object_segment *segment = object_segment(object, i);
        json_t *entry = inspect_entry(table);
        const char flags[] = {segment->readable ? 'r' : '-', segment->writable ? 'w' : '-',
                              segment->executable ? 'x' : '-', '\0'};
        inspect_hex(entry, "address", segment->vaddr);
        inspect_number(entry, "memory", segment->memory_size);
        inspect_number(entry, "in_file", segment->file_size);
        inspect_text(entry, "access", flags);
    }
}

enum { ELF_COMPRESSED = 0x800 }; /* SHF_COMPRESSED */

static bool is_debug(const char *name)
{
    static const char *const starts[] = {".debug_",    ".zdebug_",   "__debug_",  "__zdebug_",
                                         "__apple_",   ".gnu_debug", ".eh_frame", "__unwind_info",
                                         "__eh_frame", ".ARM.ex"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* The size of a compressed section when it is unpacked; 0 when it cannot be. */
static uint64_t unpacked(struct object *object, const char *name)
{
    struct span data;
    struct fw_failure why = {0};
    const char *rest = strstr(name, "debug_");
    return rest && object_debug_section(object, rest + 6, false, &data, &why) == FW_OK ? data.size
                                                                                       : 0;
}

static const char *what_of(const struct object_section *section, bool packed)
{
    if (section->code)
        return "code";
    if (packed)
        return "debug, compressed";
    return strstr(section->name, "debug") || strstr(section->name, "apple") ? "debug" : "unwind";
}

static void add_sections(struct object *object, json_t *to)
{
    json_t *table = inspect_table(to, "sections");
    struct object_section section;
    for (size_t i = 0; i < object_section_count(object); i++) {
        if (!object_section_at(object, i, &section) || !(section.code || is_debug(section.name)))
            continue;
        json_t *entry = inspect_entry(table);
        bool packed = strncmp(section.name, ".zdebug_", 8) == 0 ||
                      strncmp(section.name, "__zdebug_", 9) == 0 ||
                      (!object_is_macho(object) && section.flags & ELF_COMPRESSED);
        inspect_text(entry, "name", section.name);
        inspect_hex(entry, "address", section.vaddr);
        inspect_number(entry, "size", section.size);
        inspect_number(entry, "unpacked", packed ? unpacked(object, section.name) : section.size);
        inspect_text(entry, "what", what_of(&section, packed));
    }
}

/* ---- debug information ---- */

struct tally { /* how often each text appears */
    struct {
        const char *text;
        uint64_t count;
    } *items;
    size_t count, capacity;
};

enum { TALLY_MAX = 64 }; /* different ones; more are counted as others */

static void tally(struct tally *t, const char *text)
{
    size_t i = 0;
    while (i < t->count && strcmp(t->items[i].text, text) != 0)
        i++;
    if (i == t->count) {
        if (t->count == TALLY_MAX)
            text = t->items[i = TALLY_MAX - 1].text = "others";
        else
            t->items[t->count++].text = text;
    }
    t->items[i].count++;
}

static void add_tally(const struct tally *t, const char *key, const char *column, json_t *to)
{
    json_t *table = inspect_table(to, key);
    for (size_t i = 0; i < t->count; i++) {
        json_t *entry = inspect_entry(table);
        inspect_number(entry, "units", t->items[i].count);
        inspect_text(entry, column, t->items[i].text);
    }
}

static const char *language_name(uint32_t language)
{
    static const struct {
        uint32_t number;
        const char *name;
    } names[] = {{1, "C89"},
                 {2, "C"},
                 {4, "C++"},
                 {0xb, "Java"},
                 {0xc, "C99"},
                 {0xd, "Ada 95"},
                 {0x10, "Objective-C"},
                 {0x11, "Objective-C++"},
                 {0x13, "D"},
                 {0x14, "Python"},
                 {0x16, "Go"},
                 {0x18, "Haskell"},
                 {0x19, "C++03"},
                 {0x1a, "C++11"},
                 {0x1b, "OCaml"},
                 {0x1c, "Rust"},
                 {0x1d, "C11"},
                 {0x1e, "Swift"},
                 {0x1f, "Julia"},
                 {0x21, "C++14"},
                 {0x22, "Fortran 03"},
                 {0x23, "Fortran 08"},
                 {0x26, "Kotlin"},
                 {0x27, "Zig"},
                 {0x2b, "C++17"},
                 {0x2c, "C++20"},
                 {0x2d, "C17"},
                 {0x2e, "Fortran 18"},
                 {0x3a, "C++23"},
                 {0x8001, "assembly"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == language)
            return names[i].name;
    return language ? "another" : "not said";
}

struct tallies {
    struct tally versions, languages, producers;
    uint64_t skeletons;
};

static bool tally_units(const struct dwarf *dwarf, struct tallies *t)
{
    static const char *const versions[] = {"?", "?", "2", "3", "4", "5"};
    for (size_t i = 0; i < dwarf_unit_count(dwarf); i++) {
        const struct dwarf_unit_header *header = dwarf_unit_header(dwarf, i);
        struct dwarf_unit_about about;
        if (dwarf_unit_about(dwarf, i, &about) != FW_OK)
            return false;
        tally(&t->versions, header->version <= 5 ? versions[header->version] : "?");
        tally(&t->languages, language_name(about.language));
        tally(&t->producers, about.producer ? about.producer : "not said");
        t->skeletons += about.dwo_name != NULL || header->unit_type == DW_UT_skeleton;
    }
    return true;
}

static bool begin(struct tally *t)
{
    t->items = calloc(TALLY_MAX, sizeof *t->items);
    return t->items != NULL;
}

static fw_error add_dwarf(struct object *object, json_t *to, struct fw_failure *why)
{
    struct dwarf *dwarf;
    struct tallies t = {0};
    fw_error error = dwarf_open(object, NULL, &dwarf, why);
    if (error == FW_ERR_NOT_FOUND)
        return FW_OK;
    if (error != FW_OK)
        return error;
    bool good =
        begin(&t.versions) && begin(&t.languages) && begin(&t.producers) && tally_units(dwarf, &t);
    json_t *info = json_object();
    inspect_number(info, "bytes_read", dwarf_size(dwarf));
    inspect_number(info, "units", dwarf_unit_count(dwarf));
    if (t.skeletons)
        inspect_number(info, "split_units", t.skeletons);
    json_object_set_new(to, "debug_information", info);
    if (good) {
        add_tally(&t.versions, "dwarf_versions", "version", to);
        add_tally(&t.languages, "languages", "language", to);
        add_tally(&t.producers, "producers", "producer", to);
    }
    free(t.versions.items);
    free(t.languages.items);
    free(t.producers.items);
    dwarf_close(dwarf);
    return good ? FW_OK : FW_ERR_MEMORY;
}

/* ---- symbols ---- */

static bool count_symbol(void *context, const struct object_symbol *symbol)
{
    (void)symbol;
    ++*(uint64_t *)context;
    return true;
}

static bool count_start(void *context, uint64_t vaddr)
{
    (void)vaddr;
    ++*(uint64_t *)context;
    return true;
}

static bool count_part(void *context, const struct debug_map_object *entry)
{
    (void)entry;
    ++*(uint64_t *)context;
    return true;
}

static void add_symbols(struct object *object, json_t *to)
{
    uint64_t all = 0, dynamic = 0, hidden = 0, starts = 0, parts = 0;
    json_t *counts = json_object();
    object_symbols(object, false, count_symbol, &all);
    object_symbols(object, true, count_symbol, &dynamic);
    object_function_starts(object, count_start, &starts);
    struct object *mini = object_minidebug(object, NULL);
    if (mini)
        object_symbols(mini, false, count_symbol, &hidden);
    inspect_number(counts, "symbol_table", all);
    if (!object_is_macho(object))
        inspect_number(counts, "dynamic", dynamic);
    if (mini)
        inspect_number(counts, "mini_debug_info", hidden);
    inspect_number(counts, "function_starts", starts);
    if (object_debug_map(object, count_part, &parts, NULL) == FW_OK)
        inspect_number(counts, "object_files", parts);
    json_object_set_new(to, "symbols", counts);
}

fw_error inspect_object(struct object *object, json_t *to, struct fw_failure *why)
{
    add_identity(object, to);
    add_links(object, to);
    add_symbols(object, to);
    fw_error error = add_dwarf(object, to, why);
    add_segments(object, to);
    add_sections(object, to);
    return error;
}
