/*
 * Function starts out of .eh_frame_hdr (LSB 4.1 Core, 10.6.2: a sorted table of { initial location,
 * address of FDE }) and .ARM.exidx (EHABI32 section 5: { prel31 function, unwind word }), and out
 * of the list that the format may have.
 */
#include "object/code_bounds.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

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

/* Reads one of a table's numbers: half an entry. */
static uint64_t stored_number(const struct code_bounds *bounds, struct reader *r)
{
    const struct code_starts *starts = &bounds->eh_frame_hdr;
    if (starts->entry_size == 16)
        return starts->base + reader_u64(r);
    uint32_t stored = reader_u32(r);
    return starts->base + (starts->is_signed ? (uint64_t)(int64_t)(int32_t)stored : stored);
}

static struct reader frame_at(const struct code_bounds *bounds, uint64_t vaddr)
{
    struct reader r =
        reader_at(bounds->eh_frame.data, bounds->eh_frame.size, vaddr - bounds->eh_frame_vaddr);
    r.swap = bounds->swap;
    return r;
}

/* Bytes of an FDE's numbers, as its CIE says (LSB, Exception Frames); 0: unknown. */
static unsigned number_size(const struct code_bounds *bounds, uint64_t cie)
{
    const unsigned pointer = bounds->is_64 ? 8 : 4;
    struct reader r = frame_at(bounds, cie);
    reader_skip(&r, 8);
    uint8_t version = reader_u8(&r);
    const char *augmentation = reader_string(&r);
    if (!augmentation || augmentation[0] != 'z')
        return augmentation && !augmentation[0] ? pointer : 0;
    reader_uleb(&r);
    reader_sleb(&r);
    if (version == 1)
        reader_u8(&r);
    else
        reader_uleb(&r);
    reader_uleb(&r); /* size of what follows */
    for (const char *c = augmentation + 1; *c && *c != 'R'; c++) {
        if (*c == 'L')
            reader_u8(&r);
        else if (*c != 'S' && *c != 'B')
            return 0; /* a personality routine, whose size depends: languages write sizes */
    }
    if (!strchr(augmentation, 'R'))
        return pointer;
    switch (reader_u8(&r) & 0x07) {
    case 0x00: return r.failed ? 0 : pointer;
    case 0x02: return 2;
    case 0x03: return 4;
    case 0x04: return 8;
    default: return 0;
    }
}

uint64_t code_bounds_end(const struct code_bounds *bounds, uint64_t vaddr)
{
    const struct code_starts *starts = &bounds->eh_frame_hdr;
    size_t lo = 0, hi = starts->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (start_of(bounds, starts, middle) < vaddr)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo >= starts->count || start_of(bounds, starts, lo) != vaddr)
        return 0;
    struct reader r = reader_at(starts->table.data, starts->table.size, lo * starts->entry_size);
    r.swap = bounds->swap;
    stored_number(bounds, &r);
    uint64_t fde = stored_number(bounds, &r);
    r = frame_at(bounds, bounds->is_64 ? fde : (uint32_t)fde);
    uint32_t length = reader_u32(&r), back = reader_u32(&r);
    unsigned size = number_size(bounds, fde + 4 - back);
    if (!length || length == UINT32_MAX || !size)
        return 0;
    reader_skip(&r, size);
    uint64_t range = reader_uint(&r, size);
    return r.failed || vaddr + range < vaddr ? 0 : vaddr + range;
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
