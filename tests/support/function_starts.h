/* Lists of function starts as Mach-O images have them (LC_FUNCTION_STARTS), made by hand. */
#ifndef SUPPORT_FUNCTION_STARTS_H
#define SUPPORT_FUNCTION_STARTS_H

#include <stddef.h>
#include <stdint.h>

struct starts_list {
    uint8_t *bytes;
    size_t size;
    uint64_t last; /* start written last; the header's address at first */
};

/* Ten bytes are enough for one more start. `start` lies above the last one, else nothing is added.
 */
static inline void starts_add(struct starts_list *list, uint64_t start)
{
    uint64_t distance = start - list->last;
    if (start <= list->last)
        return;
    list->last = start;
    for (; distance >= 0x80; distance >>= 7)
        list->bytes[list->size++] = (uint8_t)(distance | 0x80);
    list->bytes[list->size++] = (uint8_t)distance;
}

#endif
