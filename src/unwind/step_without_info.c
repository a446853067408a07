/*
 * One frame back out of code that no table describes and whose instructions prove nothing: a jump
 * to nowhere, generated code, assembler.
 *
 * Invariant: what is found on the stack is believed only when it leads right behind a call, or, in
 * generated code, on along a chain of frame records that does.
 */
#include "unwind/step.h"

#include "unwind/sources.h"

enum { MAX_FRAME = 1 << 20 }; /* a frame record further out than this belongs to something else */

enum { CALL_BYTES = 8 };

/* The bytes before the runtime address `ra`. False when they cannot be had: unreadable, or all
 * zero, as where a file's code was left out. */
static bool bytes_before(const struct walk_space *space, const struct memory *memory, uint64_t ra,
                         uint8_t code[CALL_BYTES])
{
    static const uint8_t none[CALL_BYTES];
    const struct unwind_image *image = space->find_image(space->context, ra - 1);
    bool read = false;
    if (image && image->text.data) {
        uint64_t offset = ra - image->bias - CALL_BYTES - image->text.vaddr;
        if (offset < image->text.size && image->text.size - offset >= CALL_BYTES) {
            memcpy(code, image->text.data + offset, CALL_BYTES);
            read = true;
        }
    }
    if (!read && !memory_read(memory, ra - CALL_BYTES, code, CALL_BYTES))
        return false;
    return memcmp(code, none, CALL_BYTES) != 0;
}

/* Whether the instruction before the runtime address `ra` is a call, as far as its bytes can be
 * read. */
static bool behind_call(const struct walk_space *space, const struct memory *memory, uint64_t ra)
{
    uint8_t code[CALL_BYTES];
    if (!bytes_before(space, memory, ra, code))
        return false;

    const uint8_t *end = code + CALL_BYTES;
    uint32_t word;
    switch (space->arch->id) {
    case ARCH_X86_64:
    case ARCH_I386: /* call rel32, or ff /2 with each length of its operand */
        return end[-5] == 0xe8 || (end[-2] == 0xff && (end[-1] & 0x38) == 0x10) ||
               (end[-3] == 0xff && (end[-2] & 0xf8) == 0x50) ||
               (end[-3] == 0xff && end[-2] == 0x14) || (end[-4] == 0xff && end[-3] == 0x54) ||
               (end[-6] == 0xff && (end[-5] & 0x38) == 0x10) ||
               (end[-7] == 0xff && (end[-6] & 0xf8) == 0x90) ||
               (end[-7] == 0xff && end[-6] == 0x94);
    case ARCH_AARCH64: /* bl, blr, blraa... */
        memcpy(&word, end - 4, 4);
        return (word & 0xfc000000) == 0x94000000 || (word & 0xfefff000) == 0xd63f0000;
    case ARCH_ARM: /* bl, blx in ARM; bl, blx (4 bytes), blx reg (2 bytes) in Thumb */
        memcpy(&word, end - 4, 4);
        return (word & 0x0f000000) == 0x0b000000 || (word & 0xfe000000) == 0xfa000000 ||
               (word & 0x0ffffff0) == 0x012fff30 || (word & 0xc000f800) == 0xc000f000 ||
               ((word >> 16) & 0xff87) == 0x4780;
    default: return false;
    }
}

/* Without the code, what counts is that a function with unwind information stands there. */
static bool may_return_to(const struct walk_space *space, const struct memory *memory, uint64_t ra)
{
    uint8_t code[CALL_BYTES];
    struct unwind_row row;
    if (bytes_before(space, memory, ra, code))
        return behind_call(space, memory, ra);
    return step_find_row(space, memory, ra, false, &row) == UNWIND_OK;
}

/* Innermost frame outside of all code: a call or jump through a bad pointer. The call left its
 * return address. */
static enum unwind_status return_from_nowhere(const struct walk_space *space,
                                              const struct memory *memory, struct regs *regs)
{
    const struct arch *arch = space->arch;
    uint64_t ra, sp = regs->r[arch->sp];
    if (arch->lr != ARCH_NO_REG) {
        if (!regs_has(regs, arch->lr))
            return UNWIND_NO_INFO;
        ra = regs->r[arch->lr];
    } else {
        if (!memory_word(memory, sp, arch->register_size, &ra))
            return UNWIND_BAD_MEMORY;
        sp += arch->register_size;
    }
    ra = step_code_address(space, ra);
    if (!step_is_code(space, ra - 1) || !may_return_to(space, memory, ra))
        return UNWIND_NO_INFO;
    regs_set(regs, arch->sp, sp);
    regs_set(regs, arch->pc, ra);
    return UNWIND_OK;
}

/* Where a thread stands in a function that keeps no frame record, or has not made it yet, the
 * innermost record is its caller's, and the chain would leave the caller out. That shows: until the
 * function's first call the link register holds the return address, and later a place inside the
 * function; where calls push it, it may be on top of the stack. */
static bool is_own_record(const struct walk_space *space, const struct memory *memory,
                          const struct unwind_image *image, const struct regs *regs, uint64_t ra)
{
    const struct arch *arch = space->arch;
    struct function_range function;
    uint64_t other;
    if (arch->lr == ARCH_NO_REG)
        return !memory_word(memory, regs->r[arch->sp], arch->pointer_size, &other) || other == ra ||
               !step_is_code(space, other - 1) || !behind_call(space, memory, other);
    if (!regs_has(regs, arch->lr) ||
        !unwind_function_at(image, regs->r[arch->pc] - image->bias, &function))
        return true;
    other = step_code_address(space, regs->r[arch->lr]);
    return other == ra || (other - image->bias > function.lo && other - image->bias <= function.hi);
}

/* The nearest prologue in front of `pc` saves the frame pointer for the caller and then lets it be,
 * `push %rbp; sub $n, %rsp` (HotSpot, unless it is told to preserve frame pointers): the record
 * that the register leads to is somebody's further out. */
static bool makes_no_record(const struct walk_space *space, const struct memory *memory,
                            uint64_t pc)
{
    enum { PUSH = 0x55, REX_W = 0x48, PIECE = 256, LEAST = 8, LOOK_BACK = 4096, TAIL = 4 };
    const bool is_64 = space->arch->id == ARCH_X86_64;
    uint8_t code[PIECE + TAIL] = {0};
    unsigned size;
    if (!is_64 && space->arch->id != ARCH_I386)
        return false;
    for (uint64_t hi = pc; pc - hi < LOOK_BACK; hi -= size) {
        uint8_t behind[TAIL]; /* the first bytes of the piece before */
        memcpy(behind, code, TAIL);
        for (size = PIECE; !memory_read(memory, hi - size, code, size);) {
            size /= 2;
            if (size < LEAST)
                return false;
        }
        memcpy(code + size, behind, TAIL);
        for (unsigned i = size; i-- > 0;) {
            const uint8_t *next = code + i + 1 + is_64;
            if (code[i] != PUSH || (is_64 && next[-1] != REX_W))
                continue;
            if ((next[0] == 0x89 && next[1] == 0xe5) || (next[0] == 0x8b && next[1] == 0xec))
                return false; /* mov %rsp, %rbp */
            if ((next[0] == 0x83 || next[0] == 0x81) && next[1] == 0xec)
                return true; /* sub $n, %rsp */
        }
    }
    return false;
}

/* Interpreters of virtual machines jump to what they call, with a return address that they pushed
 * themselves (HotSpot's return entries): it stands behind no call. Then the chain has to go on, by
 * records that lead into generated code, to one that does stand behind a call. */
static bool chain_goes_on(const struct walk_space *space, const struct memory *memory, uint64_t fp,
                          uint64_t ra)
{
    enum { LOOK_AHEAD = 16 };
    const unsigned word = space->arch->register_size;
    for (unsigned i = 0; i < LOOK_AHEAD; i++) {
        uint64_t next;
        if (space->find_image(space->context, ra - 1) || !step_is_code(space, ra - 1) || !fp ||
            fp % word || !memory_word(memory, fp, word, &next) ||
            !memory_word(memory, fp + word, word, &ra))
            return false;
        next = step_frame_pointer(space, next);
        ra = step_code_address(space, ra);
        if (step_is_code(space, ra - 1) && behind_call(space, memory, ra))
            return true;
        if (next <= fp || next - fp > MAX_FRAME)
            return false;
        fp = next;
    }
    return true;
}

/* What called the code may use the frame pointer for anything else, so that it leads nowhere. Then
 * its own tables have to find its caller. */
static __attribute__((noinline)) bool leads_on(const struct walk_space *space,
                                               const struct memory *memory, struct regs caller)
{
    struct unwind_row row;
    if (step_find_row(space, memory, caller.r[space->arch->pc], false, &row) != UNWIND_OK)
        return false;
    enum unwind_status status = step_apply(space, memory, &row, false, &caller);
    const uint64_t ra = caller.r[space->arch->pc];
    return status == UNWIND_ROOT ||
           (status == UNWIND_OK && step_is_code(space, ra - 1) && behind_call(space, memory, ra));
}

static enum unwind_status by_record(const struct walk_space *space, const struct memory *memory,
                                    bool exact, struct regs *regs, uint8_t *method)
{
    const struct arch *arch = space->arch;
    unsigned word = arch->register_size;
    const struct unwind_image *macho = step_macho_at(space, regs->r[arch->pc] - !exact);
    if (exact && !step_is_code(space, regs->r[arch->pc])) {
        *method = FW_METHOD_LINK_REGISTER;
        return return_from_nowhere(space, memory, regs);
    }

    /* Outside Apple's platforms, code of ARM and Thumb keeps its frame records in different
     * registers and shapes: no chain to trust. */
    *method = FW_METHOD_FRAME_POINTER;
    uint64_t fp = regs->r[arch->fp], next_fp, ra;
    if (macho && !exact && regs_has(regs, arch->fp) && fp == 0)
        return UNWIND_ROOT; /* how threads begin */
    if (!regs_has(regs, arch->fp) || fp % word || !arch->frame_records ||
        fp - regs->r[arch->sp] > MAX_FRAME)
        return UNWIND_NO_INFO;
    if (!memory_word(memory, fp, word, &next_fp) || !memory_word(memory, fp + word, word, &ra))
        return UNWIND_NO_INFO;
    if (!space->find_image(space->context, regs->r[arch->pc] - !exact) &&
        makes_no_record(space, memory, regs->r[arch->pc]))
        return UNWIND_NO_INFO;
    ra = step_code_address(space, ra);
    next_fp = step_frame_pointer(space, next_fp);
    if (macho && exact && !is_own_record(space, memory, macho, regs, ra))
        return UNWIND_NO_INFO;
    if (macho && !exact && next_fp == 0 && !step_is_code(space, ra - 1))
        return UNWIND_ROOT;
    if (!step_is_code(space, ra - 1) ||
        (!behind_call(space, memory, ra) && !chain_goes_on(space, memory, next_fp, ra)))
        return UNWIND_NO_INFO;

    struct regs caller = {{0}, 0};
    regs_set(&caller, arch->fp, next_fp);
    regs_set(&caller, arch->sp, fp + 2 * word);
    regs_set(&caller, arch->pc, ra);
    if (next_fp && next_fp <= fp && !leads_on(space, memory, caller))
        return UNWIND_NO_INFO;
    *regs = caller;
    return UNWIND_OK;
}

/* The innermost return address on the stack leads to code that is the outermost by its own
 * instructions (the entry of the process, or a thread's that exits when its function is back):
 * every function in between would have left another one. That is how musl ends, whose own code has
 * no tables and does not return. */
static enum unwind_status to_outermost(const struct walk_space *space, const struct memory *memory,
                                       struct regs *regs, uint8_t *method)
{
    enum { MAX_WORDS = 64 };
    const struct arch *arch = space->arch;
    const unsigned word = arch->register_size;
    const uint64_t sp = regs->r[arch->sp];
    struct unwind_row row;
    uint64_t ra;
    if (arch->lr != ARCH_NO_REG)
        return UNWIND_NO_INFO;
    for (uint64_t at = sp; at - sp < MAX_WORDS * word; at += word) {
        if (!memory_word(memory, at, word, &ra))
            return UNWIND_NO_INFO;
        if (!step_is_code(space, ra - 1) || !behind_call(space, memory, ra))
            continue;
        if (step_find_row(space, memory, ra, false, &row) != UNWIND_ROOT)
            return UNWIND_NO_INFO;
        *regs = (struct regs){{0}, 0};
        regs_set(regs, arch->sp, at + word);
        regs_set(regs, arch->pc, ra);
        *method = FW_METHOD_ANALYSIS;
        return UNWIND_OK;
    }
    return UNWIND_NO_INFO;
}

enum unwind_status step_without_info(const struct walk_space *space, const struct memory *memory,
                                     bool exact, struct regs *regs, uint8_t *method)
{
    enum unwind_status status = by_record(space, memory, exact, regs, method);
    return status == UNWIND_NO_INFO ? to_outermost(space, memory, regs, method) : status;
}
