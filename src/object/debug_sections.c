/*
 * debug_sections.h: hands each question to the code for the object's container.
 */
#include "object/debug_sections.h"

#include "object/elf_internal.h"

fw_error object_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                              struct fw_failure *why)
{
    return elf_debug_section(object, name, dwo, data, why);
}

size_t object_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                         struct object_inflation *list, size_t room)
{
    return elf_inflations(object, names, count, dwo, list, room);
}

void object_inflation_run(struct object_inflation *inflation)
{
    inflation->result =
        inflation->codec(inflation->packed.data, inflation->packed.size, inflation->size);
}

void object_inflations_take(struct object *object, struct object_inflation *list, size_t count)
{
    elf_inflations_take(object, list, count);
}

fw_error object_code_ranges(struct object *object, const struct object_range **ranges,
                            size_t *count)
{
    return elf_code_ranges(object, ranges, count);
}

void object_function_starts(struct object *object, bool (*each)(void *context, uint64_t vaddr),
                            void *context)
{
    elf_function_starts(object, each, context);
}

bool object_debugaltlink(struct object *object, const char **path, struct span *build_id)
{
    return elf_debugaltlink(object, path, build_id);
}

struct span object_supplementary_id(struct object *object)
{
    return elf_supplementary_id(object);
}
