/*
 * A sorted index over an .eh_frame or .debug_frame that has no usable search table. Building
 * allocates; searching does not and may run in a signal handler and in many threads at once.
 *
 * Invariant: entries are sorted by start, every one is not empty, and no range is longer than
 * `longest`. Functions do not overlap in sound tables; where they do, the one that starts last is
 * found, as by the other ways of searching.
 */
#include <stdlib.h>

#include "unwind/cfi.h"
#include "unwind/sources.h"

struct entry {
    uint64_t lo;     /* link-time start of the function */
    uint32_t size;   /* bytes */
    uint32_t offset; /* of the FDE in the section */
};

struct cfi_index {
    size_t count, capacity;
    uint64_t longest;
    bool overlapping; /* some range reaches into a later one */
    struct entry *entries;
};

static bool push(struct cfi_index *index, const struct entry *entry)
{
    if (index->count == index->capacity) {
        size_t capacity = index->capacity ? index->capacity * 2 : 256;
        struct entry *entries = realloc(index->entries, capacity * sizeof *entries);
        if (!entries)
            return false;
        index->entries = entries;
        index->capacity = capacity;
    }
    index->entries[index->count++] = *entry;
    return true;
}

static bool collect(struct cfi_index *index, const struct cfi_table *table)
{
    struct cfi_fde fde = {0};
    uint64_t next = 0;
    for (;;) {
        uint64_t offset = next;
        enum cfi_entry_kind kind = cfi_entry_next(table, &next, &fde);
        if (kind == CFI_ENTRY_END)
            return true;
        if (kind != CFI_ENTRY_FDE || !cfi_fde_alive(table, &fde) || fde.hi - fde.lo > UINT32_MAX ||
            offset > UINT32_MAX)
            continue;
        struct entry entry = {fde.lo, (uint32_t)(fde.hi - fde.lo), (uint32_t)offset};
        if (!push(index, &entry))
            return false;
    }
}

/* By start; entries of the same start backwards, as the search looks at the last one first. */
static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->offset > b->offset ? -1 : a->offset < b->offset;
}

static void look_for_overlaps(struct cfi_index *index)
{
    uint64_t reach = 0;
    for (size_t i = 0; i < index->count; i++) {
        const struct entry *entry = &index->entries[i];
        if (entry->lo < reach)
            index->overlapping = true;
        if (entry->lo + entry->size > reach)
            reach = entry->lo + entry->size;
        if (entry->size > index->longest)
            index->longest = entry->size;
    }
}

struct cfi_index *cfi_index_build(const struct unwind_image *image, bool debug_frame)
{
    struct cfi_table table = cfi_table_of(image, debug_frame);
    if (!table.section->data)
        return NULL;
    struct cfi_index *index = calloc(1, sizeof *index);
    if (!index)
        return NULL;
    if (!collect(index, &table) || index->count == 0) {
        cfi_index_destroy(index);
        return NULL;
    }
    struct entry *fitted = realloc(index->entries, index->count * sizeof *fitted);
    if (fitted) {
        index->entries = fitted;
        index->capacity = index->count;
    }
    qsort(index->entries, index->count, sizeof *index->entries, compare);
    look_for_overlaps(index);
    return index;
}

void cfi_index_destroy(struct cfi_index *index)
{
    if (!index)
        return;
    free(index->entries);
    free(index);
}

void cfi_index_ranges(const struct cfi_index *index,
                      void (*each)(void *context, uint64_t lo, uint64_t hi), void *context)
{
    for (size_t i = 0; i < index->count; i++) {
        const struct entry *entry = &index->entries[i];
        each(context, entry->lo, entry->lo + entry->size);
    }
}

/* How many entries start at or before vaddr. */
static size_t entries_up_to(const struct cfi_index *index, uint64_t vaddr)
{
    size_t lo = 0, hi = index->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (index->entries[middle].lo <= vaddr)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

bool cfi_index_find(const struct cfi_index *index, const struct cfi_table *table, uint64_t vaddr,
                    struct cfi_fde *fde)
{
    for (size_t i = entries_up_to(index, vaddr); i > 0; i--) {
        const struct entry *entry = &index->entries[i - 1];
        if (vaddr - entry->lo < entry->size) {
            uint64_t offset = entry->offset;
            return cfi_entry_next(table, &offset, fde) == CFI_ENTRY_FDE &&
                   cfi_fde_covers(fde, vaddr);
        }
        if (!index->overlapping || vaddr - entry->lo >= index->longest)
            return false;
    }
    return false;
}
