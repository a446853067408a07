/*
 * Apple's compact unwind, the parts shared by compact.c (finding the entry of an address) and
 * compact_x86.c, compact_aarch64.c, compact_arm.c (what its 32 bits say). Outside of these, use
 * sources.h.
 *
 * <mach-o/compact_unwind_encoding.h>: bits 24..27 of an encoding are its mode; the meaning of
 * modes and of the bits below is the architecture's.
 */
#ifndef UNWIND_COMPACT_H
#define UNWIND_COMPACT_H

#include "unwind/image.h"
#include "unwind/row.h"

/* A piece of code with one encoding: a function, or several neighbours that the linker folded. */
struct compact_entry {
    uint64_t lo, hi; /* link-time range [lo, hi) */
    uint32_t encoding;
};

static inline unsigned compact_mode(uint32_t encoding)
{
    return encoding >> 24 & 15;
}

/* `count` bits of the encoding from bit `low` on. */
static inline unsigned compact_bits(uint32_t encoding, unsigned low, unsigned count)
{
    return encoding >> low & ((1u << count) - 1);
}

/* The entry around an address. UNWIND_NO_INFO when none is, UNWIND_BAD_INFO when the table is
 * broken there. */
enum unwind_status compact_lookup(const struct unwind_image *image, uint64_t vaddr,
                                  struct compact_entry *entry);

/* Whether a jump from `at` to `target` is a tail call: it leads to the beginning of another
 * function, out of one that a compiler made. (Assembler may jump between labels of one function,
 * which look like functions, but has no encoding.) */
bool compact_is_tail_call(const struct unwind_image *image, uint64_t at, uint64_t target);

/* The row that an encoding stands for, in the body of its function. UNWIND_NO_INFO for mode 0,
 * which says nothing; UNWIND_BAD_INFO for what no compiler gives. Modes that refer to DWARF are
 * compact.c's business. */
enum unwind_status compact_row_x86(const struct unwind_image *image,
                                   const struct compact_entry *entry, struct unwind_row *row);
enum unwind_status compact_row_aarch64(const struct compact_entry *entry, struct unwind_row *row);
enum unwind_status compact_row_arm(const struct compact_entry *entry, struct unwind_row *row);

/* A row of this entry whose CFA is register + offset, with the return address not yet said. */
static inline struct unwind_row compact_row(const struct compact_entry *entry, unsigned cfa_reg,
                                            int64_t cfa_offset, unsigned ra_reg)
{
    return (struct unwind_row){
        .cfa_how = CFA_REG,
        .cfa_reg = (uint8_t)cfa_reg,
        .cfa_offset = cfa_offset,
        .ra_reg = (uint8_t)ra_reg,
        .method = FW_METHOD_COMPACT,
        .lo = entry->lo,
        .hi = entry->hi,
    };
}

static inline struct reg_row compact_saved(int64_t offset)
{
    return (struct reg_row){.how = REG_AT_CFA, .offset = offset};
}

#endif
