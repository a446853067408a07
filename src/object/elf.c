/*
 * ELF headers: file header, program headers and section headers of either class and byte order.
 *
 * Program headers are what a loader goes by, so a file whose table of them cannot be read is
 * refused. Section headers are optional in everything but ET_REL: packers damage them on purpose,
 * so a broken table counts as none and never refuses a file. Contents beyond the end of the file
 * set `truncated` and nothing else.
 *
 * System V gABI chapter 4 (headers, extended numbering through section 0), chapter 5 (segments).
 */
#include "object/elf_internal.h"

#include <stdlib.h>

bool elf_is(struct span bytes)
{
    return bytes.size >= SELFMAG && memcmp(bytes.data, ELFMAG, SELFMAG) == 0;
}

/* .eh_frame_hdr and .ARM.exidx tell instead, see code_bounds.c. */
static bool no_starts(const struct object *object, object_start_call each, void *context)
{
    (void)object, (void)each, (void)context;
    return false;
}

static void close_elf(struct object *object)
{
    elf_debug_free(object->elf->debug);
    free(object->elf->segments);
    free(object->elf);
}

const struct object_format elf_format = {
    .versioned_names = true,
    .close = close_elf,
    .symbols = elf_symbols,
    .stubs = elf_plt_stubs,
    .starts = no_starts,
    .unwind_image = elf_unwind_image,
    .arch = elf_arch,
    .arch_name = elf_arch_name,
    .debug_section = elf_debug_section,
    .inflations = elf_inflations,
    .function_starts = elf_function_starts,
};

bool elf_begin(struct object *object)
{
    object->elf = calloc(1, sizeof *object->elf);
    if (object->elf)
        object->format = &elf_format;
    return object->elf;
}

fw_error elf_parse_header(struct object *object, struct span bytes, struct elf_header *header,
                          struct fw_failure *why)
{
    const uint8_t *ident = bytes.data;
    if (!elf_is(bytes))
        return object_fail(why, FW_ERR_FORMAT, 0, 0, object->label, "not an ELF file");
    if (bytes.size < EI_NIDENT)
        return object_fail(why, FW_ERR_TRUNCATED, 0, bytes.size, object->label,
                           "the file ends inside the ELF header");
    if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
        return object_fail(why, FW_ERR_CORRUPT, 0, EI_CLASS, object->label, "unknown ELF class %u",
                           ident[EI_CLASS]);
    if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
        return object_fail(why, FW_ERR_CORRUPT, 0, EI_DATA, object->label,
                           "unknown ELF byte order %u", ident[EI_DATA]);
    object->is_64 = ident[EI_CLASS] == ELFCLASS64;
    object->big_endian = ident[EI_DATA] == ELFDATA2MSB;
    object->swap = object->big_endian != host_is_big_endian();

    struct reader r = object_reader(object, bytes);
    reader_skip(&r, EI_NIDENT);
    object->elf->type = reader_u16(&r);
    object->machine = reader_u16(&r);
    reader_skip(&r, 4); /* e_version */
    object->entry = object_word(object, &r);
    header->phoff = object_word(object, &r);
    header->shoff = object_word(object, &r);
    header->flags = reader_u32(&r);
    reader_skip(&r, 2); /* e_ehsize */
    header->phentsize = reader_u16(&r);
    header->phnum = reader_u16(&r);
    header->shentsize = reader_u16(&r);
    header->shnum = reader_u16(&r);
    header->shstrndx = reader_u16(&r);
    if (r.failed)
        return object_fail(why, FW_ERR_TRUNCATED, 0, bytes.size, object->label,
                           "the file ends inside the ELF header");
    return FW_OK;
}

static size_t section_header_size(const struct object *object)
{
    return object->is_64 ? 64 : 40;
}

static struct section read_section_header(const struct object *object, struct reader *r,
                                          uint32_t *name)
{
    struct section s = {0};
    *name = reader_u32(r);
    s.view.type = reader_u32(r);
    s.view.flags = object_word(object, r);
    s.view.vaddr = object_word(object, r);
    s.view.offset = object_word(object, r);
    s.view.size = object_word(object, r);
    s.elf.link = reader_u32(r);
    s.elf.info = reader_u32(r);
    s.elf.alignment = object_word(object, r);
    s.elf.entry_size = object_word(object, r);
    s.view.name = "";
    return s;
}

/* Counts that do not fit the file header stand in section 0. False when it is needed and absent. */
static bool apply_section_zero(struct object *object, struct elf_header *header)
{
    bool wanted = header->phnum == PN_XNUM || header->shstrndx == SHN_XINDEX ||
                  (header->shnum == 0 && header->shoff != 0);
    if (!wanted)
        return true;
    struct span bytes =
        span_cut(object->file, header->shoff, header->shoff ? section_header_size(object) : 0);
    struct reader r = object_reader(object, bytes);
    uint32_t name;
    struct section zero = read_section_header(object, &r, &name);
    if (r.failed)
        return header->phnum != PN_XNUM;
    if (header->phnum == PN_XNUM)
        header->phnum = zero.elf.info;
    if (header->shstrndx == SHN_XINDEX)
        header->shstrndx = zero.elf.link;
    if (header->shnum == 0)
        header->shnum = zero.view.size <= UINT32_MAX ? (uint32_t)zero.view.size : 0;
    return true;
}

fw_error elf_parse_segments(struct object *object, const struct elf_header *header,
                            struct span table, struct fw_failure *why)
{
    size_t least = object->is_64 ? 56 : 32;
    if (header->phentsize < least)
        return object_fail(why, FW_ERR_CORRUPT, 0, header->phoff, object->label,
                           "program headers of %u bytes are too small", header->phentsize);
    if ((uint64_t)header->phnum * header->phentsize > table.size)
        return object_fail(why, FW_ERR_TRUNCATED, 0, header->phoff, object->label,
                           "the file ends inside the program headers");
    object->elf->segments = calloc(header->phnum, sizeof *object->elf->segments);
    if (!object->elf->segments)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    object->elf->segment_count = header->phnum;
    for (size_t i = 0; i < header->phnum; i++) {
        struct elf_segment *s = &object->elf->segments[i];
        struct reader r =
            object_reader(object, span_cut(table, i * header->phentsize, header->phentsize));
        s->type = reader_u32(&r);
        if (object->is_64)
            s->flags = reader_u32(&r);
        s->offset = object_word(object, &r);
        s->vaddr = object_word(object, &r);
        (void)object_word(object, &r); /* p_paddr */
        s->file_size = object_word(object, &r);
        s->memory_size = object_word(object, &r);
        if (!object->is_64)
            s->flags = reader_u32(&r);
        s->align = object_word(object, &r);
    }
    return FW_OK;
}

fw_error elf_collect_loads(struct object *object, struct fw_failure *why)
{
    if (!object_reserve_loads(object, object->elf->segment_count))
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    for (size_t i = 0; i < object->elf->segment_count; i++) {
        const struct elf_segment *s = &object->elf->segments[i];
        if (s->type != PT_LOAD)
            continue;
        struct object_segment load = {
            .vaddr = s->vaddr,
            .memory_size = s->memory_size,
            .offset = s->offset,
            .file_size = s->file_size,
            .readable = s->flags & PF_R,
            .writable = s->flags & PF_W,
            .executable = s->flags & PF_X,
        };
        object_add_load(object, &load, s->bytes);
    }
    object_sort_loads(object);
    object->base = object->load_count ? object->loads[0].vaddr - object->loads[0].offset : 0;
    return FW_OK;
}

static fw_error parse_sections(struct object *object, const struct elf_header *header,
                               struct fw_failure *why)
{
    if (header->shoff == 0 || header->shnum == 0 || header->shentsize < section_header_size(object))
        return FW_OK;
    struct span table =
        span_cut(object->file, header->shoff, (uint64_t)header->shnum * header->shentsize);
    if (table.size < (uint64_t)header->shnum * header->shentsize) {
        object->truncated = true;
        return FW_OK;
    }
    object->sections = calloc(header->shnum, sizeof *object->sections);
    uint32_t *names = calloc(header->shnum, sizeof *names);
    if (!object->sections || !names) {
        free(names);
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    }
    object->section_count = header->shnum;
    for (size_t i = 0; i < header->shnum; i++) {
        struct reader r =
            object_reader(object, span_cut(table, i * header->shentsize, header->shentsize));
        struct section *s = &object->sections[i];
        *s = read_section_header(object, &r, &names[i]);
        s->view.index = (uint32_t)i;
        s->view.code = (s->view.flags & SHF_ALLOC) && (s->view.flags & SHF_EXECINSTR);
        s->compressed = s->view.flags & SHF_COMPRESSED;
        s->empty = i == 0 || s->view.type == SHT_NULL || s->view.type == SHT_NOBITS;
        if (s->empty)
            continue;
        s->inside = s->view.offset <= object->file.size &&
                    s->view.size <= object->file.size - s->view.offset;
        if (!s->inside)
            object->truncated = true;
    }
    if (header->shstrndx < header->shnum) {
        struct span strings =
            span_strings(object_section_bytes(object, &object->sections[header->shstrndx]));
        for (size_t i = 1; i < header->shnum; i++)
            if (names[i] < strings.size)
                object->sections[i].view.name = (const char *)strings.data + names[i];
    }
    free(names);
    if (object->elf->type == ET_REL)
        elf_layout(object);
    return FW_OK;
}

/* Separate debug files keep the section headers of code without its bytes (SHT_NOBITS), and some
 * tools leave the program headers as they were: these then point at unrelated bytes. */
static bool code_was_left_out(const struct object *object)
{
    bool any = false;
    for (size_t i = 1; i < object->section_count; i++) {
        const struct object_section *s = &object->sections[i].view;
        if (!s->code || s->size == 0)
            continue;
        if (s->type != SHT_NOBITS)
            return false;
        any = true;
    }
    return any;
}

static void attach_segment_bytes(struct object *object)
{
    for (size_t i = 0; i < object->elf->segment_count; i++) {
        struct elf_segment *s = &object->elf->segments[i];
        s->bytes = span_cut(object->file, s->offset, s->file_size);
        if (s->bytes.size < s->file_size)
            object->truncated = true;
    }
}

static enum object_type type_of(const struct object *object)
{
    switch (object->elf->type) {
    case ET_EXEC: return OBJECT_EXECUTABLE;
    case ET_REL: return OBJECT_RELOCATABLE;
    case ET_CORE: return OBJECT_CORE;
    case ET_DYN:
        /* Linkers before DF_1_PIE give a position-independent program PT_INTERP; so has a library
         * that can be run (libc.so.6), but that one has a soname. */
        if (object->elf->dynamic.pie ||
            (elf_segment_of_type(object, PT_INTERP) && !object->elf->dynamic.soname))
            return OBJECT_EXECUTABLE;
        return OBJECT_SHARED;
    default: return OBJECT_OTHER;
    }
}

void elf_finish(struct object *object)
{
    elf_read_dynamic(object);
    elf_find_build_id(object);
    object->type = type_of(object);
    object->unplaced = object->elf->type == ET_REL || object->elf->type == ET_CORE;
}

/* The first ABI of 64-bit PowerPC: symbols are of function descriptors in .opd, not of code
 * (e_flags 1; 0 does not say). The second one, and thus every ppc64le, has none. */
static bool has_descriptors(const struct object *object, const struct elf_header *header)
{
    enum { ABI = 3, ABI_V1 = 1 };
    if (object->machine != EM_PPC64 || (header->flags & ABI) > ABI_V1)
        return false;
    bool found = (header->flags & ABI) == ABI_V1;
    for (size_t i = 0; i < object->section_count && !found; i++)
        found = strcmp(object->sections[i].view.name, ".opd") == 0;
    return found;
}

fw_error elf_open_file(struct object *object, struct fw_failure *why)
{
    if (!elf_begin(object))
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    struct elf_header header;
    fw_error error = elf_parse_header(object, object->file, &header, why);
    if (error != FW_OK)
        return error;
    if (!apply_section_zero(object, &header))
        return object_fail(why, FW_ERR_TRUNCATED, 0, header.shoff, object->label,
                           "the number of program headers lies beyond the end of the file");
    if (header.phnum && header.phoff) {
        struct span table =
            span_cut(object->file, header.phoff, (uint64_t)header.phnum * header.phentsize);
        error = elf_parse_segments(object, &header, table, why);
        if (error != FW_OK)
            return error;
    }
    error = parse_sections(object, &header, why);
    if (error != FW_OK)
        return error;
    if (has_descriptors(object, &header))
        return object_fail(why, FW_ERR_UNSUPPORTED, 0, 0, object->label,
                           "64-bit PowerPC with function descriptors (ELF ABI v1): only ABI v2 is "
                           "supported");
    object->is_debug = code_was_left_out(object);
    if (!object->is_debug)
        attach_segment_bytes(object);
    error = elf_collect_loads(object, why);
    if (error != FW_OK)
        return error;
    elf_finish(object);
    return FW_OK;
}

const struct elf_segment *elf_segment_of_type(const struct object *object, uint32_t type)
{
    for (size_t i = 0; i < object->elf->segment_count; i++)
        if (object->elf->segments[i].type == type)
            return &object->elf->segments[i];
    return NULL;
}
