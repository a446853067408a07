/*
 * Function starts out of .eh_frame_hdr (LSB 4.1 Core, 10.6.2: a sorted table of { initial location,
 * address of FDE }) and .ARM.exidx (EHABI32 section 5: { prel31 function, unwind word }), and out
 * of the list that the format may have.
 */
#include "object/code_bounds.h"

#include "base/array.h"

#include <stdlib.h>

bool code_bounds_list(void *bounds, uint64_t vaddr)
{
    struct code_bounds *b = bounds;
    if (!array_room(&b->listed, &b->listed_capacity, b->listed_count, sizeof *b->listed)) {
        b->no_memory = true;
        return false;
    }
    b->listed[b->listed_count++] = vaddr;
    return true;
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
