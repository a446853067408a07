/*
 * Where the code of an object is: its sections of instructions, or, where there are no sections,
 * its executable segments.
 */
#include "object/debug_sections.h"
#include "object/object_internal.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const struct object_range *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* Sorts, and joins what overlaps; neighbours that only touch stay apart. */
static size_t tidy(struct object_range *ranges, size_t count)
{
    if (count == 0)
        return 0;
    qsort(ranges, count, sizeof *ranges, by_start);
    size_t last = 0;
    for (size_t i = 1; i < count; i++) {
        if (ranges[i].lo >= ranges[last].hi)
            ranges[++last] = ranges[i];
        else if (ranges[i].hi > ranges[last].hi)
            ranges[last].hi = ranges[i].hi;
    }
    return last + 1;
}

static void add_range(struct object *object, uint64_t lo, uint64_t size)
{
    if (size && lo + size > lo)
        object->code[object->code_count++] = (struct object_range){lo, lo + size};
}

fw_error object_code_ranges(struct object *object, const struct object_range **ranges,
                            size_t *count)
{
    *ranges = NULL;
    *count = 0;
    if (!object->code) {
        object->code = calloc(object->section_count + object->load_count + 1, sizeof **ranges);
        if (!object->code)
            return FW_ERR_MEMORY;
        for (size_t i = 1; i < object->section_count; i++)
            if (object->sections[i].view.code)
                add_range(object, object->sections[i].view.vaddr, object->sections[i].view.size);
        for (size_t i = 0; object->code_count == 0 && i < object->load_count; i++)
            if (object->loads[i].executable)
                add_range(object, object->loads[i].vaddr, object->loads[i].memory_size);
        object->code_count = tidy(object->code, object->code_count);
    }
    *ranges = object->code;
    *count = object->code_count;
    return FW_OK;
}
