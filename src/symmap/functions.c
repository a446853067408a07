/* Functions by number: their heads, further names and calls; files by number. Async-signal-safe, as
 * lookups are. */
#include "symmap/map.h"

size_t symmap_function_count(const struct symmap *map)
{
    return map->function_count;
}

static bool head_of(const struct symmap *map, uint32_t function, struct head *head)
{
    return function < map->function_count &&
           map_head(map, map_u32(map, SECTION_FUNCTIONS, function), head);
}

bool symmap_function(const struct symmap *map, uint32_t function, struct symmap_function *result)
{
    struct head head;
    if (!head_of(map, function, &head))
        return false;
    struct format_subject subject = map_subject(map, head.subject);
    *result = (struct symmap_function){
        .name = map_string(map, subject.name),
        .start = head.start,
        .size = head.size,
        .flags = map_frame_flags(head.flags, subject.name != 0),
        .whole = head.whole ? head.whole - 1 : function,
        .all_tail_calls = head.flags & HEAD_ALL_TAIL_CALLS,
        .has_tail_calls = head.flags & HEAD_TAIL_CALLS,
    };
    return true;
}

/* First of `count` pairs whose key is not below `key`. */
static uint32_t first_pair(const struct symmap *map, enum section_id id, uint32_t count,
                           uint64_t key)
{
    uint32_t first = 0;
    while (count) {
        uint32_t half = count / 2;
        if (map_pair(map, id, first + half).key < key) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

size_t symmap_alias_count(const struct symmap *map, uint32_t function)
{
    uint32_t first = first_pair(map, SECTION_ALIASES, map->alias_count, function);
    uint32_t end = first_pair(map, SECTION_ALIASES, map->alias_count, (uint64_t)function + 1);
    return end > first ? end - first : 0;
}

const char *symmap_alias(const struct symmap *map, uint32_t function, size_t i)
{
    uint32_t first = first_pair(map, SECTION_ALIASES, map->alias_count, function);
    if (i >= map->alias_count - first)
        return NULL;
    struct format_pair pair = map_pair(map, SECTION_ALIASES, first + (uint32_t)i);
    return pair.key == function ? map_string(map, pair.value) : NULL;
}

fw_error symmap_call_at(const struct symmap *map, uint64_t return_offset, uint32_t *target)
{
    uint32_t i = first_pair(map, SECTION_CALLS, map->call_count, return_offset);
    if (i == map->call_count)
        return FW_ERR_NOT_FOUND;
    struct format_pair pair = map_pair(map, SECTION_CALLS, i);
    if (pair.key != return_offset)
        return FW_ERR_NOT_FOUND;
    *target = pair.value;
    return FW_OK;
}

fw_error symmap_tail_calls(const struct symmap *map, uint32_t function,
                           bool (*each)(void *context, uint64_t offset, uint32_t target),
                           void *context)
{
    struct head head;
    if (!head_of(map, function, &head))
        return function < map->function_count ? FW_ERR_CORRUPT : FW_ERR_NOT_FOUND;
    struct span lists = map->section[SECTION_TAIL_CALLS];
    if (!(head.flags & HEAD_TAIL_CALLS))
        return FW_OK;
    if (head.tail_calls >= lists.size)
        return FW_ERR_CORRUPT;
    const uint8_t *p = lists.data + head.tail_calls, *end = lists.data + lists.size;
    uint64_t count, move, target;
    uint32_t offset = head.start;
    if (!get_uleb(&p, end, &count))
        return FW_ERR_CORRUPT;
    while (count--) {
        if (!get_uleb(&p, end, &move) || !get_uleb(&p, end, &target))
            return FW_ERR_CORRUPT;
        offset += unzigzag(move);
        uint32_t called = target == TAIL_CALL_INDIRECT    ? (uint32_t)SYMMAP_CALL_INDIRECT
                          : target == TAIL_CALL_ELSEWHERE ? (uint32_t)SYMMAP_CALL_ELSEWHERE
                                                          : (uint32_t)(target - TAIL_CALL_FUNCTION);
        if (!each(context, offset, called))
            break;
    }
    return FW_OK;
}

bool symmap_file(const struct symmap *map, uint32_t number, const char **directory,
                 const char **file)
{
    if (number >= map->file_count)
        return false;
    const uint8_t *p = map->section[SECTION_FILES].data + (size_t)number * FILE_SIZE;
    *directory = map_string(map, get_u32(p));
    *file = map_string(map, get_u32(p + 4));
    if (!*directory)
        *directory = "";
    return true;
}
