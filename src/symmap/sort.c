/*
 * Items are dealt into buckets by splitters from an even sample, and the buckets are sorted apart.
 * Where one key fills a bucket, the sort of the bucket is slower to be shared, never wrong.
 */
#include "symmap/sort.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 64, OVERSAMPLING = 16, SMALL = 4096 };

static int compare(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

struct buckets {
    struct sort_item *from, *to;
    size_t count, parts;
    uint64_t splitter[BUCKETS - 1];
    size_t *place;             /* [parts][BUCKETS]: counts, then where each begins in `to` */
    size_t begin[BUCKETS + 1]; /* of the buckets in `to` */
};

static unsigned bucket_of(const struct buckets *b, uint64_t key)
{
    unsigned low = 0; /* BUCKETS - 1 splitters: six steps without a branch */
    for (unsigned step = BUCKETS / 2; step; step /= 2)
        low += b->splitter[low + step - 1] <= key ? step : 0;
    return low;
}

static void part_bounds(const struct buckets *b, size_t part, size_t *begin, size_t *end)
{
    *begin = b->count / b->parts * part;
    *end = part + 1 == b->parts ? b->count : *begin + b->count / b->parts;
}

static void count_part(void *context, size_t part, unsigned worker)
{
    struct buckets *b = context;
    size_t begin, end, counts[BUCKETS] = {0};
    (void)worker;
    part_bounds(b, part, &begin, &end);
    for (size_t i = begin; i < end; i++)
        counts[bucket_of(b, b->from[i].key)]++;
    memcpy(b->place + part * BUCKETS, counts, sizeof counts);
}

static void deal_part(void *context, size_t part, unsigned worker)
{
    struct buckets *b = context;
    size_t begin, end, *place = b->place + part * BUCKETS;
    (void)worker;
    part_bounds(b, part, &begin, &end);
    for (size_t i = begin; i < end; i++)
        b->to[place[bucket_of(b, b->from[i].key)]++] = b->from[i];
}

static void sort_bucket(void *context, size_t bucket, unsigned worker)
{
    struct buckets *b = context;
    size_t begin = b->begin[bucket], count = b->begin[bucket + 1] - begin;
    (void)worker;
    qsort(b->to + begin, count, sizeof *b->to, compare);
    memcpy(b->from + begin, b->to + begin, count * sizeof *b->to);
}

static void choose_splitters(struct buckets *b)
{
    struct sort_item sample[BUCKETS * OVERSAMPLING];
    for (size_t i = 0; i < BUCKETS * OVERSAMPLING; i++)
        sample[i] = b->from[b->count / (BUCKETS * OVERSAMPLING) * i];
    qsort(sample, BUCKETS * OVERSAMPLING, sizeof sample[0], compare);
    for (size_t i = 0; i + 1 < BUCKETS; i++)
        b->splitter[i] = sample[(i + 1) * OVERSAMPLING].key;
}

bool sort_items(struct workers *workers, struct sort_item *items, size_t count)
{
    if (count < SMALL) {
        if (count)
            qsort(items, count, sizeof *items, compare);
        return true;
    }
    struct buckets b = {.from = items, .count = count, .parts = workers_count(workers)};
    b.to = malloc(count * sizeof *items);
    b.place = malloc(b.parts * BUCKETS * sizeof *b.place);
    if (!b.to || !b.place) {
        free(b.to);
        free(b.place);
        return false;
    }
    choose_splitters(&b);
    workers_run(workers, b.parts, count_part, &b);
    size_t at = 0;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        b.begin[bucket] = at;
        for (size_t part = 0; part < b.parts; part++) {
            size_t n = b.place[part * BUCKETS + bucket];
            b.place[part * BUCKETS + bucket] = at;
            at += n;
        }
    }
    b.begin[BUCKETS] = at;
    workers_run(workers, b.parts, deal_part, &b);
    workers_run(workers, BUCKETS, sort_bucket, &b);
    free(b.to);
    free(b.place);
    return true;
}
