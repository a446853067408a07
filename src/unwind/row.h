/*
 * The unwind row: for one place in the code, where the caller's registers are. Every unwind format
 * (DWARF CFI, ARM EXIDX, Apple compact unwind, instruction analysis, signal frames) is decoded to
 * this one type, and one function applies it (step.c). rule.h packs the common rows into 64 bits
 * for the cache.
 *
 * Meaning follows DWARF 5 section 6.4.1. A row is plain data; expressions point into the table they
 * came from, which outlives the row.
 */
#ifndef UNWIND_ROW_H
#define UNWIND_ROW_H

#include "arch/arch.h"
#include "base/reader.h"
#include "framewalk/stack.h"

enum reg_how {
    REG_UNSPECIFIED =
        0,    /* nothing said: callee-saved registers keep their value, others become unknown */
    REG_SAME, /* keeps its value */
    REG_UNDEFINED, /* lost; for the return address: this is the outermost frame */
    REG_AT_CFA,    /* saved in memory at CFA + offset */
    REG_CFA_PLUS,  /* value is CFA + offset */
    REG_IN_REG,    /* value is in register `reg`, plus offset */
    REG_AT_EXPR,   /* saved in memory at the expression's result */
    REG_VAL_EXPR,  /* value is the expression's result */
};

struct reg_row {
    uint8_t how;      /* enum reg_how */
    uint8_t reg;      /* REG_IN_REG */
    int64_t offset;   /* bytes; REG_AT_CFA, REG_CFA_PLUS, REG_IN_REG */
    struct span expr; /* DWARF expression bytes; REG_AT_EXPR, REG_VAL_EXPR */
};

enum cfa_how {
    CFA_REG = 0, /* register + offset */
    CFA_EXPR,    /* the expression's result */
};

struct unwind_row {
    uint8_t cfa_how;
    uint8_t cfa_reg;
    uint8_t ra_reg;     /* which entry of `reg` holds the rule of the return address */
    uint8_t method;     /* fw_method that frames found through this row carry */
    bool signal_frame;  /* a signal trampoline: the caller was interrupted, its address is exact */
    bool fleeting;      /* holds this time only: of code outside all images, which may change */
    bool ra_signed;     /* aarch64: the return address is signed (DW_CFA_AARCH64_negate_ra_state) */
    int64_t cfa_offset; /* bytes */
    struct span cfa_expr;
    struct reg_row reg[ARCH_MAX_REGS];
    uint64_t lo, hi; /* link-time addresses [lo, hi) for which the row holds, as far as known */
};

/* What looking for a row or stepping a frame came to. */
enum unwind_status {
    UNWIND_OK = 0,
    UNWIND_ROOT,       /* the information says: outermost frame */
    UNWIND_NO_INFO,    /* nothing covers this address: try the next source */
    UNWIND_BAD_INFO,   /* covered, but the table is broken there */
    UNWIND_BAD_MEMORY, /* a register could not be read from memory */
    UNWIND_NEEDS_REGS, /* a register that the row needs is not known */
    UNWIND_LOOP,       /* no progress */
    UNWIND_NOT_CODE,   /* the return address is not in executable memory */
};

#endif
