/*
 * Function starts out of .eh_frame_hdr (LSB 4.1 Core, 10.6.2: a sorted table of { initial location,
 * address of FDE }) and .ARM.exidx (EHABI32 section 5: { prel31 function, unwind word }), and out
 * of the list that the format may have.
 */
#include "object/code_bounds.h"

#include "base/array.h"
#include "object/object_internal.h"

#include <stdlib.h>

enum { DATAREL_SDATA4 = 0x3b, DATAREL_UDATA4 = 0x33, DATAREL_SDATA8 = 0x3c, DATAREL_UDATA8 = 0x34 };

static void init_eh_frame_hdr(struct code_starts *starts, const struct object *object,
                              const struct unwind_section *header)
{
    struct reader r = object_reader(object, (struct span){header->data, header->size});
    uint8_t version = reader_u8(&r);
    uint8_t pointer = reader_u8(&r);
    uint8_t count = reader_u8(&r);
    uint8_t table = reader_u8(&r);
    switch (pointer & 0x0f) {
    case 0x00: reader_skip(&r, object->is_64 ? 8 : 4); break;
    case 0x02:
    case 0x0a: reader_skip(&r, 2); break;
    case 0x03:
    case 0x0b: reader_skip(&r, 4); break;
    default: reader_skip(&r, 8); break;
    }
    uint64_t entries = 0;
    switch (count) {
    case 0x03:
    case 0x0b: entries = reader_u32(&r); break;
    case 0x04:
    case 0x0c: entries = reader_u64(&r); break;
    default: return;
    }
    switch (table) {
    case DATAREL_SDATA4:
    case DATAREL_UDATA4: starts->entry_size = 8; break;
    case DATAREL_SDATA8:
    case DATAREL_UDATA8: starts->entry_size = 16; break;
    default: return;
    }
    if (r.failed || version != 1)
        return;
    starts->is_signed = table == DATAREL_SDATA4;
    starts->base = header->vaddr;
    starts->table = (struct span){r.pos, reader_left(&r)};
    uint64_t room = starts->table.size / starts->entry_size;
    starts->count = (size_t)(entries < room ? entries : room);
}

static bool add_listed(void *context, uint64_t vaddr)
{
    struct code_bounds *b = context;
    if (!array_room(&b->listed, &b->listed_capacity, b->listed_count, sizeof *b->listed)) {
        b->no_memory = true;
        return false;
    }
    b->listed[b->listed_count++] = vaddr;
    return true;
}

bool code_bounds_init(struct code_bounds *bounds, const struct object *object,
                      const struct unwind_image *image)
{
    *bounds = (struct code_bounds){.swap = object->swap, .is_64 = object->is_64};
    if (image->eh_frame_hdr.data)
        init_eh_frame_hdr(&bounds->eh_frame_hdr, object, &image->eh_frame_hdr);
    if (image->exidx.data)
        bounds->exidx = (struct code_starts){
            .table = {image->exidx.data, image->exidx.size},
            .count = image->exidx.size / 8,
            .entry_size = 8,
            .base = image->exidx.vaddr,
        };
    object->format->starts(object, add_listed, bounds);
    return !bounds->no_memory;
}

void code_bounds_free(struct code_bounds *bounds)
{
    free(bounds->listed);
}

bool code_bounds_complete(const struct code_bounds *bounds)
{
    return bounds->listed_count || (bounds->eh_frame_hdr.count && !bounds->exidx.count);
}

static uint64_t start_of(const struct code_bounds *bounds, const struct code_starts *starts,
                         size_t i)
{
    size_t offset = i * starts->entry_size;
    struct reader r = reader_at(starts->table.data, starts->table.size, offset);
    r.swap = bounds->swap;
    uint64_t value = starts->base;
    if (starts == &bounds->exidx) {
        int32_t prel31 = (int32_t)(reader_u32(&r) << 1) >> 1;
        value += offset + (uint64_t)(int64_t)prel31;
    } else if (starts->entry_size == 16) {
        value += reader_u64(&r);
    } else {
        uint32_t stored = reader_u32(&r);
        value += starts->is_signed ? (uint64_t)(int64_t)(int32_t)stored : (uint64_t)stored;
    }
    return bounds->is_64 ? value : (uint32_t)value;
}

void code_bounds_each(const struct code_bounds *bounds, bool (*each)(void *context, uint64_t vaddr),
                      void *context)
{
    const struct code_starts *const tables[] = {&bounds->eh_frame_hdr, &bounds->exidx};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            if (!each(context, start_of(bounds, tables[t], i)))
                return;
}

static uint64_t first_after(const struct code_bounds *bounds, const struct code_starts *starts,
                            uint64_t vaddr)
{
    size_t lo = 0, hi = starts->count; /* start_of(lo - 1) <= vaddr < start_of(hi) */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (start_of(bounds, starts, middle) <= vaddr)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < starts->count ? start_of(bounds, starts, lo) : UINT64_MAX;
}

static uint64_t first_listed_after(const struct code_bounds *bounds, uint64_t vaddr)
{
    size_t lo = 0, hi = bounds->listed_count; /* listed[lo - 1] <= vaddr < listed[hi] */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (bounds->listed[middle] <= vaddr)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < bounds->listed_count ? bounds->listed[lo] : UINT64_MAX;
}

uint64_t code_bounds_after(const struct code_bounds *bounds, uint64_t vaddr)
{
    uint64_t a = first_after(bounds, &bounds->eh_frame_hdr, vaddr);
    uint64_t b = first_after(bounds, &bounds->exidx, vaddr);
    uint64_t c = first_listed_after(bounds, vaddr);
    a = a < b ? a : b;
    return a < c ? a : c;
}
