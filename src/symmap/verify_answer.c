/*
 * What the DWARF tree says, address by address. All places where the answer may change are sorted;
 * between two of them it is asked once: which ranges of inlined calls cover the place, and from the
 * function downward, which of the calls whose parent was chosen.
 */
#include "symmap/verify_internal.h"

#include <stdlib.h>
#include <string.h>

static bool room(struct verify_walk *w, void *items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *old;
    memcpy(&old, items, sizeof old);
    void *moved = arena_take_many(w->arena, larger, size);
    if (!moved)
        return false;
    if (count)
        memcpy(moved, old, count * size);
    memcpy(items, &moved, sizeof moved);
    *capacity = larger;
    return true;
}

static bool add_bound(struct verify_walk *w, uint64_t address)
{
    if (address < w->lo || address > w->hi)
        return true;
    if (!room(w, &w->bounds, &w->bound_capacity, w->bound_count, sizeof *w->bounds))
        return false;
    w->bounds[w->bound_count++] = address;
    return true;
}

static int bound_order(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static int range_order(const void *left, const void *right)
{
    const struct verify_range *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool add_inlines(struct verify_walk *w)
{
    const struct dwarf_function *f = w->function;
    for (uint32_t i = 0; f && i < f->inline_count; i++) {
        const struct dwarf_inline *call = &w->unit->inlines[f->first_inline + i];
        for (uint32_t r = 0; r < call->range_count; r++) {
            struct object_range range = w->unit->ranges[call->first_range + r];
            if (range.lo >= range.hi || range.lo >= w->hi || range.hi <= w->lo)
                continue;
            if (!add_bound(w, range.lo) || !add_bound(w, range.hi) ||
                !room(w, &w->ranges, &w->range_capacity, w->range_count, sizeof *w->ranges))
                return false;
            w->ranges[w->range_count++] =
                (struct verify_range){range.lo, range.hi, f->first_inline + i};
        }
    }
    if (w->range_count)
        qsort(w->ranges, w->range_count, sizeof *w->ranges, range_order);
    return true;
}

/* How many rows of the sequence lie at or before the address. */
static uint32_t rows_until(const struct dwarf_lines *lines, const struct dwarf_sequence *sequence,
                           uint64_t address)
{
    uint32_t low = 0, high = sequence->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lines->rows[sequence->first_row + middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool add_sequence(struct verify_walk *w, uint32_t number)
{
    const struct dwarf_sequence *s = &w->lines->sequences[number];
    if (s->hi <= w->lo || s->lo >= w->hi)
        return true;
    if (!room(w, &w->sequences, &w->sequence_capacity, w->sequence_count, sizeof *w->sequences) ||
        !add_bound(w, s->lo) || !add_bound(w, s->hi))
        return false;
    w->sequences[w->sequence_count++] = number;
    for (uint32_t i = rows_until(w->lines, s, w->lo); i < s->row_count; i++) {
        uint64_t address = w->lines->rows[s->first_row + i].address;
        if (address >= w->hi)
            break;
        if (!add_bound(w, address))
            return false;
    }
    return true;
}

static bool add_sequences(struct verify_walk *w, const uint64_t *reach)
{
    size_t low = 0, high = w->lines->sequence_count;
    while (low < high) { /* the first that begins at or behind the end */
        size_t middle = low + (high - low) / 2;
        if (w->lines->sequences[middle].lo < w->hi)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && reach[low] > w->lo)
        if (!add_sequence(w, (uint32_t)low))
            return false;
    return true;
}

bool verify_walk_begin(struct verify_walk *w, const uint64_t *reach)
{
    if (!add_bound(w, w->lo) || !add_bound(w, w->hi) || !add_inlines(w) || !add_sequences(w, reach))
        return false;
    qsort(w->bounds, w->bound_count, sizeof *w->bounds, bound_order);
    size_t kept = 0;
    for (size_t i = 0; i < w->bound_count; i++)
        if (!kept || w->bounds[kept - 1] != w->bounds[i])
            w->bounds[kept++] = w->bounds[i];
    w->bound_count = kept;
    return true;
}

/* The ranges that cover `at`. */
static bool update_active(struct verify_walk *w, uint64_t at)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->active_count; i++)
        if (w->active[i].hi > at)
            w->active[kept++] = w->active[i];
    w->active_count = kept;
    for (; w->next_range < w->range_count && w->ranges[w->next_range].lo <= at; w->next_range++) {
        if (w->ranges[w->next_range].hi <= at)
            continue;
        if (!room(w, &w->active, &w->active_capacity, w->active_count, sizeof *w->active))
            return false;
        w->active[w->active_count++] = w->ranges[w->next_range];
    }
    return true;
}

/* Among siblings the one whose range begins last, of equal ones the last in the file. */
static bool descend(const struct verify_walk *w, uint32_t parent, uint32_t *chosen)
{
    const struct verify_range *best = NULL;
    for (size_t i = 0; i < w->active_count; i++) {
        const struct verify_range *range = &w->active[i];
        if (w->unit->inlines[range->number].parent != parent)
            continue;
        if (!best || range->lo > best->lo ||
            (range->lo == best->lo && range->number > best->number))
            best = range;
    }
    if (best)
        *chosen = best->number;
    return best != NULL;
}

/* The last row at or before the place, of the sequence that ends first. */
static void find_line(const struct verify_walk *w, uint64_t at, struct verify_answer *answer)
{
    const struct dwarf_sequence *best = NULL;
    for (size_t i = 0; i < w->sequence_count; i++) {
        const struct dwarf_sequence *s = &w->lines->sequences[w->sequences[i]];
        if (s->lo > at || s->hi <= at)
            continue;
        if (!best || s->hi < best->hi || (s->hi == best->hi && s->first_row < best->first_row))
            best = s;
    }
    answer->file = NULL;
    answer->line = 0;
    uint32_t rows = best ? rows_until(w->lines, best, at) : 0;
    if (!rows)
        return;
    const struct dwarf_row *row = &w->lines->rows[best->first_row + rows - 1];
    if (row->file >= w->lines->file_count || !w->lines->files[row->file].name[0])
        return;
    answer->file = &w->lines->files[row->file];
    answer->file_number = row->file;
    answer->line = row->line;
}

bool verify_walk_next(struct verify_walk *w, struct verify_answer *answer)
{
    if (w->next + 1 >= w->bound_count)
        return false;
    answer->lo = w->bounds[w->next];
    answer->hi = w->bounds[++w->next];
    answer->depth = 0;
    if (!update_active(w, answer->lo))
        return false;
    uint32_t parent = DWARF_NONE, call;
    while (answer->depth < VERIFY_DEPTH_MAX && descend(w, parent, &call))
        answer->inlines[answer->depth++] = parent = call;
    find_line(w, answer->lo, answer);
    return true;
}
