#include "symmap/intervals.h"

#include "base/array.h"

bool intervals_add(struct intervals *list, struct interval interval)
{
    if (interval.lo >= interval.hi)
        return true;
    if (!array_room(&list->items, &list->capacity, list->count, sizeof interval))
        return false;
    list->items[list->count++] = interval;
    return true;
}

/* Ranges whose start was moved behind what they overlap, as a heap; the first is the next. */
static bool before(const struct interval *a, const struct interval *b)
{
    return a->lo != b->lo ? a->lo < b->lo : a->hi != b->hi ? a->hi > b->hi : a->owner < b->owner;
}

static bool heap_push(struct intervals *heap, struct interval interval)
{
    if (!intervals_add(heap, interval))
        return false;
    size_t i = heap->count - 1;
    for (; i && before(&interval, &heap->items[(i - 1) / 2]); i = (i - 1) / 2)
        heap->items[i] = heap->items[(i - 1) / 2];
    heap->items[i] = interval;
    return true;
}

static struct interval heap_pop(struct intervals *heap)
{
    struct interval first = heap->items[0], last = heap->items[--heap->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!before(&heap->items[child], &last))
            break;
        heap->items[i] = heap->items[child];
    }
    if (heap->count)
        heap->items[i] = last;
    return first;
}

struct sweep {
    struct intervals open;     /* nested in one another, the outermost first */
    struct intervals deferred; /* heap */
    struct intervals result;
    uint32_t at; /* up to here `result` is complete */
};

/* The innermost open range owns what lies before `end`. */
static bool emit(struct sweep *s, uint32_t end)
{
    struct interval piece = s->open.items[s->open.count - 1];
    piece.lo = s->at;
    piece.hi = end;
    if (end <= s->at)
        return true;
    s->at = end;
    return intervals_add(&s->result, piece);
}

static bool close_until(struct sweep *s, uint64_t lo)
{
    while (s->open.count && s->open.items[s->open.count - 1].hi <= lo) {
        if (!emit(s, s->open.items[s->open.count - 1].hi))
            return false;
        s->open.count--;
    }
    return true;
}

/* `x` ends behind the innermost open range: it goes on where the outermost such one ends. Open
 * ranges end the earlier the further in they are. */
static bool defer(struct sweep *s, struct interval x)
{
    size_t low = 0, high = s->open.count; /* open[low - 1].hi >= x.hi, open[high].hi < x.hi */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->open.items[middle].hi >= x.hi)
            low = middle + 1;
        else
            high = middle;
    }
    x.lo = s->open.items[low].hi;
    return heap_push(&s->deferred, x);
}

static bool sweep_add(struct sweep *s, struct interval x, uint64_t *overlaps)
{
    if (!close_until(s, x.lo))
        return false;
    if (s->open.count) {
        if (!emit(s, x.lo))
            return false;
        if (s->open.items[s->open.count - 1].hi < x.hi) {
            ++*overlaps;
            return defer(s, x);
        }
    }
    s->at = x.lo;
    return intervals_add(&s->open, x);
}

bool intervals_resolve(struct intervals *list, uint64_t *overlaps)
{
    struct sweep s = {0};
    bool ok = true;
    for (size_t i = 0; ok && (i < list->count || s.deferred.count);) {
        /* Of equal ones the deferred goes first: the other is then the inner one. */
        if (s.deferred.count && (i == list->count || s.deferred.items[0].lo < list->items[i].lo ||
                                 (s.deferred.items[0].lo == list->items[i].lo &&
                                  s.deferred.items[0].hi >= list->items[i].hi)))
            ok = sweep_add(&s, heap_pop(&s.deferred), overlaps);
        else
            ok = sweep_add(&s, list->items[i++], overlaps);
    }
    ok = ok && close_until(&s, UINT64_MAX);
    free(s.open.items);
    free(s.deferred.items);
    if (!ok) {
        free(s.result.items);
        return false;
    }
    free(list->items);
    *list = s.result;
    return true;
}

bool intervals_overlay(const struct intervals *top, const struct intervals *bottom,
                       struct intervals *result)
{
    size_t t = 0;
    for (size_t b = 0; b < bottom->count; b++) {
        struct interval rest = bottom->items[b];
        while (t < top->count && top->items[t].lo < rest.hi) {
            struct interval part = rest;
            part.hi = top->items[t].lo; /* nothing when the top one began before */
            if (!intervals_add(result, part))
                return false;
            if (rest.lo < top->items[t].hi)
                rest.lo = top->items[t].hi;
            if (rest.lo >= rest.hi)
                break; /* the top one may cover the next, too */
            if (!intervals_add(result, top->items[t++]))
                return false;
        }
        if (!intervals_add(result, rest))
            return false;
    }
    for (; t < top->count; t++)
        if (!intervals_add(result, top->items[t]))
            return false;
    return true;
}

bool intervals_attach(const struct intervals *list, const struct intervals *lines,
                      struct intervals *result)
{
    size_t l = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct interval rest = list->items[i];
        while (l < lines->count && lines->items[l].hi <= rest.lo)
            l++;
        for (size_t k = l; k < lines->count && lines->items[k].lo < rest.hi; k++) {
            struct interval part = rest;
            part.hi = lines->items[k].lo;
            if (!intervals_add(result, part))
                return false;
            part.lo = rest.lo > lines->items[k].lo ? rest.lo : lines->items[k].lo;
            part.hi = rest.hi < lines->items[k].hi ? rest.hi : lines->items[k].hi;
            part.rows = lines->items[k].rows;
            if (!intervals_add(result, part))
                return false;
            rest.lo = part.hi;
        }
        if (!intervals_add(result, rest))
            return false;
    }
    return true;
}
