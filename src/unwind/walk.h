/*
 * The walker: from one thread state to frames. It serves live threads, copied stacks of other
 * processes, core files and recorded stacks of any architecture; what differs is the memory and the
 * images it is given.
 *
 * Async-signal-safe when the memory's and the image finder's callbacks are; allocates nothing.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include "framewalk/stack.h"
#include "unwind/image.h"
#include "unwind/memory.h"
#include "unwind/row.h"

struct rule_cache;

/* Everything a walk reads. Read-only during the walk; may be shared by walks of one process. */
struct walk_space {
    const struct arch *arch;
    /* The image whose code covers the runtime address, or NULL. */
    const struct unwind_image *(*find_image)(void *context, uint64_t address);
    void *context;
    struct rule_cache *cache; /* rules of this space, see rule.h; never NULL */
    uint64_t
        pac_mask; /* bits to clear in code addresses (aarch64 pointer authentication), 0 for none */
    /* Optional: is this runtime address inside executable memory? Without it, addresses outside all
     * images are not trusted in frame-pointer steps. */
    bool (*is_code)(void *context, uint64_t address);
    /* Code of this space may be Swift for Apple platforms: a frame record whose saved frame pointer
     * is tagged belongs to an async function, and the contexts behind it (async.h) replace the
     * frames of its executor. `memory` must be able to read the contexts. */
    bool swift_async;
    /* Where _sigtramp begins, which calls signal handlers on Apple platforms; 0: unknown. */
    uint64_t sigtramp;
};

struct walk_options {
    uint32_t
        skip; /* innermost frames not to store (they still count for nothing, not even the id) */
    uint32_t max_walk; /* frames walked at the most, whatever the buffer: 0 = 1,048,576 */
    void **addresses;  /* optional: bare addresses go here instead of stack->frames; those of async
                          frames are one byte higher, so that address - 1 lies inside as it does for
                          the others */
    bool exact_first;  /* the first pc is exact (a stopped thread); false: it is a return address */
};

/* Walks from `regs` (pc, sp and as many others as are known) and fills `stack`, whose frames,
 * capacity and tail the caller has set. Never fails: stack->end says how it ended. */
void walk_stack(const struct walk_space *space, const struct memory *memory,
                const struct regs *regs, const struct walk_options *options,
                struct fw_stack *stack);

/* One step with all registers: *regs becomes the caller's state. `exact` is the kind of regs' pc.
 * `method`, `signal_frame` describe the step. For tests and the oracle. */
enum unwind_status walk_step(const struct walk_space *space, const struct memory *memory,
                             bool exact, struct regs *regs, uint8_t *method, bool *signal_frame);

#endif
