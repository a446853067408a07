/* See ranges.h. */
#include "dwarf/ranges.h"

static uint64_t highest_address(const struct view *view)
{
    return view->address_size == 8 ? UINT64_MAX : view->address_size == 4 ? UINT32_MAX : UINT16_MAX;
}

static bool is_code(struct range_reader *reader, const struct view *view, uint64_t lo)
{
    const struct dwarf_options *o = reader->options;
    if (!o->code)
        return (lo > 1 || o->keep_zero) && lo < highest_address(view) - 1;
    if (reader->last < o->code_count && lo >= o->code[reader->last].lo &&
        lo < o->code[reader->last].hi)
        return true;
    size_t first = 0, end = o->code_count;
    while (first < end) { /* the first that ends behind */
        size_t mid = first + (end - first) / 2;
        if (o->code[mid].hi <= lo)
            first = mid + 1;
        else
            end = mid;
    }
    if (first == o->code_count || lo < o->code[first].lo)
        return false;
    reader->last = first;
    return true;
}

void range_add(struct range_reader *reader, const struct view *view, uint64_t lo, uint64_t hi)
{
    if (hi <= lo || hi - 1 > highest_address(view) || !is_code(reader, view, lo))
        return;
    struct range_list *list = reader->list;
    if (list->count == list->capacity) {
        size_t larger = list->capacity ? list->capacity * 2 : 64;
        struct object_range *moved = arena_take_many(list->arena, larger, sizeof *moved);
        if (!moved) {
            reader->no_memory = true;
            return;
        }
        if (list->count)
            memcpy(moved, list->items, list->count * sizeof *moved);
        list->items = moved;
        list->capacity = larger;
    }
    list->items[list->count++] = (struct object_range){lo, hi};
}

static void bad_list(struct range_reader *reader, const struct view *view, uint64_t die,
                     const char *what, uint64_t offset)
{
    dwarf_problem_note(reader->problems, DWARF_PROBLEM_RANGE, FW_ERR_CORRUPT, die, view->file,
                       "%s at 0x%llx", what, (unsigned long long)offset);
}

static bool spend(struct range_reader *reader, const struct view *view, uint64_t die)
{
    if (reader->budget) {
        reader->budget--;
        return true;
    }
    bad_list(reader, view, die, "more ranges than a unit of its size can have, in the list", 0);
    return false;
}

/* .debug_ranges, before version 5: pairs relative to a base. */
static void read_old(struct range_reader *reader, const struct view *view, uint64_t offset,
                     uint64_t die)
{
    struct span data = view->address_file->section[SECTION_RANGES];
    struct reader r = reader_at(data.data, data.size, offset);
    r.swap = view->swap;
    uint64_t base = view->low_pc, all = highest_address(view);
    while (spend(reader, view, die)) {
        uint64_t lo = reader_uint(&r, view->address_size), hi = reader_uint(&r, view->address_size);
        if (r.failed) {
            bad_list(reader, view, die, "a range list is cut off", offset);
            return;
        }
        if (lo == 0 && hi == 0)
            return;
        if (lo == all)
            base = hi;
        else if (hi < lo)
            bad_list(reader, view, die, "an inverted range", offset);
        else if (base < all - 1 && lo < all - 1) /* dead as a whole otherwise */
            range_add(reader, view, (base + lo) & all, ((base + hi - 1) & all) + 1);
    }
}

/* One entry of .debug_rnglists. False at the end of the list. */
static bool read_entry(struct range_reader *reader, const struct view *view, struct reader *r,
                       uint64_t *base, uint64_t die)
{
    uint64_t lo = 0, hi = 0, all = highest_address(view);
    bool good = true;
    uint8_t kind = reader_u8(r);
    switch (kind) {
    case DW_RLE_end_of_list: return false;
    case DW_RLE_base_addressx:
        if (!form_address_index(view, reader_uleb(r), base))
            *base = all; /* what counts from it is dead */
        return true;
    case DW_RLE_base_address: *base = reader_uint(r, view->address_size); return true;
    case DW_RLE_startx_endx:
        good = form_address_index(view, reader_uleb(r), &lo);
        good = form_address_index(view, reader_uleb(r), &hi) && good;
        break;
    case DW_RLE_startx_length:
        good = form_address_index(view, reader_uleb(r), &lo);
        hi = lo + reader_uleb(r);
        break;
    case DW_RLE_offset_pair:
        lo = reader_uleb(r);
        hi = reader_uleb(r);
        if (*base >= all - 1)
            return true;
        good = hi >= lo;
        lo += *base;
        hi += *base;
        break;
    case DW_RLE_start_end:
        lo = reader_uint(r, view->address_size);
        hi = reader_uint(r, view->address_size);
        break;
    case DW_RLE_start_length:
        lo = reader_uint(r, view->address_size);
        hi = lo + reader_uleb(r);
        break;
    default: r->failed = true; return true;
    }
    if (r->failed)
        return true;
    if (!good || hi < lo)
        bad_list(reader, view, die, "a range that cannot be", reader_offset(r));
    else
        range_add(reader, view, lo, hi);
    return true;
}

/* Where DW_FORM_rnglistx `index` begins. */
static bool list_index(const struct view *view, uint64_t index, uint64_t *offset)
{
    struct span data = view->file->section[SECTION_RNGLISTS];
    if (index > UINT64_MAX / 16 || view->rnglists_base > UINT64_MAX / 2)
        return false;
    struct reader r =
        reader_at(data.data, data.size, view->rnglists_base + index * view->offset_size);
    r.swap = view->swap;
    *offset = view->rnglists_base + reader_uint(&r, view->offset_size);
    return !r.failed && *offset <= data.size;
}

void range_read_list(struct range_reader *reader, const struct view *view, uint16_t form,
                     uint64_t value, uint64_t die)
{
    if (view->version < 5) {
        read_old(reader, view, view->ranges_base + value, die);
        return;
    }
    uint64_t offset = view->unit->rnglists_start + value;
    if (form == DW_FORM_rnglistx && !list_index(view, value, &offset)) {
        bad_list(reader, view, die, "no such range list", value);
        return;
    }
    struct span data = view->file->section[SECTION_RNGLISTS];
    struct reader r = reader_at(data.data, data.size, offset);
    r.swap = view->swap;
    uint64_t base = view->low_pc;
    while (!r.failed && spend(reader, view, die) && read_entry(reader, view, &r, &base, die))
        ;
    if (r.failed)
        bad_list(reader, view, die, "a range list is cut off", offset);
}

void range_read_die(struct range_reader *reader, const struct view *view, const struct die *die)
{
    uint64_t lo = 0, hi;
    if (die_has(die, SLOT_RANGES)) {
        range_read_list(reader, view, die->form[SLOT_RANGES], die->value[SLOT_RANGES], die->offset);
        return;
    }
    if (!die_has(die, SLOT_LOW_PC) || !die_has(die, SLOT_HIGH_PC))
        return;
    if (!form_address(view, die->form[SLOT_LOW_PC], die->value[SLOT_LOW_PC], &lo)) {
        bad_list(reader, view, die->offset, "no such address", die->value[SLOT_LOW_PC]);
        return;
    }
    uint16_t form = die->form[SLOT_HIGH_PC];
    if (!form_is_address(form))
        hi = lo + die->value[SLOT_HIGH_PC];
    else if (!form_address(view, form, die->value[SLOT_HIGH_PC], &hi))
        hi = 0;
    if (hi < lo)
        bad_list(reader, view, die->offset, "DW_AT_high_pc is below DW_AT_low_pc:", lo);
    else
        range_add(reader, view, lo, hi);
}
