/*
 * Headers of line number programs: DWARF 5 section 6.2.4, earlier versions as in appendix F of
 * DWARF 4. Every count is checked against the bytes that are left before anything is allocated, so
 * a table never takes more than a constant times its own size.
 *
 * Up to version 4 directories and files count from 1: directory 0 is the compilation directory and
 * file 0 is none. Version 5 writes both tables out from 0.
 */
#include "dwarf/line_internal.h"

#include <inttypes.h>
#include <stdio.h>

enum { /* DW_LNCT_*: what a field of an entry is; any other is skipped by its form */
       CONTENT_PATH = 1,
       CONTENT_DIRECTORY = 2
};

enum { /* DW_FORM_*: those that can stand in a line table, or be skipped without other sections */
       FORM_ADDR = 0x01,
       FORM_BLOCK2 = 0x03,
       FORM_BLOCK4 = 0x04,
       FORM_DATA2 = 0x05,
       FORM_DATA4 = 0x06,
       FORM_DATA8 = 0x07,
       FORM_STRING = 0x08,
       FORM_BLOCK = 0x09,
       FORM_BLOCK1 = 0x0a,
       FORM_DATA1 = 0x0b,
       FORM_FLAG = 0x0c,
       FORM_SDATA = 0x0d,
       FORM_STRP = 0x0e,
       FORM_UDATA = 0x0f,
       FORM_SEC_OFFSET = 0x17,
       FORM_FLAG_PRESENT = 0x19,
       FORM_STRX = 0x1a,
       FORM_STRP_SUP = 0x1d,
       FORM_DATA16 = 0x1e,
       FORM_LINE_STRP = 0x1f,
       FORM_STRX1 = 0x25,
       FORM_STRX2 = 0x26,
       FORM_STRX3 = 0x27,
       FORM_STRX4 = 0x28
};

fw_error line_problem(struct fw_failure *why, fw_error code, uint64_t unit, uint64_t place,
                      const char *what)
{
    if (why && why->code == FW_OK) {
        *why = (struct fw_failure){.code = code, .place = place};
        snprintf(why->message, sizeof why->message,
                 ".debug_line+0x%" PRIx64 ": %s (line table at 0x%" PRIx64 ")", place, what, unit);
    }
    return code;
}

/* ---- paths ---- */

static bool is_absolute(const char *path)
{
    if (path[0] == '/' || (path[0] == '\\' && path[1] == '\\'))
        return true;
    bool letter = (path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z');
    return letter && path[1] == ':' && (path[2] == '/' || path[2] == '\\');
}

/* Parts in front of an absolute one are left out, so that equal paths have equal parts. */
static struct dwarf_file_name file_name(const char *comp_dir, const char *directory,
                                        const char *name)
{
    struct dwarf_file_name file = {"", "", name};
    if (is_absolute(name))
        return file;
    file.directory = directory;
    if (!is_absolute(directory) && comp_dir)
        file.comp_dir = comp_dir;
    return file;
}

bool line_add_file(const struct dwarf_line_input *input, struct arena *arena,
                   struct line_header *header, struct dwarf_lines *lines, const char *name,
                   uint64_t directory)
{
    if (lines->file_count == header->file_capacity) {
        size_t capacity = header->file_capacity ? header->file_capacity * 2 : 16;
        struct dwarf_file_name *files = arena_resize(
            arena, lines->files, lines->file_count * sizeof *files, capacity * sizeof *files);
        if (!files)
            return false;
        lines->files = files;
        header->file_capacity = capacity;
    }
    const char *in = directory < header->directory_count ? header->directories[directory] : "";
    /* Version 5 writes the compilation directory out as directory 0: it may be a relative one, and
     * must not stand in front of itself. */
    bool is_comp_dir = lines->version >= 5 && directory == 0 && header->directory_count;
    lines->files[lines->file_count++] = file_name(is_comp_dir ? NULL : input->comp_dir, in, name);
    return true;
}

/* ---- forms ---- */

static const char *string_at(struct span section, uint64_t offset)
{
    struct reader r = reader_at(section.data, section.size, offset);
    const char *string = reader_string(&r);
    return string ? string : "";
}

static const char *string_indexed(const struct dwarf_line_input *input, unsigned offset_size,
                                  uint64_t index)
{
    struct reader r =
        reader_at(input->str_offsets.data, input->str_offsets.size, input->str_offsets_base);
    if (r.failed || index > reader_left(&r) / offset_size)
        return "";
    reader_skip(&r, index * offset_size);
    r.swap = input->swap;
    uint64_t offset = reader_uint(&r, offset_size);
    return r.failed ? "" : string_at(input->str, offset);
}

static uint32_t read_u24(struct reader *r)
{
    uint32_t a = reader_u8(r), b = reader_u8(r), c = reader_u8(r);
    return r->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ? a << 16 | b << 8 | c
                                                                  : a | b << 8 | c << 16;
}

struct value { /* of one field: a string or a number */
    const char *string;
    uint64_t number;
};

/* An index into .debug_str_offsets; false when the form is not one. */
static bool read_string_index(struct reader *r, uint64_t form, uint64_t *index)
{
    switch (form) {
    case FORM_STRX: *index = reader_uleb(r); return true;
    case FORM_STRX1: *index = reader_u8(r); return true;
    case FORM_STRX2: *index = reader_u16(r); return true;
    case FORM_STRX3: *index = read_u24(r); return true;
    case FORM_STRX4: *index = reader_u32(r); return true;
    default: return false;
    }
}

static bool read_number(struct reader *r, const struct line_header *header, uint64_t form,
                        uint64_t *number)
{
    switch (form) {
    case FORM_FLAG_PRESENT: *number = 1; return true;
    case FORM_FLAG:
    case FORM_DATA1: *number = reader_u8(r); return true;
    case FORM_DATA2: *number = reader_u16(r); return true;
    case FORM_DATA4: *number = reader_u32(r); return true;
    case FORM_DATA8: *number = reader_u64(r); return true;
    case FORM_UDATA: *number = reader_uleb(r); return true;
    case FORM_SDATA: *number = (uint64_t)reader_sleb(r); return true;
    case FORM_ADDR: *number = reader_uint(r, header->address_size); return true;
    case FORM_SEC_OFFSET: *number = reader_uint(r, header->offset_size); return true;
    default: return false;
    }
}

/* Reads a field of whatever form; fails the reader on a form whose length is not known. */
static struct value read_value(struct reader *r, const struct dwarf_line_input *input,
                               const struct line_header *header, uint64_t form)
{
    struct value value = {"", 0};
    uint64_t index;
    if (read_number(r, header, form, &value.number))
        return value;
    if (read_string_index(r, form, &index)) {
        value.string = string_indexed(input, header->offset_size, index);
        return value;
    }
    switch (form) {
    case FORM_STRING: {
        const char *string = reader_string(r);
        value.string = string ? string : "";
        break;
    }
    case FORM_LINE_STRP:
        value.string = string_at(input->line_str, reader_uint(r, header->offset_size));
        break;
    case FORM_STRP:
        value.string = string_at(input->str, reader_uint(r, header->offset_size));
        break;
    case FORM_STRP_SUP: reader_skip(r, header->offset_size); break;
    case FORM_DATA16: reader_skip(r, 16); break;
    case FORM_BLOCK: reader_skip(r, reader_uleb(r)); break;
    case FORM_BLOCK1: reader_skip(r, reader_u8(r)); break;
    case FORM_BLOCK2: reader_skip(r, reader_u16(r)); break;
    case FORM_BLOCK4: reader_skip(r, reader_u32(r)); break;
    default: r->failed = true;
    }
    return value;
}

/* ---- tables ---- */

/* One table of version 5: a list of (content, form) pairs, then entries that consist of them.
 * `directories`: fills in header->directories, else the files. */
static fw_error read_table(struct reader *r, const struct dwarf_line_input *input,
                           struct arena *arena, struct line_header *header,
                           struct dwarf_lines *lines, bool directories)
{
    struct field {
        uint64_t content, form;
    } fields[255];
    unsigned field_count = reader_u8(r);
    for (unsigned i = 0; i < field_count; i++) {
        fields[i].content = reader_uleb(r);
        fields[i].form = reader_uleb(r);
    }
    uint64_t count = reader_uleb(r);
    if (r->failed)
        return FW_ERR_TRUNCATED;
    if (count > reader_left(r) || (count && !field_count)) /* an entry has a byte at least */
        return FW_ERR_CORRUPT;
    if (directories &&
        !(header->directories = arena_take_many(arena, count, sizeof *header->directories)))
        return FW_ERR_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        const char *path = "";
        uint64_t directory = 0;
        for (unsigned f = 0; f < field_count; f++) {
            struct value value = read_value(r, input, header, fields[f].form);
            if (fields[f].content == CONTENT_PATH)
                path = value.string;
            else if (fields[f].content == CONTENT_DIRECTORY)
                directory = value.number;
        }
        if (r->failed)
            return FW_ERR_CORRUPT;
        if (directories)
            header->directories[header->directory_count++] = path;
        else if (!line_add_file(input, arena, header, lines, path, directory))
            return FW_ERR_MEMORY;
    }
    return FW_OK;
}

static fw_error read_tables_5(struct reader *r, const struct dwarf_line_input *input,
                              struct arena *arena, struct line_header *header,
                              struct dwarf_lines *lines)
{
    fw_error error = read_table(r, input, arena, header, lines, true);
    if (error == FW_OK)
        error = read_table(r, input, arena, header, lines, false);
    if (error != FW_ERR_MEMORY && lines->file_count == 0 && input->unit_name &&
        !line_add_file(input, arena, header, lines, input->unit_name, 0))
        return FW_ERR_MEMORY;
    return error;
}

static bool add_directory(struct arena *arena, struct line_header *header, size_t *capacity,
                          const char *directory)
{
    if (header->directory_count == *capacity) {
        size_t more = *capacity ? *capacity * 2 : 16;
        const char **moved = arena_resize(arena, header->directories, *capacity * sizeof *moved,
                                          more * sizeof *moved);
        if (!moved)
            return false;
        header->directories = moved;
        *capacity = more;
    }
    header->directories[header->directory_count++] = directory;
    return true;
}

static fw_error read_tables_2(struct reader *r, const struct dwarf_line_input *input,
                              struct arena *arena, struct line_header *header,
                              struct dwarf_lines *lines)
{
    size_t capacity = 0;
    const char *string = "";
    do {
        if (!add_directory(arena, header, &capacity, string))
            return FW_ERR_MEMORY;
        string = reader_string(r);
    } while (string && string[0]);
    if (!line_add_file(input, arena, header, lines, "", 0))
        return FW_ERR_MEMORY;
    lines->files[0] = (struct dwarf_file_name){"", "", ""};
    while ((string = reader_string(r)) && string[0]) {
        uint64_t directory = reader_uleb(r);
        reader_uleb(r); /* time of modification */
        reader_uleb(r); /* size */
        if (r->failed)
            break;
        if (!line_add_file(input, arena, header, lines, string, directory))
            return FW_ERR_MEMORY;
    }
    return r->failed ? FW_ERR_CORRUPT : FW_OK;
}

/* ---- the header ---- */

/* unit_length, version, header_length: where the table, its names and its program end. */
static fw_error read_frame(const struct dwarf_line_input *input, struct line_header *header,
                           struct dwarf_lines *lines, struct reader *names, struct fw_failure *why)
{
    struct reader r = reader_at(input->line.data, input->line.size, input->offset);
    r.swap = input->swap;
    header->unit = input->offset;
    header->section = r.begin;
    uint64_t length = reader_u32(&r);
    header->offset_size = 4;
    if (length == 0xffffffff) {
        length = reader_u64(&r);
        header->offset_size = 8;
    }
    if (r.failed || (header->offset_size == 4 && length >= 0xfffffff0))
        return line_problem(why, FW_ERR_TRUNCATED, input->offset, input->offset,
                            "no line table here");
    if (length > reader_left(&r))
        line_problem(why, FW_ERR_TRUNCATED, input->offset, input->offset,
                     "the table ends after its section does");
    else
        r.end = r.pos + length;
    lines->version = reader_u16(&r);
    if (!r.failed && (lines->version < 2 || lines->version > 5))
        return line_problem(why, FW_ERR_UNSUPPORTED, input->offset, input->offset,
                            "unknown version");
    header->address_size = input->address_size;
    if (lines->version >= 5) {
        uint8_t size = reader_u8(&r);
        if (size == 4 || size == 8 || size == 2)
            header->address_size = size;
        reader_u8(&r); /* segment selectors: none of them in use */
    }
    *names = reader_sub(&r, reader_uint(&r, header->offset_size));
    if (r.failed)
        return line_problem(why, FW_ERR_TRUNCATED, input->offset, reader_offset(&r),
                            "the header ends after its table does");
    header->program = r;
    return FW_OK;
}

fw_error line_header_read(const struct dwarf_line_input *input, struct arena *arena,
                          struct line_header *header, struct dwarf_lines *lines,
                          struct fw_failure *why)
{
    struct reader r;
    *header = (struct line_header){0};
    fw_error error = read_frame(input, header, lines, &r, why);
    if (error != FW_OK)
        return error;
    r.begin = header->section;
    header->min_instruction = reader_u8(&r);
    header->max_operations = lines->version >= 4 ? reader_u8(&r) : 1;
    header->default_is_statement = reader_u8(&r) != 0;
    header->line_base = (int8_t)reader_u8(&r);
    header->line_range = reader_u8(&r);
    header->opcode_base = reader_u8(&r);
    size_t standard = header->opcode_base ? header->opcode_base - 1u : 0;
    if (!reader_take(&r, standard, &header->operand_counts))
        return line_problem(why, FW_ERR_TRUNCATED, input->offset, reader_offset(&r),
                            "the header is too short");
    error = lines->version >= 5 ? read_tables_5(&r, input, arena, header, lines)
                                : read_tables_2(&r, input, arena, header, lines);
    if (error == FW_ERR_MEMORY)
        return line_problem(why, error, input->offset, reader_offset(&r), "out of memory");
    if (error != FW_OK)
        line_problem(why, error, input->offset, reader_offset(&r),
                     "damaged table of directories or files");
    return FW_OK;
}
