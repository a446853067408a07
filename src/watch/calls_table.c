/*
 * Entries and recipes of a call watch (calls_table.h): memory, laid out once:
 *
 *     cells | buckets | order | entries and recipes, as they come
 */
#include "watch/calls_table.h"

#include <string.h>

enum { UNIT = 8, SMALLEST = 4096, EACH = 384 /* bytes of an entry and its recipe, about */ };

bool calls_table_init(struct calls_table *table, void *memory, size_t size)
{
    if (size < SMALLEST || size / UNIT > UINT32_MAX)
        return false;
    const size_t entries = size / EACH;
    unsigned bits = 3;
    while ((size_t)1 << bits < entries + entries / 2)
        bits++;
    const size_t cells = (size_t)1 << bits;
    const size_t tables = (2 * cells + entries) * sizeof(uint32_t);
    const size_t first = (tables + UNIT - 1) / UNIT;
    if (first + 64 > size / UNIT)
        return false;
    *table = (struct calls_table){.base = memory,
                                  .units = (uint32_t)(size / UNIT),
                                  .order_size = (uint32_t)entries,
                                  .cell_bits = bits,
                                  .bucket_bits = bits,
                                  .cells = memory,
                                  .used = (uint32_t)first};
    table->buckets = table->cells + cells;
    table->order = table->buckets + cells;
    return true;
}

/* Offset of `bytes` of memory, 0 when there is none. */
static uint32_t take(struct calls_table *table, size_t bytes)
{
    const uint32_t units = (uint32_t)((bytes + UNIT - 1) / UNIT);
    uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);
    do {
        if (units > table->units - used)
            return 0;
    } while (!atomic_compare_exchange_weak(&table->used, &used, used + units));
    return used;
}

/* Gives back what was taken last; stays unused when more was taken since. */
static void give_back(struct calls_table *table, uint32_t offset, size_t bytes)
{
    uint32_t used = offset + (uint32_t)((bytes + UNIT - 1) / UNIT);
    atomic_compare_exchange_strong(&table->used, &used, offset);
}

/* The entry from cell *cell on; NULL: *cell is the empty one where it belongs, or the table of
 * cells is full (*cell is not empty). */
static struct noted *find(const struct calls_table *table, uint32_t name, uint64_t id,
                          uint32_t *cell)
{
    const uint32_t mask = (1u << table->cell_bits) - 1;
    for (uint32_t probes = 0; probes <= mask; probes++, *cell = (*cell + 1) & mask) {
        const uint32_t offset = atomic_load_explicit(&table->cells[*cell], memory_order_acquire);
        if (offset == 0)
            return NULL;
        struct noted *noted = calls_table_noted(table, offset);
        if (noted->id == id && noted->name == name)
            return noted;
    }
    return NULL;
}

/* A whole entry that nobody can see yet. */
static struct noted *make(struct calls_table *table, uint32_t name, const struct fw_stack *stack,
                          uint32_t thread, uint64_t now_ms, uint32_t *offset)
{
    *offset = take(table, sizeof(struct noted) + stack->count * sizeof(struct fw_frame));
    if (*offset == 0)
        return NULL;
    struct noted *noted = calls_table_noted(table, *offset);
    *noted = (struct noted){.id = stack->id,
                            .first_ms = now_ms,
                            .last_ms = now_ms,
                            .name = name,
                            .thread = thread,
                            .frame_count = stack->count,
                            .end = stack->end};
    memcpy(noted->frame, stack->frames, stack->count * sizeof(struct fw_frame));
    return noted;
}

struct noted *calls_table_add(struct calls_table *table, uint32_t name,
                              const struct fw_stack *stack, uint32_t thread, uint64_t now_ms,
                              bool *is_new)
{
    uint32_t cell =
        (uint32_t)(((stack->id ^ name) * 0x9E3779B97F4A7C15u) >> (64 - table->cell_bits));
    *is_new = false;
    struct noted *noted = find(table, name, stack->id, &cell);
    if (noted)
        return noted;
    if (atomic_load_explicit(&table->count, memory_order_relaxed) >= table->order_size)
        return NULL;
    uint32_t offset, empty = 0;
    struct noted *made = make(table, name, stack, thread, now_ms, &offset);
    if (!made)
        return NULL;
    while (!atomic_compare_exchange_strong(&table->cells[cell], &empty, offset)) {
        empty = 0;
        noted = find(table, name, stack->id, &cell);
        if (noted || atomic_load(&table->cells[cell])) { /* somebody was faster, or all are full */
            give_back(table, offset, sizeof *made + stack->count * sizeof(struct fw_frame));
            return noted;
        }
    }
    /* Not all who came past the check above have a place in the order; there are more cells. */
    const uint32_t index = atomic_fetch_add(&table->count, 1);
    if (index < table->order_size)
        atomic_store_explicit(&table->order[index], offset, memory_order_release);
    *is_new = true;
    return made;
}

uint32_t calls_table_count(const struct calls_table *table)
{
    const uint32_t count = atomic_load_explicit(&table->count, memory_order_acquire);
    return count < table->order_size ? count : table->order_size;
}

struct noted *calls_table_get(const struct calls_table *table, uint32_t index)
{
    if (index >= calls_table_count(table))
        return NULL;
    const uint32_t offset = atomic_load_explicit(&table->order[index], memory_order_acquire);
    return offset ? calls_table_noted(table, offset) : NULL;
}

static struct recipe *recipe_of(const struct calls_table *table, uint32_t offset)
{
    return (struct recipe *)(void *)(table->base + (size_t)offset * UNIT);
}

static bool is_same(const struct recipe *recipe, const struct recipe_draft *draft, uint32_t slots)
{
    const struct recipe *head = &draft->head;
    return recipe->words == head->words && recipe->fps == head->fps &&
           recipe->uses_fp == head->uses_fp && recipe->fp_delta == head->fp_delta &&
           recipe->has_last == head->has_last && recipe->last == head->last &&
           memcmp(recipe_at(recipe), draft->at, slots * sizeof(uint32_t)) == 0 &&
           memcmp(recipe_at(recipe) + slots, draft->fp, head->fps * sizeof(struct recipe_fp)) == 0;
}

/* Whether the bucket that begins with `offset` has a recipe of these words, which holds now. */
static bool has_recipe(struct calls_table *table, uint32_t offset, struct noted *noted,
                       const struct recipe_draft *draft, uint32_t slots)
{
    while (offset) {
        struct recipe *recipe = recipe_of(table, offset);
        if (calls_table_noted(table, recipe->noted) == noted && is_same(recipe, draft, slots)) {
            uint32_t name = UINT32_MAX;
            atomic_fetch_add(&table->fresh, 1);
            if (atomic_compare_exchange_strong(&recipe->name, &name, noted->name))
                atomic_fetch_add_explicit(&noted->recipes, 1, memory_order_relaxed);
            atomic_fetch_add(&table->fresh, 1);
            return true;
        }
        offset = recipe->next;
    }
    return false;
}

void calls_table_add_recipe(struct calls_table *table, struct noted *noted,
                            const struct recipe_draft *draft, uintptr_t depth)
{
    const uint32_t slots = draft->head.words + (draft->head.has_last ? 1u : 0u);
    const size_t bytes = sizeof(struct recipe) + slots * sizeof(uint32_t) +
                         draft->head.fps * sizeof(struct recipe_fp);
    if (atomic_load_explicit(&noted->recipes, memory_order_relaxed) >= RECIPES_EACH)
        return;
    _Atomic uint32_t *head =
        calls_table_bucket(table, noted->name, draft->head.return_address, depth);
    const uint32_t first = atomic_load_explicit(head, memory_order_acquire);
    if (has_recipe(table, first, noted, draft, slots))
        return;
    const uint32_t offset = take(table, bytes);
    if (!offset)
        return;
    struct recipe *recipe = recipe_of(table, offset);
    *recipe = draft->head;
    recipe->name = noted->name;
    recipe->next = first;
    recipe->noted = (uint32_t)((size_t)((char *)noted - table->base) / UNIT);
    uint32_t *at = (uint32_t *)(void *)(recipe + 1);
    memcpy(at, draft->at, slots * sizeof(uint32_t));
    memcpy(at + slots, draft->fp, draft->head.fps * sizeof(struct recipe_fp));
    atomic_fetch_add_explicit(&noted->recipes, 1, memory_order_relaxed);
    atomic_fetch_add(&table->fresh, 1);
    while (!atomic_compare_exchange_weak(head, &recipe->next, offset))
        continue;
    atomic_fetch_add(&table->fresh, 1);
}

/* Whoever makes one valid says so before and afterwards: one that came too late for this pass is
 * there for the next. */
void calls_table_forget(struct calls_table *table)
{
    if (atomic_exchange(&table->fresh, 0) == 0)
        return;
    for (uint32_t bucket = 0; bucket < 1u << table->bucket_bits; bucket++) {
        uint32_t offset = atomic_load_explicit(&table->buckets[bucket], memory_order_acquire);
        while (offset) {
            struct recipe *recipe = recipe_of(table, offset);
            if (atomic_exchange_explicit(&recipe->name, UINT32_MAX, memory_order_relaxed) !=
                UINT32_MAX)
                atomic_fetch_sub_explicit(&calls_table_noted(table, recipe->noted)->recipes, 1,
                                          memory_order_relaxed);
            offset = recipe->next;
        }
    }
}
