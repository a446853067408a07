/*
 * Mach-O headers: file header and load commands of either class and byte order.
 *
 * Load commands are what a loader goes by, so a file whose list of them contradicts itself is
 * refused. Contents beyond the end of the file set `truncated` and nothing else.
 *
 * Section offsets have 32 bits even in 64-bit files: those of files over 4 GB are stored modulo
 * 2^32 and are recomputed here, as are the offsets of symbols and strings.
 *
 * <mach-o/loader.h>; thread states in <mach/arm/_structs.h> and <mach/i386/_structs.h>.
 */
#include "object/macho_internal.h"

#include <elf.h>
#include <stdlib.h>

enum {
    MAGIC_32 = 0xfeedface,
    MAGIC_64 = 0xfeedfacf,
    MAGIC_32_SWAPPED = 0xcefaedfe,
    MAGIC_64_SWAPPED = 0xcffaedfe,
};

enum { /* load commands */
       LC_SEGMENT = 0x1,
       LC_SYMTAB = 0x2,
       LC_UNIXTHREAD = 0x5,
       LC_DYSYMTAB = 0xb,
       LC_ID_DYLIB = 0xd,
       LC_SEGMENT_64 = 0x19,
       LC_UUID = 0x1b,
       LC_FUNCTION_STARTS = 0x26,
};
#define LC_MAIN 0x80000028u

enum { NAME_SIZE = 16, UUID_SIZE = 16, VM_READ = 1, VM_WRITE = 2, VM_EXECUTE = 4 };

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

struct segment_command {
    char name[NAME_SIZE + 1];
    uint64_t vaddr, memory_size, offset, file_size;
    uint32_t protection, section_count;
};

static uint32_t native_magic(struct span bytes)
{
    struct reader r = reader_over(bytes.data, bytes.size);
    return reader_u32(&r);
}

bool macho_is(struct span bytes)
{
    uint32_t magic = native_magic(bytes);
    return magic == MAGIC_32 || magic == MAGIC_64 || magic == MAGIC_32_SWAPPED ||
           magic == MAGIC_64_SWAPPED;
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
    uint32_t magic = native_magic(object->file);
    struct macho_file *macho = object->macho;
    object->swap = magic == MAGIC_32_SWAPPED || magic == MAGIC_64_SWAPPED;
    object->big_endian = object->swap != host_is_big_endian();
    object->is_64 = magic == MAGIC_64 || magic == MAGIC_64_SWAPPED;
    struct reader r = object_reader(object, object->file);
    reader_skip(&r, 4);
    macho->cpu_type = reader_u32(&r);
    macho->cpu_subtype = reader_u32(&r);
    macho->file_type = reader_u32(&r);
    *count = reader_u32(&r);
    uint32_t size = reader_u32(&r);
    reader_skip(&r, object->is_64 ? 8 : 4); /* flags, reserved */
    if (r.failed)
        return object_fail(why, FW_ERR_TRUNCATED, 0, object->file.size, object->label,
                           "the file ends inside the Mach-O header");
    parts->commands = span_cut(object->file, reader_offset(&r), size);
    if (parts->commands.size < size)
        return object_fail(why, FW_ERR_TRUNCATED, 0, object->file.size, object->label,
                           "the file ends inside the load commands");
    object->machine = macho_elf_machine(macho->cpu_type);
    object->type = type_of(macho->file_type);
    object->is_debug = macho->file_type == MH_DSYM || macho->file_type == MH_DYLIB_STUB;
    object->unplaced = macho->file_type == MH_CORE;
    return FW_OK;
}

/* The next load command as a reader that stands behind its size; false at the end or when the
 * command does not fit, in which case `r` has failed. */
static bool next_command(struct reader *r, uint32_t *command, struct reader *body)
{
    if (reader_left(r) < 8)
        return false;
    struct reader ahead = *r;
    *command = reader_u32(&ahead);
    uint32_t size = reader_u32(&ahead);
    if (size < 8) {
        r->failed = true;
        return false;
    }
    *body = reader_sub(r, size);
    reader_skip(body, 8);
    return !r->failed;
}

static void read_name(struct reader *r, char name[NAME_SIZE + 1])
{
    const uint8_t *bytes;
    name[0] = name[NAME_SIZE] = 0;
    if (reader_take(r, NAME_SIZE, &bytes))
        memcpy(name, bytes, NAME_SIZE);
}

static size_t section_size(const struct object *object)
{
    return object->is_64 ? 80 : 68;
}

static struct segment_command read_segment(const struct object *object, struct reader *r)
{
    struct segment_command s;
    read_name(r, s.name);
    s.vaddr = object_word(object, r);
    s.memory_size = object_word(object, r);
    s.offset = object_word(object, r);
    s.file_size = object_word(object, r);
    reader_skip(r, 4); /* the most that the protection may become */
    s.protection = reader_u32(r);
    s.section_count = reader_u32(r);
    reader_skip(r, 4); /* flags */
    size_t room = reader_left(r) / section_size(object);
    if (r->failed)
        s.section_count = 0;
    else if (s.section_count > room)
        s.section_count = (uint32_t)room;
    return s;
}

static bool is_segment(uint32_t command)
{
    return command == LC_SEGMENT || command == LC_SEGMENT_64;
}

/* Checks the list of commands and makes room for what it holds. */
static fw_error reserve(struct object *object, const struct parts *parts, uint32_t count,
                        struct fw_failure *why)
{
    struct reader r = object_reader(object, parts->commands);
    struct reader body;
    uint32_t command, i = 0;
    size_t segments = 0, sections = 1;
    for (; i < count && next_command(&r, &command, &body); i++)
        if (is_segment(command)) {
            segments++;
            sections += read_segment(object, &body).section_count;
        }
    if (i < count)
        return object_fail(why, FW_ERR_CORRUPT, 0,
                           (uint64_t)(parts->commands.data - object->file.data) + reader_offset(&r),
                           object->label, "load command %u of %u does not fit", i, count);
    object->sections = calloc(sections, sizeof *object->sections);
    object->macho->names = calloc(sections, NAME_SIZE + 1);
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
static uint64_t whole_offset(const struct object *object, const struct segment_command *segment,
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

static bool is_zero_filled(uint32_t flags)
{
    uint32_t type = flags & S_TYPE_MASK;
    return type == S_ZEROFILL || type == S_GB_ZEROFILL || type == S_THREAD_LOCAL_ZEROFILL;
}

/* In a companion, only the segments made for it have bytes: offsets of the others are those of the
 * file that it was made of. */
static bool has_bytes(const struct object *object, const struct segment_command *segment)
{
    return !object->is_debug || strcmp(segment->name, "__DWARF") == 0 ||
           strcmp(segment->name, "__LINKEDIT") == 0;
}

static void read_sections(struct object *object, const struct segment_command *segment,
                          struct reader *r)
{
    uint64_t last_end = 0;
    for (uint32_t i = 0; i < segment->section_count; i++) {
        struct section *s = &object->sections[object->section_count];
        char *name = object->macho->names + object->section_count * (NAME_SIZE + 1);
        char segment_name[NAME_SIZE + 1];
        read_name(r, name);
        read_name(r, segment_name);
        s->view.name = name;
        s->view.vaddr = object_word(object, r);
        s->view.size = object_word(object, r);
        uint32_t stored = reader_u32(r);
        reader_skip(r, 4); /* alignment */
        s->macho.relocs = reader_u32(r);
        s->macho.reloc_count = reader_u32(r);
        uint32_t flags = reader_u32(r);
        s->macho.indirect = reader_u32(r);
        uint32_t stub_size = reader_u32(r);
        if (object->is_64)
            reader_skip(r, 4);
        s->view.type = flags & S_TYPE_MASK;
        s->view.flags = flags & ~(uint32_t)S_TYPE_MASK;
        s->view.index = (uint32_t)object->section_count++;
        s->view.code = flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS);
        s->macho.stub_size = s->view.type == S_SYMBOL_STUBS ? stub_size : 0;
        s->macho.dwarf = strcmp(segment_name, "__DWARF") == 0;
        s->view.offset = whole_offset(object, segment, &s->view, stored, last_end);
        s->empty = is_zero_filled(flags) || stored == 0 || !has_bytes(object, segment);
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
    struct segment_command s = read_segment(object, r);
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

/* Where a thread begins: the program counter among the registers of its state. */
static void take_thread(struct object *object, struct reader *r)
{
    static const struct {
        uint32_t cpu_type, flavor, pc; /* pc: its index in words of the architecture */
    } states[] = {
        {CPU_X86_64, 4, 16}, {CPU_I386, 1, 10}, {CPU_ARM, 1, 15},
        {CPU_ARM64, 6, 32},  {CPU_PPC, 1, 0},
    };
    uint32_t flavor = reader_u32(r);
    reader_skip(r, 4);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (states[i].cpu_type == object->macho->cpu_type && states[i].flavor == flavor) {
            reader_skip(r, (uint64_t)states[i].pc * (object->is_64 ? 8 : 4));
            object->entry = object_word(object, r);
        }
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
        struct span uuid = {NULL, UUID_SIZE};
        if (reader_take(r, UUID_SIZE, &uuid.data))
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
    case LC_UNIXTHREAD: take_thread(object, r); break;
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
    size_t symbol_size = object->is_64 ? 16 : 12;
    macho->symbols =
        table(object, parts, parts->symbols, (uint64_t)parts->symbol_count * symbol_size);
    macho->symbol_count = macho->symbols.size / symbol_size;
    macho->strings = span_strings(table(object, parts, parts->strings, parts->strings_size));
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
    for (uint32_t i = 0; i < count && next_command(&r, &command, &body); i++)
        take_command(object, &parts, command, &body);
    object_sort_loads(object);
    place_tables(object, &parts);
    if (parts.has_main)
        object->entry = object->base + parts.main_offset;
    object->macho->entry_is_called = parts.has_main;
    if (object->machine == EM_ARM)
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
