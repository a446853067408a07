/*
 * Notes: PT_NOTE segments and SHT_NOTE sections; the build id among them, and .gnu_debuglink.
 *
 * A note is { u32 name size, u32 contents size, u32 type, name, contents }, name and contents each
 * padded to 4 bytes, or to 8 in a segment or section of that alignment (gABI chapter 5, "Note
 * Section"; Linux Extensions for GNU property notes). A broken note ends its table.
 */
#include "object/elf_internal.h"

enum {
    BUILD_ID_MAX = 64,
    NOTE_SEGMENTS = 16, /* as many are searched for a section's notes; real files have under 4 */
};

typedef bool (*note_call)(void *context, const char *name, uint32_t type, struct span contents);

static void skip_padding(struct reader *r, size_t align)
{
    size_t rest = reader_offset(r) % align;
    if (rest)
        reader_skip(r, align - rest);
}

/* False when `each` asked to stop. */
static bool walk_notes(const struct object *object, struct span table, size_t align, note_call each,
                       void *context)
{
    struct reader r = object_reader(object, table);
    while (reader_left(&r) >= 12) {
        uint32_t name_size = reader_u32(&r);
        uint32_t size = reader_u32(&r);
        uint32_t type = reader_u32(&r);
        const uint8_t *name = NULL;
        struct span contents = {NULL, size};
        reader_take(&r, name_size, &name);
        skip_padding(&r, align);
        reader_take(&r, size, &contents.data);
        if (r.failed)
            return true;
        /* Some writers of core files leave the name's NUL out. */
        char text[32] = "";
        memcpy(text, name, name_size < sizeof text - 1 ? name_size : sizeof text - 1);
        if (!each(context, text, type, contents))
            return false;
        if (reader_left(&r) == 0)
            return true;
        skip_padding(&r, align);
    }
    return true;
}

/* Does a PT_NOTE already hold this section? */
static bool in_note_segment(const struct object *object, const struct object_section *section)
{
    if (object->is_debug)
        return false;
    for (size_t i = 0, seen = 0; i < object->elf->segment_count && seen < NOTE_SEGMENTS; i++) {
        const struct elf_segment *s = &object->elf->segments[i];
        if (s->type != PT_NOTE)
            continue;
        seen++;
        if (section->offset >= s->offset && section->offset - s->offset < s->bytes.size)
            return true;
    }
    return false;
}

/* Takes a table's bytes from the budget. Tables of a sane file do not overlap, so together they are
 * no larger than it; without this, thousands of headers could name the same bytes. */
static bool afford(uint64_t *budget, struct span table)
{
    if (table.size > *budget)
        return false;
    *budget -= table.size;
    return true;
}

void object_notes(const struct object *object, note_call each, void *context)
{
    if (!object->elf) /* Mach-O has no notes */
        return;
    uint64_t budget = object->file.size;
    for (size_t i = 0; i < object->elf->segment_count; i++) {
        const struct elf_segment *s = &object->elf->segments[i];
        if (s->type == PT_NOTE &&
            (!afford(&budget, s->bytes) ||
             !walk_notes(object, s->bytes, s->align == 8 ? 8 : 4, each, context)))
            return;
    }
    for (size_t i = 1; i < object->section_count; i++) {
        const struct section *s = &object->sections[i];
        if (s->view.type != SHT_NOTE || in_note_segment(object, &s->view))
            continue;
        struct span bytes = object_section_bytes(object, s);
        if (!afford(&budget, bytes) ||
            !walk_notes(object, bytes, s->elf.alignment == 8 ? 8 : 4, each, context))
            return;
    }
}

static bool take_build_id(void *context, const char *name, uint32_t type, struct span contents)
{
    if (type != NT_GNU_BUILD_ID || strcmp(name, "GNU") != 0 || contents.size == 0 ||
        contents.size > BUILD_ID_MAX)
        return true;
    *(struct span *)context = contents;
    return false;
}

void elf_find_build_id(struct object *object)
{
    /* A core file's notes are those of the process; it has no build id of its own. */
    if (object->elf->type != ET_CORE)
        object_notes(object, take_build_id, &object->build_id);
}

bool object_debuglink(const struct object *object, const char **name, uint32_t *crc)
{
    const struct section *section = object_section_named(object, ".gnu_debuglink");
    if (!section)
        return false;
    struct reader r = object_reader(object, object_section_bytes(object, section));
    const char *text = reader_string(&r);
    skip_padding(&r, 4);
    uint32_t value = reader_u32(&r);
    if (r.failed || *text == 0)
        return false;
    *name = text;
    *crc = value;
    return true;
}
