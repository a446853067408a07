/*
 * Tables that take turns, and waiting for readers.
 *
 * Why no reader is missed: announcing is an addition and then a look at `current`, unloading is a
 * store to `current` and then a look at the counters, all sequentially consistent. If the writer
 * reads 0, the addition comes later, so the look at `current` finds the new table. Both counters
 * are waited for, each after new readers were turned away from it.
 */
#include "os/darwin/image_table.h"

/* A range as it is stored: words, each read and written at once, as a reader may come late and look
 * at a table while it is written. What it read then is thrown away. */
struct slot {
    uintptr_t lo, hi, header, permanent, path;
};

struct image_table {
    unsigned version; /* odd while it is written */
    size_t count, capacity;
    struct slot slot[];
};

enum { FIRST_CAPACITY = 1024 };

static uintptr_t get(const uintptr_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void put(uintptr_t *word, uintptr_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void put_slot(struct slot *to, const struct slot *from)
{
    put(&to->lo, from->lo);
    put(&to->hi, from->hi);
    put(&to->header, from->header);
    put(&to->permanent, from->permanent);
    put(&to->path, from->path);
}

static void put_count(struct image_table *table, size_t count)
{
    __atomic_store_n(&table->count, count, __ATOMIC_RELAXED);
}

/* Index of the first range that ends above `address`. */
static size_t search(const struct image_table *table, size_t count, uintptr_t address)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (get(&table->slot[middle].hi) <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static bool find_in(const struct image_table *table, uintptr_t address, struct image_range *range)
{
    const size_t count = __atomic_load_n(&table->count, __ATOMIC_RELAXED);
    const size_t i = search(table, count < table->capacity ? count : table->capacity, address);
    if (i >= count || i >= table->capacity || address < get(&table->slot[i].lo))
        return false;
    const struct slot *s = &table->slot[i];
    *range = (struct image_range){get(&s->lo), get(&s->hi), get(&s->header), get(&s->permanent),
                                  (const char *)get(&s->path)};
    return true;
}

bool image_table_find(struct image_tables *tables, uintptr_t address, struct image_range *range)
{
    for (;;) {
        struct image_table *table = __atomic_load_n(&tables->current, __ATOMIC_SEQ_CST);
        if (!table)
            return false;
        const unsigned version = __atomic_load_n(&table->version, __ATOMIC_ACQUIRE);
        const bool found = !(version & 1) && find_in(table, address, range);
        /* A read-modify-write keeps what was read before it; the thread sanitizer does not know
         * fences. */
        if (!(version & 1) && __atomic_fetch_or(&table->version, 0, __ATOMIC_ACQ_REL) == version)
            return found;
        /* written meanwhile, so the other one is current by now */
    }
}

unsigned image_table_enter(struct image_tables *tables)
{
    const unsigned which = __atomic_load_n(&tables->turn, __ATOMIC_SEQ_CST) & 1;
    __atomic_fetch_add(&tables->reading[which], 1, __ATOMIC_SEQ_CST);
    return which;
}

void image_table_leave(struct image_tables *tables, unsigned entered)
{
    __atomic_fetch_sub(&tables->reading[entered], 1, __ATOMIC_SEQ_CST);
}

/* A table with room for `capacity` ranges; the one that it stands in for may still have readers,
 * and stays as it is. */
static struct image_table *make_table(struct image_tables *tables, size_t needed)
{
    size_t capacity = FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    struct image_table *table = tables->allocate(sizeof *table + capacity * sizeof table->slot[0]);
    if (table)
        table->capacity = capacity;
    return table;
}

bool image_table_begin(struct image_tables *tables, size_t more)
{
    const struct image_table *from = tables->open ? tables->next : tables->current;
    const size_t count = from ? from->count : 0;
    struct image_table *next = tables->next;
    if (!next || next->capacity < count + more)
        next = make_table(tables, count + more);
    if (!next)
        return false;
    __atomic_fetch_or(&next->version, 1, __ATOMIC_ACQ_REL);
    for (size_t i = 0; next != from && i < count; i++)
        put_slot(&next->slot[i], &from->slot[i]);
    put_count(next, count);
    tables->next = next;
    tables->open = true;
    return true;
}

void image_table_add(struct image_tables *tables, const struct image_range *range)
{
    struct image_table *next = tables->next;
    const size_t at = search(next, next->count, range->lo);
    if (range->lo >= range->hi || next->count == next->capacity ||
        (at < next->count && next->slot[at].lo < range->hi))
        return;
    for (size_t i = next->count; i > at; i--)
        put_slot(&next->slot[i], &next->slot[i - 1]);
    put_slot(&next->slot[at], &(struct slot){range->lo, range->hi, range->header, range->permanent,
                                             (uintptr_t)range->path});
    put_count(next, next->count + 1);
}

void image_table_publish(struct image_tables *tables)
{
    struct image_table *next = tables->next;
    __atomic_fetch_add(&next->version, 1, __ATOMIC_RELEASE);
    tables->open = false;
    tables->next = tables->current;
    __atomic_store_n(&tables->current, next, __ATOMIC_SEQ_CST);
}

static void forget_all(struct image_tables *tables)
{
    tables->next = tables->current;
    __atomic_store_n(&tables->current, NULL, __ATOMIC_SEQ_CST);
}

bool image_table_remove(struct image_tables *tables, uintptr_t header)
{
    const bool begun = tables->open;
    if (!image_table_begin(tables, 0)) {
        forget_all(tables);
        return true;
    }
    struct image_table *next = tables->next;
    size_t kept = 0;
    for (size_t i = 0; i < next->count; i++)
        if (next->slot[i].header != header)
            put_slot(&next->slot[kept++], &next->slot[i]);
    const bool removed = kept < next->count;
    put_count(next, kept);
    if (!begun)
        image_table_publish(tables);
    return removed;
}

static bool wait_for(const unsigned *reading, unsigned most_ms, void (*nap)(void))
{
    for (unsigned i = 0; i < most_ms; i++) {
        if (__atomic_load_n(reading, __ATOMIC_SEQ_CST) == 0)
            return true;
        nap();
    }
    return false;
}

bool image_table_wait(struct image_tables *tables, unsigned most_ms, void (*nap)(void))
{
    bool gone = true;
    for (int i = 0; i < 2; i++) {
        const unsigned old = __atomic_fetch_add(&tables->turn, 1, __ATOMIC_SEQ_CST) & 1;
        gone &= wait_for(&tables->reading[old], most_ms, nap);
    }
    return gone;
}

void image_table_forked(struct image_tables *tables)
{
    __atomic_store_n(&tables->reading[0], 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&tables->reading[1], 0, __ATOMIC_SEQ_CST);
}
