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

static bool host_is_big_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

fw_error elf_parse_header(struct object *object, struct span bytes, struct elf_header *header,
                          struct fw_failure *why)
{
    const uint8_t *ident = bytes.data;
    if (bytes.size < SELFMAG || memcmp(ident, ELFMAG, SELFMAG) != 0)
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

    struct reader r = elf_reader(object, bytes);
    reader_skip(&r, EI_NIDENT);
    object->e_type = reader_u16(&r);
    object->machine = reader_u16(&r);
    reader_skip(&r, 4); /* e_version */
    object->entry = elf_word(object, &r);
    header->phoff = elf_word(object, &r);
    header->shoff = elf_word(object, &r);
    reader_skip(&r, 4 + 2); /* e_flags, e_ehsize */
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

static struct elf_section read_section_header(const struct object *object, struct reader *r,
                                              uint32_t *name)
{
    struct elf_section s = {0};
    *name = reader_u32(r);
    s.view.type = reader_u32(r);
    s.view.flags = elf_word(object, r);
    s.view.vaddr = elf_word(object, r);
    s.view.offset = elf_word(object, r);
    s.view.size = elf_word(object, r);
    s.link = reader_u32(r);
    s.info = reader_u32(r);
    s.alignment = elf_word(object, r);
    s.entry_size = elf_word(object, r);
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
    struct reader r = elf_reader(object, bytes);
    uint32_t name;
    struct elf_section zero = read_section_header(object, &r, &name);
    if (r.failed)
        return header->phnum != PN_XNUM;
    if (header->phnum == PN_XNUM)
        header->phnum = zero.info;
    if (header->shstrndx == SHN_XINDEX)
        header->shstrndx = zero.link;
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
    object->segments = calloc(header->phnum, sizeof *object->segments);
    if (!object->segments)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    object->segment_count = header->phnum;
    for (size_t i = 0; i < header->phnum; i++) {
        struct elf_segment *s = &object->segments[i];
        struct reader r =
            elf_reader(object, span_cut(table, i * header->phentsize, header->phentsize));
        s->type = reader_u32(&r);
        if (object->is_64)
            s->flags = reader_u32(&r);
        s->offset = elf_word(object, &r);
        s->vaddr = elf_word(object, &r);
        (void)elf_word(object, &r); /* p_paddr */
        s->file_size = elf_word(object, &r);
        s->memory_size = elf_word(object, &r);
        if (!object->is_64)
            s->flags = reader_u32(&r);
        s->align = elf_word(object, &r);
    }
    return FW_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct elf_load_place *x = a, *y = b;
    if (x->vaddr != y->vaddr)
        return x->vaddr < y->vaddr ? -1 : 1;
    return x->load < y->load ? -1 : x->load > y->load;
}

fw_error elf_collect_loads(struct object *object, struct fw_failure *why)
{
    if (object->segment_count == 0)
        return FW_OK;
    object->loads = calloc(object->segment_count, sizeof *object->loads);
    object->load_index = calloc(object->segment_count, sizeof *object->load_index);
    object->places = calloc(object->segment_count, sizeof *object->places);
    if (!object->loads || !object->load_index || !object->places)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    for (size_t i = 0; i < object->segment_count; i++) {
        struct elf_segment *s = &object->segments[i];
        if (s->type != PT_LOAD || s->vaddr + s->memory_size < s->vaddr)
            continue;
        if (s->bytes.size > s->memory_size)
            s->bytes.size = (size_t)s->memory_size;
        object->load_index[object->load_count] = (uint32_t)i;
        object->places[object->load_count] =
            (struct elf_load_place){s->vaddr, (uint32_t)object->load_count};
        object->loads[object->load_count++] = (struct object_segment){
            .vaddr = s->vaddr,
            .memory_size = s->memory_size,
            .offset = s->offset,
            .file_size = s->file_size < s->memory_size ? s->file_size : s->memory_size,
            .readable = s->flags & PF_R,
            .writable = s->flags & PF_W,
            .executable = s->flags & PF_X,
        };
    }
    qsort(object->places, object->load_count, sizeof *object->places, by_address);
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
            elf_reader(object, span_cut(table, i * header->shentsize, header->shentsize));
        struct elf_section *s = &object->sections[i];
        *s = read_section_header(object, &r, &names[i]);
        s->view.index = (uint32_t)i;
        if (i == 0 || s->view.type == SHT_NULL || s->view.type == SHT_NOBITS)
            continue;
        s->inside = s->view.offset <= object->file.size &&
                    s->view.size <= object->file.size - s->view.offset;
        if (!s->inside)
            object->truncated = true;
    }
    if (header->shstrndx < header->shnum) {
        struct span strings =
            span_strings(elf_section_bytes(object, &object->sections[header->shstrndx]));
        for (size_t i = 1; i < header->shnum; i++)
            if (names[i] < strings.size)
                object->sections[i].view.name = (const char *)strings.data + names[i];
    }
    free(names);
    if (object->e_type == ET_REL)
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
        if (!(s->flags & SHF_ALLOC) || !(s->flags & SHF_EXECINSTR) || s->size == 0)
            continue;
        if (s->type != SHT_NOBITS)
            return false;
        any = true;
    }
    return any;
}

static void attach_segment_bytes(struct object *object)
{
    for (size_t i = 0; i < object->segment_count; i++) {
        struct elf_segment *s = &object->segments[i];
        s->bytes = span_cut(object->file, s->offset, s->file_size);
        if (s->bytes.size < s->file_size)
            object->truncated = true;
    }
}

fw_error elf_open_file(struct object *object, struct fw_failure *why)
{
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
    object->is_debug = code_was_left_out(object);
    if (!object->is_debug)
        attach_segment_bytes(object);
    error = elf_collect_loads(object, why);
    if (error != FW_OK)
        return error;
    elf_read_dynamic(object);
    elf_find_build_id(object);
    return FW_OK;
}

const struct elf_segment *elf_segment_of_type(const struct object *object, uint32_t type)
{
    for (size_t i = 0; i < object->segment_count; i++)
        if (object->segments[i].type == type)
            return &object->segments[i];
    return NULL;
}

ptrdiff_t elf_load_at(const struct object *object, uint64_t vaddr)
{
    size_t lo = 0, hi = object->load_count; /* the first place above vaddr */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (object->places[middle].vaddr <= vaddr)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == 0)
        return -1;
    uint32_t load = object->places[lo - 1].load;
    return vaddr - object->loads[load].vaddr < object->loads[load].memory_size ? (ptrdiff_t)load
                                                                               : -1;
}

struct span elf_at(const struct object *object, uint64_t vaddr)
{
    ptrdiff_t i = elf_load_at(object, vaddr);
    if (i < 0)
        return (struct span){NULL, 0};
    struct span bytes = object->segments[object->load_index[i]].bytes;
    return span_cut(bytes, vaddr - object->loads[i].vaddr, UINT64_MAX);
}
