/*
 * debug_sections.h: hands each question to the object's format; what does not depend on it is here.
 */
#include "object/debug_sections.h"

#include "object/object_internal.h"

#include <stdlib.h>

fw_error object_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                              struct fw_failure *why)
{
    return object->format->debug_section(object, name, dwo, data, why);
}

size_t object_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                         struct object_inflation *list, size_t room)
{
    return object->format->inflations(object, names, count, dwo, list, room);
}

bool object_inflation_of(const struct object *object, size_t section,
                         struct object_inflation *entry)
{
    const struct section *s = &object->sections[section];
    struct section_packed packed;
    if (s->inflated || object_section_packed(object, s, &packed, NULL) != FW_OK || !packed.codec)
        return false;
    *entry = (struct object_inflation){
        .codec = packed.codec,
        .packed = packed.data,
        .size = (size_t)packed.size,
        .section = (uint32_t)section,
    };
    return true;
}

void object_inflation_run(struct object_inflation *inflation)
{
    inflation->result =
        inflation->codec(inflation->packed.data, inflation->packed.size, inflation->size);
}

void object_inflations_take(struct object *object, struct object_inflation *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct section *section = &object->sections[list[i].section];
        if (section->inflated) {
            free(list[i].result);
        } else if (list[i].result) {
            section->inflated = list[i].result;
            section->inflated_size = list[i].size;
        }
        list[i].result = NULL;
    }
}

void object_function_starts(struct object *object, bool (*each)(void *context, uint64_t vaddr),
                            void *context)
{
    object->format->function_starts(object, each, context);
}

/* .debug_sup (DWARF 5 section 7.3.6): { u16 version, u8 is supplementary, name, ULEB128 size, bytes
 * }.
 */
static bool read_sup(struct object *object, const char **path, struct span *checksum)
{
    struct span bytes;
    if (object_debug_section(object, "sup", false, &bytes, NULL) != FW_OK)
        return false;
    struct reader r = object_reader(object, bytes);
    uint16_t version = reader_u16(&r);
    bool supplementary = reader_u8(&r) != 0;
    const char *name = reader_string(&r);
    struct span sum = {NULL, (size_t)reader_uleb(&r)};
    reader_take(&r, sum.size, &sum.data);
    if (r.failed || version != 5)
        return false;
    *path = supplementary ? "" : name;
    *checksum = sum;
    return true;
}

bool object_debugaltlink(struct object *object, const char **path, struct span *build_id)
{
    struct section *section = object_section_named(object, ".gnu_debugaltlink");
    struct span bytes;
    if (!section || object_section_contents(object, section, &bytes, NULL) != FW_OK)
        return read_sup(object, path, build_id) && **path != 0;
    struct reader r = object_reader(object, bytes);
    const char *text = reader_string(&r);
    if (r.failed || *text == 0)
        return false;
    *path = text;
    *build_id = (struct span){r.pos, reader_left(&r)};
    return true;
}

struct span object_supplementary_id(struct object *object)
{
    const char *path;
    struct span id = object->build_id;
    if (id.size == 0 && (!read_sup(object, &path, &id) || *path != 0))
        id = (struct span){NULL, 0};
    return id;
}
