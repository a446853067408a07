/*
 * Stack table: counts identical stacks once, in fixed memory of the caller.
 *
 * Adding and reading are lock-free, async-signal-safe and thread-safe; any number of threads and
 * signal handlers may add at once. Stacks are told apart by their 64-bit id (fw_stack.id) and
 * stored once, in the order they came.
 */
#ifndef FRAMEWALK_STACK_TABLE_H
#define FRAMEWALK_STACK_TABLE_H

#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fw_stack_table; /* lives in the caller's memory */

/* Id of `count` frames in order (their addresses and FW_FRAME_ASYNC), as a walk computes it: for
 * stacks that came from elsewhere. */
FW_API uint64_t fw_stack_id(const struct fw_frame *frames, size_t count);

/* Lays a table out in `memory` (aligned to 16 bytes) of `size` bytes, at least 4096, for stacks of
 * about `average_depth` frames (0 = 32). NULL when it is too small or misaligned. The memory is the
 * caller's and must outlive the table; there is nothing to destroy. Not thread-safe. */
FW_API struct fw_stack_table *fw_stack_table_init(void *memory, size_t size,
                                                  uint32_t average_depth);

/* Adds `weight` to the count of this stack, storing it when it is new. *index (optional) is its
 * number, stable from then on. FW_ERR_FULL when there is no room for a new stack: `weight` is then
 * counted in the table's `dropped`. */
FW_API fw_error fw_stack_table_add(struct fw_stack_table *table, const struct fw_stack *stack,
                                   uint64_t weight, uint32_t *index);

struct fw_stack_entry {
    uint64_t id;
    uint64_t count;                /* sum of weights */
    const struct fw_frame *frames; /* in the table's memory */
    uint32_t frame_count;
    uint32_t head; /* as in fw_stack */
    uint64_t omitted;
    uint8_t end; /* fw_end */
    uint8_t reserved[7];
};

/* How many stacks are stored, and what found no room (sum of weights). */
FW_API uint32_t fw_stack_table_count(const struct fw_stack_table *table);
FW_API uint64_t fw_stack_table_dropped(const struct fw_stack_table *table);
/* Entry `index` < fw_stack_table_count; FW_ERR_NOT_FOUND for one still being written or out of
 * range. */
FW_API fw_error fw_stack_table_get(const struct fw_stack_table *table, uint32_t index,
                                   struct fw_stack_entry *entry);

#ifdef __cplusplus
}
#endif
#endif
