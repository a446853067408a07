/*
 * Flattening extents and searching the pieces.
 *
 * Invariant: piece starts are strictly ascending, neighbours belong to different extents, and the
 * last piece belongs to none: an address belongs to the piece with the greatest start not above it.
 */
#include "object/extents.h"

#include <stdlib.h>

struct pieces {
    uint64_t *start;
    uint32_t *owner;
    size_t count;
    uint32_t *open; /* extents that have begun, by start */
    size_t open_count;
    uint64_t at; /* everything below is done */
};

static void put_piece(struct pieces *p, uint64_t start, uint32_t owner)
{
    if (p->count && p->owner[p->count - 1] == owner)
        return;
    p->start[p->count] = start;
    p->owner[p->count++] = owner;
}

/* Emits the pieces below `limit`: of the extent that began last, of the one below it when that
 * ends, and of none when all have ended. */
static void advance(struct pieces *p, const struct extent *list, uint64_t limit)
{
    while (p->open_count && p->at < limit) {
        uint32_t top = p->open[p->open_count - 1];
        uint64_t end = list[top].end;
        if (end > p->at) {
            put_piece(p, p->at, top);
            p->at = end < limit ? end : limit;
        }
        if (end <= p->at)
            p->open_count--;
    }
    if (p->at < limit && !p->open_count) {
        put_piece(p, p->at, EXTENT_NONE);
        p->at = limit;
    }
}

/* Every call of `advance` emits at most one piece more than it closes extents. */
static size_t most_pieces(size_t count)
{
    return 2 * count + 2;
}

static void flatten(struct pieces *p, const struct extent *list, size_t count)
{
    if (count == 0)
        return;
    p->at = list[0].start;
    for (size_t i = 0; i < count; i++) {
        advance(p, list, list[i].start);
        p->open[p->open_count++] = (uint32_t)i;
    }
    advance(p, list, UINT64_MAX);
    put_piece(p, p->at, EXTENT_NONE);
}

/* A stride holds PIECES_A_STRIDE on average. */
static bool make_strides(struct extents *extents)
{
    enum { PIECES_A_STRIDE = 4 };
    const uint64_t last = extents->narrow[extents->count - 1];
    while (last >> extents->shift > extents->count / PIECES_A_STRIDE)
        extents->shift++;
    const size_t count = (size_t)(last >> extents->shift) + 2;
    extents->stride = malloc(count * sizeof *extents->stride);
    size_t piece = 0;
    for (size_t i = 0; extents->stride && i < count; i++) {
        const uint64_t start = (uint64_t)i << extents->shift;
        while (piece + 1 < extents->count && extents->narrow[piece + 1] <= start)
            piece++;
        extents->stride[i] = (uint32_t)piece;
    }
    return extents->stride != NULL;
}

/* Starts as 32-bit offsets from the first, which is what every real object allows. */
static bool store(struct extents *extents, struct pieces *p)
{
    extents->count = p->count;
    extents->owner = p->owner;
    p->owner = NULL;
    if (p->count == 0)
        return true;
    extents->base = p->start[0];
    if (p->start[p->count - 1] - extents->base > UINT32_MAX) {
        extents->wide = p->start;
        p->start = NULL;
        return true;
    }
    extents->narrow = malloc(p->count * sizeof *extents->narrow);
    for (size_t i = 0; extents->narrow && i < p->count; i++)
        extents->narrow[i] = (uint32_t)(p->start[i] - extents->base);
    return extents->narrow && make_strides(extents);
}

bool extents_build(struct extents *extents, const struct extent *list, size_t count)
{
    *extents = (struct extents){0};
    size_t room = most_pieces(count);
    struct pieces p = {
        .start = malloc(room * sizeof *p.start),
        .owner = malloc(room * sizeof *p.owner),
        .open = malloc((count + 1) * sizeof *p.open),
    };
    bool good = p.start && p.owner && p.open;
    if (good) {
        flatten(&p, list, count);
        good = store(extents, &p);
    }
    free(p.start);
    free(p.owner);
    free(p.open);
    return good;
}

void extents_free(struct extents *extents)
{
    free(extents->narrow);
    free(extents->stride);
    free(extents->wide);
    free(extents->owner);
    *extents = (struct extents){0};
}

/* `half` when `above` is 0, else 0. Nobody can predict which, so it must not become a branch, which
 * clang for x86_64 makes of a conditional expression. */
static inline size_t half_unless(size_t half, size_t above)
{
    __asm__("" : "+r"(above));
    return half & (above - 1);
}

/* Index of the last piece that does not start above `value`; the first one does not. */
static size_t search_narrow(const struct extents *extents, uint64_t value)
{
    const uint32_t *list = extents->narrow, *stride = extents->stride + (value >> extents->shift);
    size_t at = stride[0], count = stride[1] - at + 1;
    while (count > 1) {
        size_t half = count / 2;
        at += half_unless(half, list[at + half] > value);
        count -= half;
    }
    return at;
}

static size_t search_wide(const uint64_t *list, size_t count, uint64_t value)
{
    size_t at = 0;
    while (count > 1) {
        size_t half = count / 2;
        at += half_unless(half, list[at + half] > value);
        count -= half;
    }
    return at;
}

uint32_t extents_find(const struct extents *extents, uint64_t address)
{
    if (extents->count == 0 || address < extents->base)
        return EXTENT_NONE;
    uint64_t offset = address - extents->base;
    if (extents->wide)
        return extents->owner[search_wide(extents->wide, extents->count, address)];
    /* The last piece is nobody's. */
    if (offset >= extents->narrow[extents->count - 1])
        return EXTENT_NONE;
    return extents->owner[search_narrow(extents, offset)];
}
