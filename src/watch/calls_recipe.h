/*
 * Making recipes (calls_table.h).
 */
#ifndef WATCH_CALLS_RECIPE_H
#define WATCH_CALLS_RECIPE_H

#include "unwind/walk.h"
#include "watch/calls_table.h"

/* Where a call was made from: its caller's registers, and the end of the thread's own stack. */
struct call_place {
    uintptr_t sp, fp, hi;
};

/* The recipe of a stack that a walk through `space` and `memory` has just found; false: it has
 * none.
 */
bool recipe_of_walk(const struct walk_space *space, const struct memory *memory,
                    const struct fw_stack *stack, const struct call_place *at,
                    struct recipe_draft *draft);

/* The same of a stack that fw_capture_from_frame_pointer found, behind frames[0]. */
bool recipe_of_records(const struct fw_stack *stack, const struct call_place *at,
                       uintptr_t code_mask, struct recipe_draft *draft);

#endif
