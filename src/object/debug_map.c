/*
 * The debug map out of stabs: N_OSO names an object file with its date and opens its entries; each
 * function is a pair of N_FUN, { name, address } and { "", size } (<mach-o/stab.h>).
 */
#include "object/debug_map.h"

#include "base/array.h"
#include "object/macho_internal.h"

enum { N_SO = 0x64 };

struct map {
    struct debug_map_object entry; /* entry.path NULL: between two object files */
    struct debug_map_function *functions;
    size_t count, capacity;
    bool open; /* the last function's size is still to come */
};

static bool add_function(const struct object *object, struct map *map,
                         const struct macho_symbol *symbol)
{
    if (!array_room(&map->functions, &map->capacity, map->count, sizeof *map->functions))
        return false;
    uint64_t vaddr =
        object->macho->cpu_type == CPU_ARM ? symbol->value & ~(uint64_t)1 : symbol->value;
    map->functions[map->count++] =
        (struct debug_map_function){macho_source_name(symbol->name), vaddr, 0};
    map->open = true;
    return true;
}

/* Hands out what was gathered of one object file; false when `each` has enough. */
static bool finish(struct map *map, bool (*each)(void *, const struct debug_map_object *),
                   void *context)
{
    bool more = true;
    if (map->entry.path) {
        map->entry.functions = map->functions;
        map->entry.function_count = map->count;
        more = each(context, &map->entry);
    }
    map->entry = (struct debug_map_object){0};
    map->count = 0;
    map->open = false;
    return more;
}

fw_error object_debug_map(const struct object *object,
                          bool (*each)(void *context, const struct debug_map_object *entry),
                          void *context, struct fw_failure *why)
{
    struct map map = {0};
    struct macho_symbol s;
    bool any = false, more = true;
    fw_error error = FW_OK;
    size_t count = object->macho ? object->macho->table.count : 0;
    for (size_t i = 0; more && error == FW_OK && i < count; i++) {
        macho_table_symbol(&object->macho->table, i, &s);
        if (s.type == N_OSO) {
            any = true;
            more = finish(&map, each, context);
            map.entry = (struct debug_map_object){.path = s.name, .modified = s.value};
        } else if (s.type == N_SO && s.name[0] == 0) {
            more = finish(&map, each, context);
        } else if (s.type == N_FUN && s.name[0] && map.entry.path) {
            if (!add_function(object, &map, &s))
                error = object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
        } else if (s.type == N_FUN && map.open) {
            map.functions[map.count - 1].size = s.value;
            map.open = false;
        }
    }
    if (more && error == FW_OK)
        finish(&map, each, context);
    free(map.functions);
    if (error == FW_OK && !any)
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "has no debug map");
    return error;
}
