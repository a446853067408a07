/*
 * The stack table (framewalk/stack_table.h).
 *
 * Memory, laid out once:   header | cells: entry number + 1, 0 empty | entries | frames
 *
 * Invariant: an entry is complete before its number stands in a cell, and never changes afterwards
 * but for its count. Whoever adds a new stack writes entry and frames first and then tries to put
 * the number into the first empty cell of its probe sequence; when somebody else was faster with
 * the same stack, the own entry is given back, or stays behind unused if others were made after it.
 * So nobody ever waits: a signal handler may interrupt an adder anywhere and add the same stack.
 */
#include "framewalk/stack_table.h"

#include "unwind/stack_id.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { MIN_BYTES = 4096, ALIGNMENT = 16, DEFAULT_DEPTH = 32, MAX_ENTRIES = 1 << 30 };

struct entry {
    uint64_t id;
    _Atomic uint64_t count;
    uint64_t omitted;
    uint64_t first; /* frame, in the table's frames */
    uint32_t frame_count;
    uint32_t head;
    _Atomic uint32_t ready; /* its number is in a cell */
    uint8_t end;
};

struct fw_stack_table {
    _Atomic uint64_t dropped;
    _Atomic uint64_t frames_used;
    _Atomic uint32_t entries_used;
    uint32_t entry_count; /* room for */
    uint64_t frame_count; /* room for */
    uint32_t cell_mask;
    unsigned cell_shift; /* 64 - log2(cells) */
    _Atomic uint32_t *cells;
    struct entry *entries;
    struct fw_frame *frames;
};

uint64_t fw_stack_id(const struct fw_frame *frames, size_t count)
{
    uint64_t id = STACK_ID_START;
    for (size_t i = 0; i < count; i++)
        id = frames[i].flags & FW_FRAME_ASYNC ? stack_id_async_step(id, frames[i].address)
                                              : stack_id_step(id, frames[i].address);
    return id;
}

struct fw_stack_table *fw_stack_table_init(void *memory, size_t size, uint32_t average_depth)
{
    if (!memory || (uintptr_t)memory % ALIGNMENT || size < MIN_BYTES)
        return NULL;
    size_t depth = average_depth ? average_depth : DEFAULT_DEPTH;
    size_t room = size - sizeof(struct fw_stack_table);
    /* At least two cells an entry, as a power of two; so fewer than four. */
    size_t each = sizeof(struct entry) + 4 * sizeof(uint32_t);
    if (depth > (room - each) / sizeof(struct fw_frame))
        return NULL;
    size_t entries = (room - ALIGNMENT) / (each + depth * sizeof(struct fw_frame));
    if (entries > MAX_ENTRIES)
        entries = MAX_ENTRIES;
    if (entries == 0)
        return NULL;
    unsigned bits = 1;
    while ((size_t)1 << bits < 2 * entries)
        bits++;
    size_t cells = (size_t)1 << bits;

    struct fw_stack_table *table = memory;
    char *at = (char *)(table + 1);
    memset(table, 0, sizeof *table);
    table->cells = (_Atomic uint32_t *)(void *)at;
    at += (cells * sizeof(uint32_t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    table->entries = (struct entry *)(void *)at;
    at += entries * sizeof(struct entry);
    table->frames = (struct fw_frame *)(void *)at;
    memset(table->cells, 0, (size_t)(at - (char *)table->cells));
    table->entry_count = (uint32_t)entries;
    table->frame_count = (size_t)((char *)memory + size - at) / sizeof(struct fw_frame);
    table->cell_mask = (uint32_t)(cells - 1);
    table->cell_shift = 64 - bits;
    return table;
}

/* The cell that holds `id`, or the empty one where it belongs, from *cell on. */
static struct entry *find(const struct fw_stack_table *table, uint64_t id, uint32_t *cell,
                          uint32_t *number)
{
    for (;; *cell = (*cell + 1) & table->cell_mask) {
        uint32_t n = atomic_load_explicit(&table->cells[*cell], memory_order_acquire);
        if (n == 0)
            return NULL;
        if (table->entries[n - 1].id == id) {
            *number = n - 1;
            return &table->entries[n - 1];
        }
    }
}

/* Takes `n` of what `limit` leaves; false, and nothing taken, when that is less. */
static bool reserve_frames(struct fw_stack_table *table, uint32_t n, uint64_t *first)
{
    uint64_t used = atomic_load_explicit(&table->frames_used, memory_order_relaxed);
    do {
        if (n > table->frame_count - used)
            return false;
    } while (!atomic_compare_exchange_weak(&table->frames_used, &used, used + n));
    *first = used;
    return true;
}

static bool reserve_entry(struct fw_stack_table *table, uint32_t *number)
{
    uint32_t used = atomic_load_explicit(&table->entries_used, memory_order_relaxed);
    do {
        if (used == table->entry_count)
            return false;
    } while (!atomic_compare_exchange_weak(&table->entries_used, &used, used + 1));
    *number = used;
    return true;
}

/* Possible only while nothing was reserved after it. */
static void give_frames_back(struct fw_stack_table *table, uint64_t first, uint32_t n)
{
    uint64_t used = first + n;
    atomic_compare_exchange_strong(&table->frames_used, &used, first);
}

static void give_entry_back(struct fw_stack_table *table, uint32_t number)
{
    uint32_t used = number + 1;
    atomic_compare_exchange_strong(&table->entries_used, &used, number);
}

/* A complete entry that nobody can see yet; NULL when there is no room. */
static struct entry *make_entry(struct fw_stack_table *table, const struct fw_stack *stack,
                                uint32_t *number)
{
    uint64_t first;
    if (!reserve_frames(table, stack->count, &first))
        return NULL;
    if (!reserve_entry(table, number)) {
        give_frames_back(table, first, stack->count);
        return NULL;
    }
    struct entry *entry = &table->entries[*number];
    entry->id = stack->id;
    atomic_store_explicit(&entry->count, 0, memory_order_relaxed);
    entry->omitted = stack->omitted;
    entry->first = first;
    entry->frame_count = stack->count;
    entry->head = stack->head;
    entry->end = stack->end;
    if (stack->count)
        memcpy(table->frames + first, stack->frames, stack->count * sizeof *stack->frames);
    return entry;
}

/* Finds or makes the entry of this stack; NULL when there is no room. */
static struct entry *entry_of(struct fw_stack_table *table, const struct fw_stack *stack,
                              uint32_t *number)
{
    uint32_t cell = (uint32_t)(stack->id * 0x9E3779B97F4A7C15u >> table->cell_shift);
    struct entry *entry = find(table, stack->id, &cell, number);
    if (entry)
        return entry;
    uint32_t made_number;
    struct entry *made = make_entry(table, stack, &made_number);
    if (!made)
        return NULL;
    uint32_t empty = 0;
    while (!atomic_compare_exchange_strong(&table->cells[cell], &empty, made_number + 1)) {
        empty = 0;
        entry = find(table, stack->id, &cell, number);
        if (entry) { /* somebody else was faster */
            give_entry_back(table, made_number);
            give_frames_back(table, made->first, stack->count);
            return entry;
        }
    }
    atomic_store_explicit(&made->ready, 1, memory_order_release);
    *number = made_number;
    return made;
}

fw_error fw_stack_table_add(struct fw_stack_table *table, const struct fw_stack *stack,
                            uint64_t weight, uint32_t *index)
{
    if (!table || !stack || (stack->count && !stack->frames) || stack->head > stack->count)
        return FW_ERR_ARGUMENT;
    uint32_t number;
    struct entry *entry = entry_of(table, stack, &number);
    if (!entry) {
        atomic_fetch_add_explicit(&table->dropped, weight, memory_order_relaxed);
        return FW_ERR_FULL;
    }
    atomic_fetch_add_explicit(&entry->count, weight, memory_order_relaxed);
    if (index)
        *index = number;
    return FW_OK;
}

uint32_t fw_stack_table_count(const struct fw_stack_table *table)
{
    return atomic_load_explicit(&table->entries_used, memory_order_acquire);
}

uint64_t fw_stack_table_dropped(const struct fw_stack_table *table)
{
    return atomic_load_explicit(&table->dropped, memory_order_relaxed);
}

fw_error fw_stack_table_get(const struct fw_stack_table *table, uint32_t index,
                            struct fw_stack_entry *entry)
{
    if (index >= fw_stack_table_count(table))
        return FW_ERR_NOT_FOUND;
    const struct entry *from = &table->entries[index];
    if (!atomic_load_explicit(&from->ready, memory_order_acquire))
        return FW_ERR_NOT_FOUND;
    *entry = (struct fw_stack_entry){
        .id = from->id,
        .count = atomic_load_explicit(&from->count, memory_order_relaxed),
        .frames = table->frames + from->first,
        .frame_count = from->frame_count,
        .head = from->head,
        .omitted = from->omitted,
        .end = from->end,
    };
    return FW_OK;
}
