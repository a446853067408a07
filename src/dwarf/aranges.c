/*
 * .debug_aranges (DWARF 5 section 6.1.2): which unit claims which addresses, without its DIEs.
 *
 * A set names its unit. There may be none for a unit, or several; what a set says goes through the
 * same sieve as other ranges. A zero pair ends a set only at the set's end: linkers leave zero
 * pairs in the middle for code that they threw away.
 */
#include "base/array.h"
#include "dwarf/ranges.h"

#include <stdlib.h>

static int by_unit(const void *a, const void *b)
{
    const struct aranges_set *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The unit that begins at the offset, or NULL. Sets mostly come in the order of their units:
 * `before` is the one of the last set, or NULL. */
static const struct unit *unit_beginning_at(const struct dwarf_file *file,
                                            const struct unit *before, uint64_t offset)
{
    const struct unit *next = before ? before + 1 : file->units;
    if (next < file->units + file->info_count && next->header.offset == offset)
        return next;
    const struct unit *unit = dwarf_unit_at(file, false, offset);
    return unit && unit->header.offset == offset ? unit : NULL;
}

/* The set at the reader's place, which is moved behind it. `set->unit` NULL: of no use. False: the
 * rest of the section is of no use. */
static bool read_set(struct reader *r, const struct dwarf *dwarf, struct aranges_set *set)
{
    uint64_t begin = reader_offset(r), length = reader_u32(r);
    uint8_t offset_size = 4;
    if (length == UINT32_MAX) {
        length = reader_u64(r);
        offset_size = 8;
    }
    struct reader body = reader_sub(r, length);
    uint16_t version = reader_u16(&body);
    uint64_t unit = reader_uint(&body, offset_size);
    set->address_size = reader_u8(&body);
    uint8_t segment_size = reader_u8(&body);
    set->unit = unit_beginning_at(&dwarf->main, set->unit, unit);
    uint64_t header = (uint64_t)(body.pos - r->begin) - begin, pair = 2ull * set->address_size;
    if (body.failed || version < 2 || version > 3 || segment_size != 0 ||
        (set->address_size != 4 && set->address_size != 8) || !set->unit)
        set->unit = NULL;
    else
        set->offset = begin + (header + pair - 1) / pair * pair;
    set->end = reader_offset(r);
    return !r->failed;
}

bool dwarf_aranges_open(struct dwarf *dwarf)
{
    struct span data = dwarf->main.section[SECTION_ARANGES];
    struct reader r = reader_over(data.data, data.size);
    r.swap = dwarf->main.swap;
    size_t capacity = 0;
    struct aranges_set set = {0};
    while (reader_left(&r) && read_set(&r, dwarf, &set)) {
        if (!set.unit)
            continue;
        if (!array_room(&dwarf->aranges, &capacity, dwarf->aranges_count, sizeof set))
            return false;
        dwarf->aranges[dwarf->aranges_count++] = set;
    }
    if (dwarf->aranges_count)
        array_sort(dwarf->aranges, dwarf->aranges_count, sizeof set, by_unit);
    return true;
}

static void read_pairs(struct range_reader *reader, const struct view *view,
                       const struct aranges_set *set)
{
    struct span data = view->file->section[SECTION_ARANGES];
    struct reader r = reader_at(data.data, (size_t)set->end, set->offset);
    r.swap = view->swap;
    while (reader_left(&r) >= 2u * set->address_size && !r.failed) {
        uint64_t lo = reader_uint(&r, set->address_size), size = reader_uint(&r, set->address_size);
        range_add(reader, view, lo, lo + size);
    }
}

void aranges_read(struct range_reader *reader, const struct view *view)
{
    const struct dwarf *dwarf = view->file->dwarf;
    size_t lo = 0, hi = dwarf->aranges_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (dwarf->aranges[mid].unit < view->unit)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < dwarf->aranges_count && dwarf->aranges[lo].unit == view->unit; lo++)
        read_pairs(reader, view, &dwarf->aranges[lo]);
}
