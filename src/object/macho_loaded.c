/*
 * Reading the load commands of a loaded image.
 *
 * Invariant: an address is formed only from a range that was found to lie inside a segment, and
 * nothing outside of the header's commands is read here.
 */
#include "object/macho_loaded.h"

#include "object/macho_format.h"

enum { COMMANDS_LIMIT = 1 << 20 };

/* What stands in __LINKEDIT, by file offset. */
struct linked {
    struct macho_segment segment;
    bool found;
    uint32_t symbols, symbol_count, strings, strings_size;
    uint32_t indirect, indirect_count;
    uint32_t exports, exports_size;
    uint32_t starts, starts_size;
};

/* Whether it takes up memory of the image: __PAGEZERO only keeps addresses free. */
static bool is_mapped(const struct macho_segment *s)
{
    return s->protection && s->memory_size && s->vaddr + s->memory_size - 1 >= s->vaddr;
}

static bool is_text(const struct macho_segment *s)
{
    return strcmp(s->name, "__TEXT") == 0;
}

static bool is_linkedit(const struct macho_segment *s)
{
    return strcmp(s->name, "__LINKEDIT") == 0;
}

/* The commands have to lie in the segment that the header is the beginning of. */
static bool holds_commands(const struct macho_loaded *image, const struct macho_segment *text)
{
    const size_t header = image->is_64 ? MACHO_HEADER_SIZE_64 : MACHO_HEADER_SIZE_32;
    return is_mapped(text) && (text->protection & VM_READ) &&
           header + image->commands.size <= text->memory_size;
}

static void take_install_name(struct macho_loaded *image, struct reader *r)
{
    uint32_t offset = reader_u32(r);
    reader_seek(r, offset);
    const char *name = reader_string(r);
    if (name && *name)
        image->install_name = name;
}

static void take_command(struct macho_loaded *image, struct linked *linked, uint32_t command,
                         struct reader *r)
{
    const uint8_t *uuid;
    switch (command) {
    case LC_SYMTAB:
        linked->symbols = reader_u32(r);
        linked->symbol_count = reader_u32(r);
        linked->strings = reader_u32(r);
        linked->strings_size = reader_u32(r);
        break;
    case LC_DYSYMTAB:
        reader_skip(r, 48);
        linked->indirect = reader_u32(r);
        linked->indirect_count = reader_u32(r);
        break;
    case LC_DYLD_INFO:
    case LC_DYLD_INFO_ONLY:
        reader_skip(r, 32);
        linked->exports = reader_u32(r);
        linked->exports_size = reader_u32(r);
        break;
    case LC_DYLD_EXPORTS_TRIE:
        linked->exports = reader_u32(r);
        linked->exports_size = reader_u32(r);
        break;
    case LC_FUNCTION_STARTS:
        linked->starts = reader_u32(r);
        linked->starts_size = reader_u32(r);
        break;
    case LC_UUID:
        image->has_uuid = reader_take(r, MACHO_UUID_SIZE, &uuid);
        if (image->has_uuid)
            memcpy(image->uuid, uuid, MACHO_UUID_SIZE);
        break;
    case LC_ID_DYLIB: take_install_name(image, r); break;
    case LC_UNIXTHREAD: image->entry = macho_thread_entry(r, image->cpu_type, image->is_64); break;
    default: break;
    }
}

/* Part of __LINKEDIT that the file has at `offset`, of which 32 bits are stored. All of it or
 * nothing: a table of which a part is missing is none. */
static struct macho_range place(const struct linked *linked, uint32_t offset, uint64_t size)
{
    const struct macho_segment *s = &linked->segment;
    const uint64_t room = s->file_size < s->memory_size ? s->file_size : s->memory_size;
    const uint32_t distance = offset - (uint32_t)s->offset;
    if (!linked->found || offset == 0 || size == 0 || distance > room || size > room - distance)
        return (struct macho_range){0, 0};
    return (struct macho_range){s->vaddr + distance, size};
}

static void place_tables(struct macho_loaded *image, const struct linked *l)
{
    const uint64_t entry_size = image->is_64 ? 16 : 12;
    image->symbols = place(l, l->symbols, l->symbol_count * entry_size);
    image->strings = place(l, l->strings, l->strings_size);
    image->indirect = place(l, l->indirect, (uint64_t)l->indirect_count * 4);
    image->exports = place(l, l->exports, l->exports_size);
    image->function_starts = place(l, l->starts, l->starts_size);
}

/* One pass over the commands. The first __TEXT is the one that dyld goes by. */
static bool read_commands(struct macho_loaded *image, uint32_t count)
{
    struct linked linked = {0};
    struct reader r = reader_over(image->commands.data, image->commands.size), body;
    bool has_text = false;
    uint32_t command, i = 0;
    for (; i < count && macho_next_command(&r, &command, &body); i++) {
        if (!macho_is_segment(command)) {
            take_command(image, &linked, command, &body);
            continue;
        }
        struct macho_segment s;
        macho_read_segment(&body, image->is_64, &s);
        if (body.failed)
            return false;
        if (is_text(&s) && !has_text) {
            if (!holds_commands(image, &s))
                return false;
            image->vaddr = s.vaddr;
            image->slide = image->header - s.vaddr;
            has_text = true;
        }
        if (is_linkedit(&s) && !linked.found && is_mapped(&s) && (s.protection & VM_READ)) {
            linked.segment = s;
            linked.found = true;
        }
    }
    place_tables(image, &linked);
    return has_text && i == count;
}

bool macho_loaded_read(struct macho_loaded *image, const struct macho_memory *memory,
                       uint64_t header)
{
    *image = (struct macho_loaded){.memory = memory, .header = header};
    const uint8_t *bytes = memory->at(memory->context, header, MACHO_HEADER_SIZE_32);
    if (!bytes)
        return false;
    /* Of 64 bits, the last word of the header is reserved. */
    uint8_t padded[MACHO_HEADER_SIZE_64] = {0};
    memcpy(padded, bytes, MACHO_HEADER_SIZE_32);
    struct reader r = reader_over(padded, sizeof padded);
    struct macho_header h;
    if (!macho_read_header(&r, &h) || h.swap || h.commands_size > COMMANDS_LIMIT)
        return false;
    const size_t size = h.is_64 ? MACHO_HEADER_SIZE_64 : MACHO_HEADER_SIZE_32;
    bytes = memory->at(memory->context, header, size + h.commands_size);
    if (!bytes)
        return false;
    image->commands = (struct span){bytes + size, h.commands_size};
    image->is_64 = h.is_64;
    image->cpu_type = h.cpu_type;
    image->cpu_subtype = h.cpu_subtype;
    image->file_type = h.file_type;
    image->permanent =
        h.file_type == MH_EXECUTE || h.file_type == MH_DYLINKER || (h.flags & MH_DYLIB_IN_CACHE);
    return read_commands(image, h.command_count);
}

/* Calls `each` with every segment and a reader at its sections, until that returns false. */
static void each_segment(const struct macho_loaded *image,
                         bool (*each)(void *context, const struct macho_segment *s,
                                      struct reader *sections),
                         void *context)
{
    struct reader r = reader_over(image->commands.data, image->commands.size), body;
    uint32_t command;
    while (macho_next_command(&r, &command, &body)) {
        struct macho_segment s;
        if (!macho_is_segment(command))
            continue;
        macho_read_segment(&body, image->is_64, &s);
        if (body.failed || !each(context, &s, &body))
            return;
    }
}

struct segments_call {
    const struct macho_loaded *image;
    bool (*each)(void *context, const struct macho_loaded_segment *segment);
    void *context;
};

static bool pass_segment(void *context, const struct macho_segment *s, struct reader *sections)
{
    const struct segments_call *call = context;
    (void)sections;
    const uint64_t lo = s->vaddr + call->image->slide;
    if (!is_mapped(s) || lo + s->memory_size < lo)
        return true;
    const struct macho_loaded_segment segment = {
        .lo = lo,
        .hi = lo + s->memory_size,
        .readable = s->protection & VM_READ,
        .executable = s->protection & VM_EXECUTE,
        .linkedit = is_linkedit(s),
    };
    return call->each(call->context, &segment);
}

void macho_loaded_segments(const struct macho_loaded *image,
                           bool (*each)(void *context, const struct macho_loaded_segment *segment),
                           void *context)
{
    struct segments_call call = {image, each, context};
    each_segment(image, pass_segment, &call);
}

struct sections_call {
    const struct macho_loaded *image;
    bool (*each)(void *context, const struct macho_section *section);
    void *context;
};

static bool pass_sections(void *context, const struct macho_segment *s, struct reader *sections)
{
    const struct sections_call *call = context;
    for (uint32_t i = 0; i < s->section_count; i++) {
        struct macho_section section;
        macho_read_section(sections, call->image->is_64, &section);
        const uint64_t distance = section.vaddr - s->vaddr;
        if (!is_mapped(s) || distance > s->memory_size || section.size > s->memory_size - distance)
            section.size = 0;
        if (!call->each(call->context, &section))
            return false;
    }
    return true;
}

void macho_loaded_sections(const struct macho_loaded *image,
                           bool (*each)(void *context, const struct macho_section *section),
                           void *context)
{
    struct sections_call call = {image, each, context};
    each_segment(image, pass_sections, &call);
}

struct span macho_loaded_bytes(const struct macho_loaded *image, struct macho_range place)
{
    if (place.size == 0 || place.size > SIZE_MAX)
        return (struct span){NULL, 0};
    const uint8_t *data =
        image->memory->at(image->memory->context, place.vaddr + image->slide, (size_t)place.size);
    return (struct span){data, data ? (size_t)place.size : 0};
}

struct macho_symbol_table macho_loaded_table(const struct macho_loaded *image)
{
    const size_t entry_size = image->is_64 ? 16 : 12;
    struct span strings = macho_loaded_bytes(image, image->strings);
    while (strings.size && strings.data[strings.size - 1] != 0)
        strings.size--;
    struct span entries = macho_loaded_bytes(image, image->symbols);
    return (struct macho_symbol_table){
        .entries = entries,
        .strings = strings,
        .count = entries.size / entry_size,
        .is_64 = image->is_64,
    };
}

static struct unwind_section section_at(const struct macho_loaded *image, uint64_t vaddr,
                                        uint64_t size)
{
    struct span bytes = macho_loaded_bytes(image, (struct macho_range){vaddr, size});
    return (struct unwind_section){bytes.data, bytes.size, vaddr};
}

struct unwinding {
    const struct macho_loaded *image;
    uint64_t vaddr; /* link-time address that is looked at */
    struct unwind_image *out;
    struct macho_range text;
    unsigned stubs;
};

/* The code range of the whole image, and as `text` the segment around the address. */
static bool take_code(void *context, const struct macho_loaded_segment *segment)
{
    struct unwinding *u = context;
    const uint64_t lo = segment->lo - u->image->slide, hi = segment->hi - u->image->slide;
    if (!segment->executable)
        return true;
    if (u->out->hi == 0 || lo < u->out->lo)
        u->out->lo = lo;
    if (hi > u->out->hi)
        u->out->hi = hi;
    if (segment->readable && u->vaddr - lo < hi - lo)
        u->text = (struct macho_range){lo, hi - lo};
    return true;
}

static bool take_section(void *context, const struct macho_section *s)
{
    struct unwinding *u = context;
    if (s->size == 0 || macho_is_zero_filled(s->flags))
        return true;
    const bool text = strcmp(s->segment, "__TEXT") == 0;
    if (text && strcmp(s->name, "__unwind_info") == 0)
        u->out->unwind_info = section_at(u->image, s->vaddr, s->size);
    else if (text && strcmp(s->name, "__eh_frame") == 0)
        u->out->eh_frame = section_at(u->image, s->vaddr, s->size);
    else if (u->stubs < UNWIND_STUB_AREAS && macho_holds_stubs(s->name, s->flags & S_TYPE_MASK))
        u->out->plt[u->stubs++] = section_at(u->image, s->vaddr, s->size);
    return true;
}

void macho_loaded_unwind_image(const struct macho_loaded *image, uint64_t address,
                               struct unwind_image *out)
{
    *out = (struct unwind_image){.macho = true, .bias = image->slide, .entry = image->entry};
    struct unwinding u = {.image = image, .vaddr = address - image->slide, .out = out};
    macho_loaded_segments(image, take_code, &u);
    macho_loaded_sections(image, take_section, &u);
    out->text = section_at(image, u.text.vaddr, u.text.size);
    out->header = image->vaddr;
    struct span starts = macho_loaded_bytes(image, image->function_starts);
    out->function_starts = (struct unwind_section){starts.data, starts.size, 0};
}
