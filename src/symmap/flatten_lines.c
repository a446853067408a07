/*
 * The sequences of a line table as spans that do not overlap.
 *
 * Linkers that keep one copy of a function leave sequences of several units, or of one, over the
 * same code. Which one counts is decided as llvm-symbolizer does it: the sequence that ends first,
 * of equal ends the first of the program.
 *
 *     A  |--------------------|           A |------|
 *     B         |------|             ->   B        |------|
 *                                         A               |------|
 *
 *     A  |------------|                   A |------------|
 *     B         |-------------|      ->   B              |-------|
 */
#include "symmap/flatten_internal.h"

struct sweep {
    const struct dwarf_lines *lines;
    uint32_t *heap; /* sequences, the first to end on top */
    size_t heap_count;
    struct line_spans *spans;
};

static bool ends_before(const struct sweep *s, uint32_t a, uint32_t b)
{
    const struct dwarf_sequence *x = &s->lines->sequences[a], *y = &s->lines->sequences[b];
    return x->hi != y->hi ? x->hi < y->hi : x->first_row < y->first_row;
}

static void push(struct sweep *s, uint32_t sequence)
{
    size_t i = s->heap_count++;
    for (; i && ends_before(s, sequence, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = sequence;
}

static void pop(struct sweep *s)
{
    uint32_t last = s->heap[--s->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < s->heap_count; i = child) {
        if (child + 1 < s->heap_count && ends_before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!ends_before(s, s->heap[child], last))
            break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = last;
}

/* The first row of a sequence that lies beyond `address`. */
static uint32_t row_after(const struct dwarf_lines *lines, const struct dwarf_sequence *sequence,
                          uint64_t address)
{
    uint32_t lo = sequence->first_row, hi = lo + sequence->row_count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (lines->rows[middle].address > address)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

static void emit(struct sweep *s, uint64_t lo, uint64_t hi, uint32_t index)
{
    const struct dwarf_sequence *sequence = &s->lines->sequences[index];
    s->spans->items[s->spans->count++] = (struct line_span){
        lo, hi, row_after(s->lines, sequence, lo) - 1, row_after(s->lines, sequence, hi - 1)};
}

/* Each round ends a sequence or takes in the next, so there are at most two spans for each. */
static void resolve(struct sweep *s)
{
    const struct dwarf_sequence *all = s->lines->sequences;
    size_t next = 0, count = s->lines->sequence_count;
    uint64_t at = 0;
    while (next < count || s->heap_count) {
        if (!s->heap_count && all[next].lo > at)
            at = all[next].lo;
        while (next < count && all[next].lo <= at)
            push(s, (uint32_t)next++);
        uint32_t top = s->heap[0];
        if (all[top].hi <= at) {
            pop(s);
            continue;
        }
        uint64_t end = all[top].hi;
        if (next < count && all[next].lo < end)
            end = all[next].lo;
        emit(s, at, end, top);
        at = end;
    }
}

bool flatten_line_spans(const struct dwarf_lines *lines, struct arena *arena,
                        struct line_spans *spans)
{
    const struct dwarf_sequence *all = lines->sequences;
    bool apart = true;
    for (size_t i = 1; i < lines->sequence_count && apart; i++)
        apart = all[i - 1].hi <= all[i].lo;
    spans->count = 0;
    spans->items =
        arena_take_many(arena, lines->sequence_count * (apart ? 1 : 2), sizeof *spans->items);
    if (!spans->items)
        return false;
    if (apart) {
        for (size_t i = 0; i < lines->sequence_count; i++)
            spans->items[spans->count++] = (struct line_span){
                all[i].lo, all[i].hi, all[i].first_row, all[i].first_row + all[i].row_count};
        return true;
    }
    struct sweep sweep = {.lines = lines, .spans = spans};
    sweep.heap = arena_take_many(arena, lines->sequence_count, sizeof *sweep.heap);
    if (!sweep.heap)
        return false;
    resolve(&sweep);
    return true;
}
