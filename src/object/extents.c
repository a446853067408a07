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
    return extents->narrow != NULL;
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
    free(extents->wide);
    free(extents->owner);
    *extents = (struct extents){0};
}

/* Index of the last element not above `value`; the first one is not. */
static size_t search_narrow(const uint32_t *list, size_t count, uint32_t value)
{
    size_t at = 0;
    while (count > 1) {
        size_t half = count / 2;
        at = list[at + half] <= value ? at + half : at;
        count -= half;
    }
    return at;
}

static size_t search_wide(const uint64_t *list, size_t count, uint64_t value)
{
    size_t at = 0;
    while (count > 1) {
        size_t half = count / 2;
        at = list[at + half] <= value ? at + half : at;
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
    /* Beyond what the offsets can say lies the last piece, which is nobody's. */
    if (offset > UINT32_MAX)
        return EXTENT_NONE;
    return extents->owner[search_narrow(extents->narrow, extents->count, (uint32_t)offset)];
}
