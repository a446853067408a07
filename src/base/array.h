/*
 * Arrays that grow by doubling. `array_room` makes room for one more item at the end:
 *
 *     if (!array_room(&list->items, &list->capacity, list->count, sizeof *list->items))
 *         return FW_ERR_MEMORY;
 *     list->items[list->count++] = item;
 *
 * Calls realloc: never in a signal handler.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* `items` is the address of the pointer to the items. False when memory ran out: nothing changed.
 */
static inline bool array_reserve(void *items, size_t *capacity, size_t needed, size_t item_size)
{
    if (needed <= *capacity)
        return true;
    size_t larger = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (larger < needed)
        larger = needed;
    if (larger < 16)
        larger = 16;
    if (larger > SIZE_MAX / item_size)
        return false;
    void *old;
    memcpy(&old, items, sizeof old);
    void *moved = realloc(old, larger * item_size);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    *capacity = larger;
    return true;
}

static inline bool array_room(void *items, size_t *capacity, size_t count, size_t item_size)
{
    return count < SIZE_MAX && array_reserve(items, capacity, count + 1, item_size);
}

/* qsort, which costs next to nothing when the items are in order already, as most files have them.
 */
static inline void array_sort(void *items, size_t count, size_t item_size,
                              int (*compare)(const void *a, const void *b))
{
    const char *item = items;
    size_t i = 1;
    while (i < count && compare(item + (i - 1) * item_size, item + i * item_size) <= 0)
        i++;
    if (i < count)
        qsort(items, count, item_size, compare);
}

#endif
