/*
 * The row program: runs call frame instructions (DWARF 5 section 6.4.2, and the vendor extensions
 * of GNU, MIPS and "DWARF for the Arm 64-bit Architecture" section 5) up to the row in force at an
 * address.
 *
 * Rows are kept in a compact form while the program runs, so that the remembered ones fit a small
 * stack; struct unwind_row is filled once, at the end. Invariant: a cell is only read when its bit
 * in `set` is 1, and then holds one of the meanings below. Async-signal-safe.
 */
#include "unwind/cfi.h"

enum {
    REMEMBERED_MAX = 8, /* compilers nest once or twice */
    DWARF_AARCH64_SIGN_STATE = 34,
};

enum { /* internal; beyond enum cfa_how */
       CFA_UNSET = 255,
};

enum {
    DW_CFA_nop = 0x00,
    DW_CFA_set_loc = 0x01,
    DW_CFA_advance_loc1 = 0x02,
    DW_CFA_advance_loc2 = 0x03,
    DW_CFA_advance_loc4 = 0x04,
    DW_CFA_offset_extended = 0x05,
    DW_CFA_restore_extended = 0x06,
    DW_CFA_undefined = 0x07,
    DW_CFA_same_value = 0x08,
    DW_CFA_register = 0x09,
    DW_CFA_remember_state = 0x0a,
    DW_CFA_restore_state = 0x0b,
    DW_CFA_def_cfa = 0x0c,
    DW_CFA_def_cfa_register = 0x0d,
    DW_CFA_def_cfa_offset = 0x0e,
    DW_CFA_def_cfa_expression = 0x0f,
    DW_CFA_expression = 0x10,
    DW_CFA_offset_extended_sf = 0x11,
    DW_CFA_def_cfa_sf = 0x12,
    DW_CFA_def_cfa_offset_sf = 0x13,
    DW_CFA_val_offset = 0x14,
    DW_CFA_val_offset_sf = 0x15,
    DW_CFA_val_expression = 0x16,
    DW_CFA_MIPS_advance_loc8 = 0x1d,
    DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
    DW_CFA_AARCH64_negate_ra_state = 0x2d, /* DW_CFA_GNU_window_save elsewhere */
    DW_CFA_GNU_args_size = 0x2e,
    DW_CFA_GNU_negative_offset_extended = 0x2f,

    DW_CFA_advance_loc = 0x40, /* these three carry an operand in the low six bits */
    DW_CFA_offset = 0x80,
    DW_CFA_restore = 0xc0,
};

struct compact_row {
    uint64_t set; /* bit per register: how[] and value[] hold its rule, else it is unspecified */
    int64_t cfa;  /* CFA_REG: offset; CFA_EXPR: section offset of the expression's length */
    uint8_t cfa_how, cfa_reg;
    bool ra_signed;
    uint8_t how[ARCH_MAX_REGS];
    /* REG_AT_CFA, REG_CFA_PLUS: bytes; REG_IN_REG: its number; expressions: section offset of their
     * length, as unsigned */
    int32_t value[ARCH_MAX_REGS];
};

struct machine {
    const struct cfi_table *table;
    const struct cfi_fde *fde;
    uint64_t vaddr;   /* the row in force here is wanted */
    uint64_t loc;     /* address of the current row */
    uint64_t row_end; /* first address that it does not hold for */
    bool initial;     /* the CIE's instructions are running */
    bool passed;      /* an advance went beyond vaddr: the current row is the answer */
    bool broken;
    unsigned remembered;
    struct compact_row row, first; /* `first`: as the CIE left it */
    struct compact_row stack[REMEMBERED_MAX];
};

/* Index in a row of a DWARF register number; ARCH_NO_REG when it is not tracked. */
static unsigned row_index(const struct cfi_table *table, uint64_t dwarf)
{
    const struct arch *arch = table->arch;
    if (table->swapped_numbers && (dwarf == arch->sp || dwarf == arch->fp))
        return dwarf == arch->sp ? arch->fp : arch->sp;
    if (arch->id == ARCH_AARCH64 && dwarf >= ARCH_AARCH64_SIGN_STATE)
        return dwarf == DWARF_AARCH64_SIGN_STATE ? ARCH_AARCH64_SIGN_STATE : ARCH_NO_REG;
    return dwarf < arch->reg_count ? (unsigned)dwarf : ARCH_NO_REG;
}

static void set_rule(struct machine *m, uint64_t dwarf, enum reg_how how, int64_t value)
{
    unsigned n = row_index(m->table, dwarf);
    if (n == ARCH_NO_REG)
        return;
    if (value < INT32_MIN || value > INT32_MAX) {
        m->broken = true;
        return;
    }
    m->row.set |= (uint64_t)1 << n;
    m->row.how[n] = (uint8_t)how;
    m->row.value[n] = (int32_t)value;
}

/* factored * data_align, which must not overflow */
static int64_t scaled(struct machine *m, int64_t factored)
{
    int64_t value;
    if (__builtin_mul_overflow(factored, m->fde->cie.data_align, &value)) {
        m->broken = true;
        return 0;
    }
    return value;
}

static int64_t scaled_unsigned(struct machine *m, uint64_t factored)
{
    if (factored > INT64_MAX) {
        m->broken = true;
        return 0;
    }
    return scaled(m, (int64_t)factored);
}

/* Saved below the CFA by that many bytes. */
static void set_rule_negative(struct machine *m, uint64_t dwarf, int64_t bytes)
{
    if (bytes < -INT64_MAX)
        m->broken = true;
    else
        set_rule(m, dwarf, REG_AT_CFA, -bytes);
}

static void set_rule_in_register(struct machine *m, uint64_t dwarf, uint64_t source)
{
    unsigned n = row_index(m->table, source);
    if (n != ARCH_NO_REG)
        set_rule(m, dwarf, REG_IN_REG, n);
    else if (dwarf == m->fde->cie.return_column)
        m->broken = true; /* its value exists, but is out of reach: not an outermost frame */
    else
        set_rule(m, dwarf, REG_UNDEFINED, 0);
}

/* Skips an expression and gives the section offset of its length. */
static uint64_t take_expression(struct machine *m, struct reader *r)
{
    uint64_t offset = reader_offset(r);
    reader_skip(r, reader_uleb(r));
    if (offset > UINT32_MAX)
        m->broken = true;
    return offset;
}

static void set_rule_expression(struct machine *m, struct reader *r, enum reg_how how)
{
    uint64_t dwarf = reader_uleb(r);
    set_rule(m, dwarf, how, (int32_t)(uint32_t)take_expression(m, r));
}

static struct span expression_at(const struct machine *m, uint64_t offset)
{
    const struct unwind_section *section = m->table->section;
    struct reader r = reader_at(section->data, section->size, offset);
    uint64_t size = reader_uleb(&r);
    return (struct span){r.pos, (size_t)size};
}

static void restore_rule(struct machine *m, uint64_t dwarf)
{
    unsigned n = row_index(m->table, dwarf);
    if (n == ARCH_NO_REG)
        return;
    if (n == ARCH_AARCH64_SIGN_STATE)
        m->row.ra_signed = m->first.ra_signed;
    uint64_t bit = (uint64_t)1 << n;
    if (m->first.set & bit) {
        m->row.set |= bit;
        m->row.how[n] = m->first.how[n];
        m->row.value[n] = m->first.value[n];
    } else {
        m->row.set &= ~bit;
    }
}

static void set_cfa_offset(struct machine *m, int64_t offset)
{
    if (m->row.cfa_how != CFA_REG)
        m->broken = true;
    m->row.cfa = offset;
}

static void set_cfa_register(struct machine *m, uint64_t dwarf)
{
    if (m->row.cfa_how != CFA_REG)
        m->broken = true;
    m->row.cfa_reg = (uint8_t)row_index(m->table, dwarf);
}

static void set_cfa(struct machine *m, uint64_t dwarf, int64_t offset)
{
    m->row.cfa_how = CFA_REG;
    set_cfa_register(m, dwarf);
    m->row.cfa = offset;
}

static void set_cfa_expression(struct machine *m, struct reader *r)
{
    m->row.cfa_how = CFA_EXPR;
    m->row.cfa = (int64_t)take_expression(m, r);
}

static void remember(struct machine *m)
{
    if (m->remembered == REMEMBERED_MAX)
        m->broken = true;
    else
        m->stack[m->remembered++] = m->row;
}

static void restore_remembered(struct machine *m)
{
    if (m->remembered == 0)
        m->broken = true;
    else
        m->row = m->stack[--m->remembered];
}

static void toggle_signing(struct machine *m)
{
    if (m->table->arch->id == ARCH_AARCH64)
        m->row.ra_signed = !m->row.ra_signed;
    else
        m->broken = true; /* SPARC's register windows */
}

/* The next row begins at `loc`. Rows only go forward, and only in an FDE. */
static void advance_to(struct machine *m, uint64_t loc)
{
    if (m->initial || loc < m->loc) {
        m->broken = true;
    } else if (loc > m->vaddr) {
        m->row_end = loc < m->row_end ? loc : m->row_end;
        m->passed = true;
    } else {
        m->loc = loc;
    }
}

static void advance_by(struct machine *m, uint64_t delta)
{
    uint64_t bytes, loc;
    if (__builtin_mul_overflow(delta, m->fde->cie.code_align, &bytes) ||
        __builtin_add_overflow(m->loc, bytes, &loc))
        m->broken = true;
    else
        advance_to(m, loc);
}

static void set_location(struct machine *m, struct reader *r)
{
    uint64_t loc;
    if (cfi_pointer(m->table, r, m->fde->cie.fde_encoding, m->fde->cie.address_size, &loc))
        advance_to(m, m->table->arch->id == ARCH_ARM ? loc & ~(uint64_t)1 : loc);
}

/* The instructions without an operand in the opcode, that do not define the CFA. */
static void run_register_rule(struct machine *m, uint8_t opcode, struct reader *r)
{
    uint64_t reg;
    switch (opcode) {
    case DW_CFA_offset_extended:
        reg = reader_uleb(r);
        set_rule(m, reg, REG_AT_CFA, scaled_unsigned(m, reader_uleb(r)));
        break;
    case DW_CFA_offset_extended_sf:
        reg = reader_uleb(r);
        set_rule(m, reg, REG_AT_CFA, scaled(m, reader_sleb(r)));
        break;
    case DW_CFA_GNU_negative_offset_extended:
        reg = reader_uleb(r);
        set_rule_negative(m, reg, scaled_unsigned(m, reader_uleb(r)));
        break;
    case DW_CFA_val_offset:
        reg = reader_uleb(r);
        set_rule(m, reg, REG_CFA_PLUS, scaled_unsigned(m, reader_uleb(r)));
        break;
    case DW_CFA_val_offset_sf:
        reg = reader_uleb(r);
        set_rule(m, reg, REG_CFA_PLUS, scaled(m, reader_sleb(r)));
        break;
    case DW_CFA_register:
        reg = reader_uleb(r);
        set_rule_in_register(m, reg, reader_uleb(r));
        break;
    case DW_CFA_restore_extended: restore_rule(m, reader_uleb(r)); break;
    case DW_CFA_undefined: set_rule(m, reader_uleb(r), REG_UNDEFINED, 0); break;
    case DW_CFA_same_value: set_rule(m, reader_uleb(r), REG_SAME, 0); break;
    case DW_CFA_expression: set_rule_expression(m, r, REG_AT_EXPR); break;
    case DW_CFA_val_expression: set_rule_expression(m, r, REG_VAL_EXPR); break;
    default: m->broken = true; break;
    }
}

static void run_other(struct machine *m, uint8_t opcode, struct reader *r)
{
    uint64_t reg;
    switch (opcode) {
    case DW_CFA_nop: break;
    case DW_CFA_set_loc: set_location(m, r); break;
    case DW_CFA_advance_loc1: advance_by(m, reader_u8(r)); break;
    case DW_CFA_advance_loc2: advance_by(m, reader_u16(r)); break;
    case DW_CFA_advance_loc4: advance_by(m, reader_u32(r)); break;
    case DW_CFA_MIPS_advance_loc8: advance_by(m, reader_u64(r)); break;
    case DW_CFA_def_cfa:
        reg = reader_uleb(r);
        set_cfa(m, reg, (int64_t)reader_uleb(r));
        break;
    case DW_CFA_def_cfa_sf:
        reg = reader_uleb(r);
        set_cfa(m, reg, scaled(m, reader_sleb(r)));
        break;
    case DW_CFA_def_cfa_register: set_cfa_register(m, reader_uleb(r)); break;
    case DW_CFA_def_cfa_offset: set_cfa_offset(m, (int64_t)reader_uleb(r)); break;
    case DW_CFA_def_cfa_offset_sf: set_cfa_offset(m, scaled(m, reader_sleb(r))); break;
    case DW_CFA_def_cfa_expression: set_cfa_expression(m, r); break;
    case DW_CFA_remember_state: remember(m); break;
    case DW_CFA_restore_state: restore_remembered(m); break;
    case DW_CFA_AARCH64_negate_ra_state:
    case DW_CFA_AARCH64_negate_ra_state_with_pc: toggle_signing(m); break;
    case DW_CFA_GNU_args_size: reader_uleb(r); break;
    default: run_register_rule(m, opcode, r); break;
    }
}

/* Runs until the program ends or goes beyond vaddr; false when it is broken. */
static bool run(struct machine *m, struct reader r)
{
    while (r.pos < r.end && !m->passed && !m->broken && !r.failed) {
        uint8_t opcode = reader_u8(&r);
        uint8_t operand = opcode & 0x3f;
        switch (opcode & 0xc0) {
        case DW_CFA_advance_loc: advance_by(m, operand); break;
        case DW_CFA_offset:
            set_rule(m, operand, REG_AT_CFA, scaled_unsigned(m, reader_uleb(&r)));
            break;
        case DW_CFA_restore: restore_rule(m, operand); break;
        default: run_other(m, opcode, &r); break;
        }
    }
    return !m->broken && !r.failed;
}

static void fill_rule(const struct machine *m, unsigned n, struct reg_row *rule)
{
    int32_t value = m->row.value[n];
    rule->how = m->row.how[n];
    switch (rule->how) {
    case REG_AT_CFA:
    case REG_CFA_PLUS: rule->offset = value; break;
    case REG_IN_REG: rule->reg = (uint8_t)value; break;
    case REG_AT_EXPR:
    case REG_VAL_EXPR: rule->expr = expression_at(m, (uint32_t)value); break;
    default: break;
    }
}

static enum unwind_status fill(const struct machine *m, struct unwind_row *row)
{
    unsigned ra = row_index(m->table, m->fde->cie.return_column);
    bool by_register = m->row.cfa_how == CFA_REG;
    if (ra == ARCH_NO_REG || m->row.cfa_how == CFA_UNSET ||
        (by_register && m->row.cfa_reg == ARCH_NO_REG))
        return UNWIND_BAD_INFO;
    memset(row, 0, sizeof *row);
    row->cfa_how = m->row.cfa_how;
    row->ra_reg = (uint8_t)ra;
    row->method = m->table->debug_frame ? FW_METHOD_DEBUG_FRAME : FW_METHOD_CFI;
    row->signal_frame = m->fde->cie.signal_frame;
    row->ra_signed = m->row.ra_signed;
    row->lo = m->loc;
    row->hi = m->row_end;
    if (by_register) {
        row->cfa_reg = m->row.cfa_reg;
        row->cfa_offset = m->row.cfa;
    } else {
        row->cfa_expr = expression_at(m, (uint64_t)m->row.cfa);
    }
    for (uint64_t set = m->row.set; set; set &= set - 1) {
        unsigned n = (unsigned)__builtin_ctzll(set);
        fill_rule(m, n, &row->reg[n]);
    }
    return UNWIND_OK;
}

enum unwind_status cfi_row_at(const struct cfi_table *table, const struct cfi_fde *fde,
                              uint64_t vaddr, struct unwind_row *row)
{
    struct machine m; /* members are set one by one: the remembered rows need no clearing */
    m.table = table;
    m.fde = fde;
    m.vaddr = vaddr;
    m.loc = fde->lo;
    m.row_end = fde->hi;
    m.initial = true;
    m.passed = m.broken = false;
    m.remembered = 0;
    m.row.set = m.first.set = 0;
    m.row.cfa = 0;
    m.row.cfa_how = CFA_UNSET;
    m.row.cfa_reg = ARCH_NO_REG;
    m.row.ra_signed = m.first.ra_signed = false;
    if (!run(&m, fde->cie.program))
        return UNWIND_BAD_INFO;
    m.first = m.row;
    m.initial = false;
    m.remembered = 0;
    if (!run(&m, fde->program))
        return UNWIND_BAD_INFO;
    return fill(&m, row);
}
