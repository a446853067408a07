/* __unwind_info sections made by hand: one index entry for each page, all at chosen functions. */
#ifndef UNWIND_COMPACT_TABLE_H
#define UNWIND_COMPACT_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct table {
    uint8_t bytes[4096];
    size_t size;
    unsigned pages;
};

enum { TABLE_HEADER = 28, TABLE_COMMON = 2, TABLE_PAGES = 3 };

static inline void table_put(struct table *t, size_t at, uint64_t value, unsigned size)
{
    memcpy(t->bytes + at, &value, size);
    if (at + size > t->size)
        t->size = at + size;
}

static inline void table_add(struct table *t, uint64_t value, unsigned size)
{
    table_put(t, t->size, value, size);
}

/* Header, two common encodings, and an index with room for TABLE_PAGES pages and the end. */
static inline void table_begin(struct table *t, uint32_t common0, uint32_t common1)
{
    *t = (struct table){.size = 0};
    const uint32_t index = TABLE_HEADER + 4 * TABLE_COMMON;
    const uint32_t header[] = {1, TABLE_HEADER, TABLE_COMMON, index, 0, index, TABLE_PAGES + 1};
    for (size_t i = 0; i < 7; i++)
        table_add(t, header[i], 4);
    table_add(t, common0, 4);
    table_add(t, common1, 4);
    table_put(t, index + 12 * (TABLE_PAGES + 1) - 4, 0, 4);
}

static inline void table_index(struct table *t, uint32_t function, uint32_t page)
{
    size_t at = TABLE_HEADER + 4 * TABLE_COMMON + 12 * (size_t)t->pages++;
    table_put(t, at, function, 4);
    table_put(t, at + 4, page, 4);
}

/* `count` pairs of (function, encoding). */
static inline void table_regular(struct table *t, const uint32_t (*entries)[2], unsigned count)
{
    table_index(t, entries[0][0], (uint32_t)t->size);
    table_add(t, 2, 4);
    table_add(t, 8, 2);
    table_add(t, count, 2);
    for (unsigned i = 0; i < count; i++) {
        table_add(t, entries[i][0], 4);
        table_add(t, entries[i][1], 4);
    }
}

/* `count` pairs of (function, number of its encoding); numbers from TABLE_COMMON on are `own`. */
static inline void table_compressed(struct table *t, const uint32_t (*entries)[2], unsigned count,
                                    const uint32_t *own, unsigned own_count)
{
    uint32_t first = entries[0][0];
    table_index(t, first, (uint32_t)t->size);
    table_add(t, 3, 4);
    table_add(t, 12, 2);
    table_add(t, count, 2);
    table_add(t, 12 + 4 * count, 2);
    table_add(t, own_count, 2);
    for (unsigned i = 0; i < count; i++)
        table_add(t, (entries[i][0] - first) | entries[i][1] << 24, 4);
    for (unsigned i = 0; i < own_count; i++)
        table_add(t, own[i], 4);
}

#endif
