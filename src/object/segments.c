/*
 * The loaded segments of an object of either format, and finding the one around an address.
 *
 * Invariant: a load's bytes are never more than its size in memory, and its address range does not
 * wrap. Loads stay in the order of the file; `places` is the same by address.
 */
#include "object/object_internal.h"

#include <stdlib.h>

bool object_reserve_loads(struct object *object, size_t count)
{
    size_t room = count ? count : 1;
    object->loads = calloc(room, sizeof *object->loads);
    object->load_bytes = calloc(room, sizeof *object->load_bytes);
    object->places = calloc(room, sizeof *object->places);
    return object->loads && object->load_bytes && object->places;
}

void object_add_load(struct object *object, const struct object_segment *load, struct span bytes)
{
    if (load->vaddr + load->memory_size < load->vaddr)
        return;
    struct object_segment *to = &object->loads[object->load_count];
    *to = *load;
    if (to->file_size > to->memory_size)
        to->file_size = to->memory_size;
    object->load_bytes[object->load_count] = span_cut(bytes, 0, to->memory_size);
    object->places[object->load_count] =
        (struct load_place){load->vaddr, (uint32_t)object->load_count};
    object->load_count++;
}

static int by_address(const void *a, const void *b)
{
    const struct load_place *x = a, *y = b;
    if (x->vaddr != y->vaddr)
        return x->vaddr < y->vaddr ? -1 : 1;
    return x->load < y->load ? -1 : x->load > y->load;
}

void object_sort_loads(struct object *object)
{
    qsort(object->places, object->load_count, sizeof *object->places, by_address);
}

ptrdiff_t object_load_at(const struct object *object, uint64_t vaddr)
{
    size_t lo = 0, hi = object->load_count; /* the first place above vaddr */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (object->places[middle].vaddr <= vaddr)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == 0)
        return -1;
    uint32_t load = object->places[lo - 1].load;
    return vaddr - object->loads[load].vaddr < object->loads[load].memory_size ? (ptrdiff_t)load
                                                                               : -1;
}

struct span object_at(const struct object *object, uint64_t vaddr)
{
    ptrdiff_t i = object_load_at(object, vaddr);
    if (i < 0)
        return (struct span){NULL, 0};
    return span_cut(object->load_bytes[i], vaddr - object->loads[i].vaddr, UINT64_MAX);
}

size_t object_segment_count(const struct object *object)
{
    return object->load_count;
}

const struct object_segment *object_segment(const struct object *object, size_t i)
{
    return i < object->load_count ? &object->loads[i] : NULL;
}

struct span object_segment_data(const struct object *object, size_t i)
{
    return i < object->load_count ? object->load_bytes[i] : (struct span){NULL, 0};
}

uint64_t object_base(const struct object *object)
{
    return object->base;
}

void object_find_code(const struct object *object, struct unwind_image *image)
{
    for (size_t i = 0; i < object->load_count; i++) {
        const struct object_segment *s = &object->loads[i];
        if (!s->executable || s->memory_size == 0)
            continue;
        uint64_t end = s->vaddr + s->memory_size;
        if (image->hi == 0 || s->vaddr < image->lo)
            image->lo = s->vaddr;
        if (end > image->hi)
            image->hi = end;
        struct span bytes = object->load_bytes[i];
        if (bytes.size > image->text.size)
            image->text = (struct unwind_section){bytes.data, bytes.size, s->vaddr};
    }
}
