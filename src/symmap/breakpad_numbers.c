#include "symmap/breakpad_numbers.h"

#include "base/array.h"

#include <stdlib.h>

struct numbered *numbers_add(struct numbers *list, size_t place, uint32_t number)
{
    if (!array_room(&list->items, &list->capacity, list->count, sizeof *list->items))
        return NULL;
    struct numbered *item = &list->items[list->count++];
    *item = (struct numbered){.number = number, .place = place};
    return item;
}

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->number != y->number)
        return x->number > y->number ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

void numbers_sort(struct numbers *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_number);
    for (size_t i = 0; i < list->count; i++) {
        kept -= kept && list->items[kept - 1].number == list->items[i].number;
        list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* Numbers without gaps are found at once. */
const struct numbered *numbers_find(const struct numbers *list, uint32_t number)
{
    size_t low = 0, high = list->count;
    if (number < high && list->items[number].number == number)
        return &list->items[number];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->items[low].number == number ? &list->items[low] : NULL;
}

void numbers_free(struct numbers *list)
{
    free(list->items);
    *list = (struct numbers){0};
}
