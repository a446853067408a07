/*
 * Mach-O headers: file header and load commands of either class and byte order.
 *
 * Load commands are what a loader goes by, so a file whose list of them contradicts itself is
 * refused. Contents beyond the end of the file set `truncated` and nothing else.
 *
 * Section offsets have 32 bits even in 64-bit files: those of files over 4 GB are stored modulo
 * 2^32 and are recomputed here, as are the offsets of symbols and strings.
 *
 * <mach-o/loader.h>.
 */
#include "object/macho_internal.h"

#include <stdlib.h>

/* What commands say that can be placed only when all segments are known. */
struct parts {
    struct span commands;
    uint64_t linkedit, linkedit_size; /* segment __LINKEDIT in the file */
    uint32_t symbols, symbol_count, strings, strings_size;
    uint32_t indirect, indirect_count;
    uint32_t starts, starts_size;
    uint64_t main_offset;
    bool has_main, has_base;
};

bool macho_is(struct span bytes)
{
    struct reader r = reader_over(bytes.data, bytes.size);
    struct macho_header header;
    return macho_read_header(&r, &header) || (r.failed && bytes.size >= 4);
}

static void close_macho(struct object *object)
{
    for (size_t i = 0; i < object->section_count; i++)
        free(object->sections[i].macho.relocated);
    free(object->macho->names);
    free(object->macho);
}

static const char *arch_name(const struct object *object)
{
    return macho_arch_name(object->macho->cpu_type, object->macho->cpu_subtype);
}

static const struct arch *arch(const struct object *object)
{
    return macho_arch(object->macho->cpu_type);
}

const struct object_format macho_format = {
    .versioned_names = false,
    .close = close_macho,
    .symbols = macho_symbols,
    .stubs = macho_stubs,
    .starts = macho_starts,
    .unwind_image = macho_unwind_image,
    .arch = arch,
    .arch_name = arch_name,
    .debug_section = macho_debug_section,
    .inflations = macho_inflations,
    .function_starts = macho_function_starts,
};

static enum object_type type_of(uint32_t file_type)
{
    switch (file_type) {
    case MH_OBJECT: return OBJECT_RELOCATABLE;
    case MH_EXECUTE:
    case MH_PRELOAD: return OBJECT_EXECUTABLE;
    case MH_CORE: return OBJECT_CORE;
    case MH_DYLIB:
    case MH_DYLINKER:
    case MH_BUNDLE:
    case MH_DYLIB_STUB:
    case MH_KEXT_BUNDLE:
    case MH_FILESET: return OBJECT_SHARED;
    case MH_DSYM: return OBJECT_DSYM;
    default: return OBJECT_OTHER;
    }
}

static fw_error read_header(struct object *object, struct parts *parts, uint32_t *count,
                            struct fw_failure *why)
{
    struct macho_file *macho = object->macho;
    struct macho_header header;
    struct reader r = reader_over(object->file.data, object->file.size);
    bool whole = macho_read_header(&r, &header);
    object->swap = header.swap;
    object->big_endian = object->swap != host_is_big_endian();
    object->is_64 = header.is_64;
    macho->cpu_type = header.cpu_type;
    macho->cpu_subtype = header.cpu_subtype;
    macho->file_type = header.file_type;
    *count = header.command_count;
    if (!whole)
        return object_fail(why, FW_ERR_TRUNCATED, 0, object->file.size, object->label,
                           "the file ends inside the Mach-O header");
    parts->commands = span_cut(object->file, reader_offset(&r), header.commands_size);
    if (parts->commands.size < header.commands_size)
        return object_fail(why, FW_ERR_TRUNCATED, 0, object->file.size, object->label,
                           "the file ends inside the load commands");
    object->machine = macho_elf_machine(macho->cpu_type);
    object->type = type_of(macho->file_type);
    object->is_debug = macho->file_type == MH_DSYM || macho->file_type == MH_DYLIB_STUB;
    object->unplaced = macho->file_type == MH_CORE;
    return FW_OK;
}

/* Checks the list of commands and makes room for what it holds. */
static fw_error reserve(struct object *object, const struct parts *parts, uint32_t count,
                        struct fw_failure *why)
{
    struct reader r = object_reader(object, parts->commands);
    struct reader body;
    uint32_t command, i = 0;
    size_t segments = 0, sections = 1;
    for (; i < count && macho_next_command(&r, &command, &body); i++)
        if (macho_is_segment(command)) {
            struct macho_segment segment;
            macho_read_segment(&body, object->is_64, &segment);
            segments++;
            sections += segment.section_count;
        }
    if (i < count)
        return object_fail(why, FW_ERR_CORRUPT, 0,
                           (uint64_t)(parts->commands.data - object->file.data) + reader_offset(&r),
                           object->label, "load command %u of %u does not fit", i, count);
    object->sections = calloc(sections, sizeof *object->sections);
    object->macho->names = calloc(sections, MACHO_NAME_SIZE + 1);
    if (!object->sections || !object->macho->names || !object_reserve_loads(object, segments))
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    object->sections[0].view.name = object->macho->names;
    object->sections[0].empty = true;
    object->section_count = 1;
    return FW_OK;
}

/*
 * The offset of a section whose low 32 bits are `stored`. A section lies in its segment's bytes as
 * it lies in its memory; where that does not agree with what is stored (some writers do not care),
 * sections follow each other, so one that seems to begin before the end of the last one has
 * wrapped around.
 */
static uint64_t whole_offset(const struct object *object, const struct macho_segment *segment,
                             const struct object_section *section, uint32_t stored,
                             uint64_t last_end)
{
    uint64_t file_size = object->file.size;
    if (file_size <= UINT32_MAX || stored == 0 || section->size > file_size)
        return stored;
    uint64_t last_start = file_size - section->size;
    uint64_t expected = segment->offset + (section->vaddr - segment->vaddr);
    if ((uint32_t)expected == stored && expected <= last_start)
        return expected;
    uint64_t step = (uint64_t)1 << 32, offset = stored;
    uint64_t least = last_end > segment->offset ? last_end : segment->offset;
    while (offset < least && offset + step <= last_start)
        offset += step;
    return offset;
}

/* In a companion, only the segments made for it have bytes: offsets of the others are those of the
 * file that it was made of. */
static bool has_bytes(const struct object *object, const struct macho_segment *segment)
{
    return !object->is_debug || strcmp(segment->name, "__DWARF") == 0 ||
           strcmp(segment->name, "__LINKEDIT") == 0;
}

static void read_sections(struct object *object, const struct macho_segment *segment,
                          struct reader *r)
{
    uint64_t last_end = 0;
    for (uint32_t i = 0; i < segment->section_count; i++) {
        struct section *s = &object->sections[object->section_count];
        char *name = object->macho->names + object->section_count * (MACHO_NAME_SIZE + 1);
        struct macho_section stored;
        macho_read_section(r, object->is_64, &stored);
        memcpy(name, stored.name, sizeof stored.name);
        s->view.name = name;
        s->view.vaddr = stored.vaddr;
        s->view.size = stored.size;
        s->macho.relocs = stored.relocs;
        s->macho.reloc_count = stored.reloc_count;
        s->macho.indirect = stored.indirect;
        s->view.type = stored.flags & S_TYPE_MASK;
        s->view.flags = stored.flags & ~(uint32_t)S_TYPE_MASK;
        s->view.index = (uint32_t)object->section_count++;
        s->view.code = macho_is_code(stored.flags);
        s->macho.stub_size = stored.stub_size;
        s->macho.dwarf = strcmp(stored.segment, "__DWARF") == 0;
        s->view.offset = whole_offset(object, segment, &s->view, stored.offset, last_end);
        s->empty =
            macho_is_zero_filled(stored.flags) || stored.offset == 0 || !has_bytes(object, segment);
        if (s->empty)
            continue;
        s->inside = s->view.offset <= object->file.size &&
                    s->view.size <= object->file.size - s->view.offset;
        object->truncated |= !s->inside;
        if (s->inside)
            last_end = s->view.offset + s->view.size;
    }
}

static void take_segment(struct object *object, struct parts *parts, struct reader *r)
{
    struct macho_segment s;
    macho_read_segment(r, object->is_64, &s);
    if (r->failed)
        return;
    struct span bytes = {NULL, 0};
    if (has_bytes(object, &s)) {
        bytes = span_cut(object->file, s.offset, s.file_size);
        object->truncated |= bytes.size < s.file_size;
    }
    if (strcmp(s.name, "__LINKEDIT") == 0) {
        parts->linkedit = s.offset;
        parts->linkedit_size = s.file_size;
    }
    /* __PAGEZERO only keeps addresses free. */
    if (s.protection || s.file_size || object->is_debug) {
        struct object_segment load = {
            .vaddr = s.vaddr,
            .memory_size = s.memory_size,
            .offset = s.offset,
            .file_size = s.file_size,
            .readable = s.protection & VM_READ,
            .writable = s.protection & VM_WRITE,
            .executable = s.protection & VM_EXECUTE,
        };
        bool text = strcmp(s.name, "__TEXT") == 0;
        if (strcmp(s.name, "__PAGEZERO") != 0)
            object_add_load(object, &load, bytes);
        if (!parts->has_base && (text || (s.name[0] && s.offset == 0 && s.file_size))) {
            object->base = s.vaddr;
            parts->has_base = true;
        }
    }
    read_sections(object, &s, r);
}

static void take_install_name(struct object *object, struct reader *r)
{
    uint32_t offset = reader_u32(r);
    reader_seek(r, offset);
    const char *name = reader_string(r);
    if (name && *name)
        object->macho->install_name = name;
}

static void take_command(struct object *object, struct parts *parts, uint32_t command,
                         struct reader *r)
{
    switch (command) {
    case LC_SEGMENT:
    case LC_SEGMENT_64: take_segment(object, parts, r); break;
    case LC_SYMTAB:
        parts->symbols = reader_u32(r);
        parts->symbol_count = reader_u32(r);
        parts->strings = reader_u32(r);
        parts->strings_size = reader_u32(r);
        break;
    case LC_DYSYMTAB:
        reader_skip(r, 48);
        parts->indirect = reader_u32(r);
        parts->indirect_count = reader_u32(r);
        break;
    case LC_UUID: {
        struct span uuid = {NULL, MACHO_UUID_SIZE};
        if (reader_take(r, MACHO_UUID_SIZE, &uuid.data))
            object->build_id = uuid;
        break;
    }
    case LC_FUNCTION_STARTS:
        parts->starts = reader_u32(r);
        parts->starts_size = reader_u32(r);
        break;
    case LC_MAIN:
        parts->main_offset = reader_u64(r);
        parts->has_main = !r->failed;
        break;
    case LC_UNIXTHREAD: {
        uint64_t entry = macho_thread_entry(r, object->macho->cpu_type, object->is_64);
        object->entry = entry ? entry : object->entry;
        break;
    }
    case LC_ID_DYLIB: take_install_name(object, r); break;
    default: break;
    }
}

/* The bytes at an offset of which 32 bits are stored; in a file over 4 GB they are looked for in
 * __LINKEDIT. */
static struct span table(struct object *object, const struct parts *parts, uint32_t stored,
                         uint64_t size)
{
    uint64_t offset = stored;
    if (object->file.size > UINT32_MAX && stored) {
        uint64_t moved = (parts->linkedit & ~(uint64_t)UINT32_MAX) | stored;
        if (moved < parts->linkedit)
            moved += (uint64_t)1 << 32;
        if (moved - parts->linkedit <= parts->linkedit_size &&
            size <= parts->linkedit_size - (moved - parts->linkedit))
            offset = moved;
    }
    struct span bytes = span_cut(object->file, offset, size);
    object->truncated |= bytes.size < size;
    return bytes;
}

static void place_tables(struct object *object, const struct parts *parts)
{
    struct macho_file *macho = object->macho;
    struct macho_symbol_table *t = &macho->table;
    size_t symbol_size = object->is_64 ? 16 : 12;
    t->is_64 = object->is_64;
    t->swap = object->swap;
    t->entries = table(object, parts, parts->symbols, (uint64_t)parts->symbol_count * symbol_size);
    t->count = t->entries.size / symbol_size;
    t->strings = span_strings(table(object, parts, parts->strings, parts->strings_size));
    macho->indirect = table(object, parts, parts->indirect, (uint64_t)parts->indirect_count * 4);
    macho->function_starts = table(object, parts, parts->starts, parts->starts_size);
}

fw_error macho_open_file(struct object *object, struct fw_failure *why)
{
    object->macho = calloc(1, sizeof *object->macho);
    if (!object->macho)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    object->format = &macho_format;
    struct parts parts = {0};
    uint32_t count;
    fw_error error = read_header(object, &parts, &count, why);
    if (error == FW_OK)
        error = reserve(object, &parts, count, why);
    if (error != FW_OK)
        return error;
    struct reader r = object_reader(object, parts.commands);
    struct reader body;
    uint32_t command;
    for (uint32_t i = 0; i < count && macho_next_command(&r, &command, &body); i++)
        take_command(object, &parts, command, &body);
    object_sort_loads(object);
    place_tables(object, &parts);
    object->macho->called_by_dyld = parts.has_main;
    if (parts.has_main)
        object->entry = object->base + parts.main_offset;
    if (object->macho->cpu_type == CPU_ARM)
        object->entry &= ~(uint64_t)1;
    return FW_OK;
}

struct span macho_uuid(struct span file)
{
    struct span none = {NULL, 0};
    struct object *object = NULL;
    if (!macho_is(file) || object_open_bytes(file.data, file.size, false, "", &object, NULL))
        return none;
    struct span uuid = object->build_id; /* lies in `file` */
    object_close(object);
    return uuid;
}
