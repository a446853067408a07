/* What exercise.h does, and everything of debug files beside it. */
#ifndef TESTS_OBJECT_EXERCISE_MACHO_H
#define TESTS_OBJECT_EXERCISE_MACHO_H

#include "exercise.h"
#include "object/debug_map.h"
#include "object/debug_sections.h"

static bool exercise_start(void *context, uint64_t vaddr)
{
    *(uint64_t *)context += vaddr;
    return true;
}

static bool exercise_entry(void *context, const struct debug_map_object *entry)
{
    *(uint64_t *)context += strlen(entry->path) + entry->function_count;
    for (size_t i = 0; i < entry->function_count; i++)
        *(uint64_t *)context += strlen(entry->functions[i].name) + entry->functions[i].size;
    return true;
}

static uint64_t exercise_debug(struct object *object)
{
    static const char *const names[] = {"info", "abbrev", "line", "str", "str_offsets", "line_str"};
    uint64_t sum = strlen(object_arch_name(object)) + object_base(object);
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        struct span data;
        struct fw_failure why = {0};
        if (object_debug_section(object, names[i / 2], i % 2, &data, &why) == FW_OK)
            sum += exercise_span(data.data, data.size);
    }
    const struct object_range *ranges;
    size_t count;
    if (object_code_ranges(object, &ranges, &count) == FW_OK)
        for (size_t i = 0; i < count; i++)
            sum += ranges[i].hi - ranges[i].lo;
    object_function_starts(object, exercise_start, &sum);
    object_debug_map(object, exercise_entry, &sum, NULL);
    return sum;
}

static uint64_t exercise_macho(const uint8_t *data, size_t size)
{
    uint64_t sum = exercise_bytes(data, size);
    struct object *object;
    struct fw_failure why;
    if (object_open_bytes(data, size, false, "bytes", &object, &why) == FW_OK) {
        sum += exercise_debug(object);
        object_close(object);
    }
    return sum;
}

#endif
