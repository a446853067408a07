/*
 * What a watch counts: entries, one for each stack of each name, and recipes, by which a stack is
 * known again without a walk. All in one block of memory that is only ever added to.
 *
 * A recipe. Which frames a walk finds depends on the return address of the call, the stack pointer,
 * the frame pointer, the unwind rules of the code (rule.h: a function of the address alone), and
 * the words of the stack that the rules led to. A recipe is the list of these words: their offsets
 * from the stack pointer, and what they held: return addresses as they are, frame pointers, where a
 * rule used them, as distances from the stack pointer. When all words of a stack hold the same,
 * the walk would have read the same at each of its steps, by induction from the first, and so
 * have found the same frames, wherever the stack lies and whichever thread's it is. Comparing needs
 * no rule and no load waits for the one before: less than a nanosecond a frame.
 *
 * Recipes exist only of walks all of whose steps were of that kind (RULE_SP, RULE_FP, and a root or
 * the limit at the end) and on the thread's own stack, where every word may be read. Others are
 * walked each time. When code is unloaded all recipes are void (calls_table_forget) until a walk
 * has made the same again; so they take no more memory for that.
 *
 * Invariant: entries and recipes are complete before an offset leads to them, and never change then
 * but for counts and times. Nobody waits: lock-free, async-signal-safe.
 */
#ifndef WATCH_CALLS_TABLE_H
#define WATCH_CALLS_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "framewalk/stack.h"

struct noted {
    uint64_t id;             /* fw_stack.id */
    _Atomic uint64_t count;  /* of all threads but one */
    _Atomic uint64_t by_one; /* of that one (fw_calls.counter), which needs no locked addition */
    uint64_t first_ms;
    _Atomic uint64_t last_ms;
    _Atomic uint64_t tick;    /* of the machine's clock, when last_ms was taken */
    _Atomic uint64_t written; /* of both, what is in a report */
    _Atomic uint32_t beat;    /* of the watch's own clock (calls_report.c), likewise */
    uint32_t name;
    uint32_t thread;
    uint32_t frame_count;
    uint8_t end;             /* fw_end */
    _Atomic uint8_t recipes; /* made of it */
    struct fw_frame frame[];
};

/* Calls from this stack. */
static inline uint64_t noted_count(const struct noted *noted)
{
    return atomic_load_explicit(&noted->count, memory_order_relaxed) +
           atomic_load_explicit(&noted->by_one, memory_order_relaxed);
}

struct recipe_fp {
    uint32_t at;    /* offset of the word from the stack pointer */
    uint32_t delta; /* what it holds, less the stack pointer */
};

struct recipe {
    uintptr_t return_address;
    uintptr_t fp_delta;    /* frame pointer less stack pointer */
    uintptr_t last;        /* what the last word holds: 0 at a root */
    _Atomic uint32_t name; /* CALLS_NO_NAME: void */
    uint32_t next;         /* recipe, 0 none */
    uint32_t noted;        /* its entry */
    uint32_t span;         /* bytes from the stack pointer to behind the outermost word */
    uint16_t words;        /* return addresses of frames 1 .. words */
    uint16_t fps;
    bool uses_fp;  /* fp_delta counts */
    bool has_last; /* there is a last word behind those of the frames */
};

/* What follows it: `words` offsets (and one with has_last), then `fps` of struct recipe_fp. */
static inline const uint32_t *recipe_at(const struct recipe *recipe)
{
    return (const uint32_t *)(const void *)(recipe + 1);
}

struct calls_table {
    char *base;
    uint32_t units; /* room, in units of 8 bytes from base: what offsets count */
    uint32_t order_size;
    unsigned cell_bits, bucket_bits;
    _Atomic uint32_t *cells;   /* entries by hash of id and name */
    _Atomic uint32_t *buckets; /* recipes by hash of name, return address and depth */
    _Atomic uint32_t *order;   /* entries as they came */
    _Atomic uint32_t used;
    _Atomic uint32_t fresh; /* recipes that became valid since all were voided; 0: none is */
    _Atomic uint32_t count; /* entries; may be more than order_size for a moment */
};

/* Lays a table out in zeroed memory. False: too small. */
bool calls_table_init(struct calls_table *table, void *memory, size_t size);

static inline struct noted *calls_table_noted(const struct calls_table *table, uint32_t offset)
{
    return (struct noted *)(void *)(table->base + (size_t)offset * 8);
}

/* The entry of this stack, made when it is new (*is_new); NULL: no room. */
struct noted *calls_table_add(struct calls_table *table, uint32_t name,
                              const struct fw_stack *stack, uint32_t thread, uint64_t now_ms,
                              bool *is_new);

/* Entry `index`; NULL beyond the last, or not there yet. */
struct noted *calls_table_get(const struct calls_table *table, uint32_t index);
uint32_t calls_table_count(const struct calls_table *table);

/* The head of the list of recipes for calls from `return_address` with `depth` bytes of stack. */
static inline _Atomic uint32_t *calls_table_bucket(const struct calls_table *table, uint32_t name,
                                                   uintptr_t return_address, uintptr_t depth)
{
    const uint64_t hash =
        ((uint64_t)return_address ^ (uint64_t)depth << 20 ^ name) * 0x9E3779B97F4A7C15u;
    return &table->buckets[hash >> (64 - table->bucket_bits)];
}

enum { RECIPES_EACH = 8 }; /* of an entry at the most */

/* What a recipe is made of. */
struct recipe_draft {
    struct recipe head;
    uint32_t at[129];
    struct recipe_fp fp[128];
};

/* Adds a recipe of the entry; nothing happens when there is no room. */
void calls_table_add_recipe(struct calls_table *table, struct noted *noted,
                            const struct recipe_draft *draft, uintptr_t depth);

/* Voids all recipes: code was unloaded. Those that a walk makes again are valid again. */
void calls_table_forget(struct calls_table *table);

#endif
