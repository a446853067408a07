/*
 * One frame back with whole register sets: find the row for a place in the code, apply it. The slow
 * half of the walker, and all of it for rows that the cache cannot hold. Async-signal-safe under
 * the terms of walk.h.
 */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include "unwind/async.h"
#include "unwind/walk.h"

/* The row for a runtime address of kind `exact`, from the first source that knows it. */
enum unwind_status step_find_row(const struct walk_space *space, const struct memory *memory,
                                 uint64_t address, bool exact, struct unwind_row *row);

/* The same for a frame whose registers are known: of a frame of _sigtramp, the row of what the
 * signal interrupted. */
enum unwind_status step_row(const struct walk_space *space, const struct memory *memory,
                            const struct regs *regs, bool exact, struct unwind_row *row);

/* Turns *regs into the caller's state. UNWIND_NEEDS_REGS when a register that CFA, return address
 * or sp depend on is unknown. `exact` is the kind of the current pc. */
enum unwind_status step_apply(const struct walk_space *space, const struct memory *memory,
                              const struct unwind_row *row, bool exact, struct regs *regs);

/* Without any row (step_without_info.c): a jump to nowhere returns through the top of the stack or
 * the link register; code outside all tables may keep frame records, or have been called by the
 * outermost function. */
enum unwind_status step_without_info(const struct walk_space *space, const struct memory *memory,
                                     bool exact, struct regs *regs, uint8_t *method);

/* Whether the runtime address lies in code, of an image or else by space->is_code. */
bool step_is_code(const struct walk_space *space, uint64_t address);

/* The Mach-O image whose code lies at the runtime address, or NULL. */
const struct unwind_image *step_macho_at(const struct walk_space *space, uint64_t address);

/* A code address without pointer-authentication and Thumb bits. */
static inline uint64_t step_code_address(const struct walk_space *space, uint64_t value)
{
    value &= space->arch->pointer_mask & ~space->pac_mask;
    return space->arch->id == ARCH_ARM ? value & ~(uint64_t)1 : value;
}

/* A frame pointer as an address: what a record or a prologue of an async function holds is tagged.
 */
static inline uint64_t step_frame_pointer(const struct walk_space *space, uint64_t value)
{
    return space->swift_async ? async_untag(value) : value;
}

#endif
