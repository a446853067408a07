/*
 * A stack with the names of its frames, in one block of memory that nothing else is needed for: the
 * strings are copies, so it outlives images and indexes. Constant once it is made.
 */
#ifndef CAPTURE_NAMED_STACK_H
#define CAPTURE_NAMED_STACK_H

#include "capture/image_filter.h"
#include "framewalk/stack_names.h"

#include <stdatomic.h>

struct named_stack {
    struct fw_named_stack shown; /* what people get: first, so that the way back is a cast */
    struct fw_stack stack;       /* whose names these are, with frames of its own */
    size_t bytes;                /* of the block */

    /* For who keeps it (stack_names.c). */
    uint64_t generation;         /* of the index of names */
    struct named_stack *next;    /* in its bucket */
    struct named_stack *ring[2]; /* before and behind it in the ring */
    _Atomic uint32_t holders;    /* the cache itself is one */
    bool used;                   /* since the hand last came by */
};

/* Names what `filter` (NULL for all) takes, and makes the text when asked to; free() it. NULL when
 * out of memory. */
struct named_stack *named_stack_create(const struct fw_stack *stack, const struct fw_names *names,
                                       const struct image_filter *filter, bool text);

/* The same frames, counts and end? Proves what an equal id suggests. */
bool named_stack_is(const struct named_stack *named, const struct fw_stack *stack);

#endif
