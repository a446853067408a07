/*
 * DWARF expressions as call frame information uses them (DWARF 5 sections 2.5.1 and 6.4.2): values
 * are addresses of the walked architecture, arithmetic wraps at their size.
 *
 * Invariant: the stack holds `depth` values, each already cut to the address size. Steps, depth and
 * jumps are bounded, so any bytes end. Operations that need a compilation unit, types or pieces are
 * not allowed in call frame information and are refused. Async-signal-safe.
 */
#include "unwind/row.h"
#include "unwind/sources.h"

enum {
    STACK_MAX = 64,
    STEPS_MAX = 1000,
    DWARF_AARCH64_SIGN_STATE = 34,
};

enum {
    DW_OP_addr = 0x03,
    DW_OP_deref = 0x06,
    DW_OP_const1u = 0x08,
    DW_OP_const1s = 0x09,
    DW_OP_const2u = 0x0a,
    DW_OP_const2s = 0x0b,
    DW_OP_const4u = 0x0c,
    DW_OP_const4s = 0x0d,
    DW_OP_const8u = 0x0e,
    DW_OP_const8s = 0x0f,
    DW_OP_constu = 0x10,
    DW_OP_consts = 0x11,
    DW_OP_dup = 0x12,
    DW_OP_drop = 0x13,
    DW_OP_over = 0x14,
    DW_OP_pick = 0x15,
    DW_OP_swap = 0x16,
    DW_OP_rot = 0x17,
    DW_OP_abs = 0x19,
    DW_OP_and = 0x1a,
    DW_OP_div = 0x1b,
    DW_OP_minus = 0x1c,
    DW_OP_mod = 0x1d,
    DW_OP_mul = 0x1e,
    DW_OP_neg = 0x1f,
    DW_OP_not = 0x20,
    DW_OP_or = 0x21,
    DW_OP_plus = 0x22,
    DW_OP_plus_uconst = 0x23,
    DW_OP_shl = 0x24,
    DW_OP_shr = 0x25,
    DW_OP_shra = 0x26,
    DW_OP_xor = 0x27,
    DW_OP_bra = 0x28,
    DW_OP_eq = 0x29,
    DW_OP_ge = 0x2a,
    DW_OP_gt = 0x2b,
    DW_OP_le = 0x2c,
    DW_OP_lt = 0x2d,
    DW_OP_ne = 0x2e,
    DW_OP_skip = 0x2f,
    DW_OP_lit0 = 0x30,
    DW_OP_lit31 = 0x4f,
    DW_OP_breg0 = 0x70,
    DW_OP_breg31 = 0x8f,
    DW_OP_bregx = 0x92,
    DW_OP_deref_size = 0x94,
    DW_OP_nop = 0x96,
};

struct evaluation {
    const struct arch *arch;
    const struct regs *regs;
    const struct memory *memory;
    uint64_t mask; /* bits of an address */
    struct reader r;
    enum unwind_status status; /* the first thing that went wrong */
    unsigned depth;
    uint64_t stack[STACK_MAX];
};

static void fail(struct evaluation *e, enum unwind_status status)
{
    if (e->status == UNWIND_OK)
        e->status = status;
}

static void push(struct evaluation *e, uint64_t value)
{
    if (e->depth == STACK_MAX)
        fail(e, UNWIND_BAD_INFO);
    else
        e->stack[e->depth++] = value & e->mask;
}

static uint64_t pop(struct evaluation *e)
{
    if (e->depth == 0) {
        fail(e, UNWIND_BAD_INFO);
        return 0;
    }
    return e->stack[--e->depth];
}

/* The value as a signed number of the address size. */
static int64_t as_signed(const struct evaluation *e, uint64_t value)
{
    return e->mask == UINT64_MAX ? (int64_t)value : (int32_t)(uint32_t)value;
}

static void push_register(struct evaluation *e, uint64_t dwarf, int64_t offset)
{
    uint64_t n = dwarf;
    if (e->arch->id == ARCH_AARCH64 && dwarf >= ARCH_AARCH64_SIGN_STATE)
        n = dwarf == DWARF_AARCH64_SIGN_STATE ? ARCH_AARCH64_SIGN_STATE : ARCH_NO_REG;
    if (n >= e->arch->reg_count || !regs_has(e->regs, (unsigned)n))
        fail(e, UNWIND_NEEDS_REGS);
    else
        push(e, e->regs->r[n] + (uint64_t)offset);
}

static void push_memory(struct evaluation *e, unsigned size)
{
    uint64_t address = pop(e), value = 0;
    uint8_t byte;
    uint16_t half;
    if (e->status != UNWIND_OK)
        return;
    bool read;
    switch (size) {
    case 1:
        read = memory_read(e->memory, address, &byte, 1);
        value = read ? byte : 0;
        break;
    case 2:
        read = memory_read(e->memory, address, &half, 2);
        value = read ? half : 0;
        break;
    default: read = memory_word(e->memory, address, size, &value); break;
    }
    if (read)
        push(e, value);
    else
        fail(e, UNWIND_BAD_MEMORY);
}

static void push_memory_sized(struct evaluation *e)
{
    unsigned size = reader_u8(&e->r);
    if ((size == 1 || size == 2 || size == 4 || size == 8) && size <= e->arch->pointer_size)
        push_memory(e, size);
    else
        fail(e, UNWIND_BAD_INFO);
}

static void push_copy(struct evaluation *e, unsigned index)
{
    if (index < e->depth)
        push(e, e->stack[e->depth - 1 - index]);
    else
        fail(e, UNWIND_BAD_INFO);
}

/* a b c -> c a b, where c is on top; `count` 2 swaps. */
static void rotate(struct evaluation *e, unsigned count)
{
    if (e->depth < count) {
        fail(e, UNWIND_BAD_INFO);
        return;
    }
    uint64_t *bottom = &e->stack[e->depth - count], top = bottom[count - 1];
    for (unsigned i = count - 1; i > 0; i--)
        bottom[i] = bottom[i - 1];
    bottom[0] = top;
}

static void jump(struct evaluation *e, bool taken)
{
    int16_t distance = (int16_t)reader_u16(&e->r);
    if (!taken)
        return;
    int64_t target = (int64_t)reader_offset(&e->r) + distance;
    if (target < 0)
        e->r.failed = true;
    else
        reader_seek(&e->r, (uint64_t)target);
}

/* Logical to the left or right, by any count. */
static uint64_t shifted(const struct evaluation *e, uint64_t value, uint64_t count, bool left)
{
    if (count >= e->arch->pointer_size * 8u)
        return 0;
    return left ? value << count : value >> count;
}

static uint64_t shifted_signed(const struct evaluation *e, uint64_t value, uint64_t count)
{
    int64_t number = as_signed(e, value);
    return (uint64_t)(number >> (count < 63 ? count : 63));
}

static uint64_t divide(struct evaluation *e, uint64_t a, uint64_t b)
{
    int64_t dividend = as_signed(e, a), divisor = as_signed(e, b);
    if (divisor == 0) {
        fail(e, UNWIND_BAD_INFO);
        return 0;
    }
    return divisor == -1 ? -(uint64_t)dividend : (uint64_t)(dividend / divisor);
}

/* Unlike division, this one is not said to be signed. */
static uint64_t remainder_of(struct evaluation *e, uint64_t a, uint64_t b)
{
    if (b == 0) {
        fail(e, UNWIND_BAD_INFO);
        return 0;
    }
    return a % b;
}

/* Operations of two operands: b was on top. */
static void binary(struct evaluation *e, uint8_t op)
{
    uint64_t b = pop(e), a = pop(e);
    int64_t sb = as_signed(e, b), sa = as_signed(e, a);
    switch (op) {
    case DW_OP_and: push(e, a & b); break;
    case DW_OP_div: push(e, divide(e, a, b)); break;
    case DW_OP_minus: push(e, a - b); break;
    case DW_OP_mod: push(e, remainder_of(e, a, b)); break;
    case DW_OP_mul: push(e, a * b); break;
    case DW_OP_or: push(e, a | b); break;
    case DW_OP_plus: push(e, a + b); break;
    case DW_OP_shl: push(e, shifted(e, a, b, true)); break;
    case DW_OP_shr: push(e, shifted(e, a, b, false)); break;
    case DW_OP_shra: push(e, shifted_signed(e, a, b)); break;
    case DW_OP_xor: push(e, a ^ b); break;
    case DW_OP_eq: push(e, sa == sb); break;
    case DW_OP_ge: push(e, sa >= sb); break;
    case DW_OP_gt: push(e, sa > sb); break;
    case DW_OP_le: push(e, sa <= sb); break;
    case DW_OP_lt: push(e, sa < sb); break;
    case DW_OP_ne: push(e, sa != sb); break;
    default: fail(e, UNWIND_BAD_INFO); break;
    }
}

static void unary(struct evaluation *e, uint8_t op)
{
    uint64_t a = pop(e);
    switch (op) {
    case DW_OP_abs: push(e, as_signed(e, a) < 0 ? -a : a); break;
    case DW_OP_neg: push(e, -a); break;
    case DW_OP_not: push(e, ~a); break;
    default: push(e, a + reader_uleb(&e->r)); break; /* DW_OP_plus_uconst */
    }
}

/* Constants; false when `op` is none. */
static bool constant(struct evaluation *e, uint8_t op)
{
    struct reader *r = &e->r;
    switch (op) {
    case DW_OP_addr: push(e, reader_uint(r, e->arch->pointer_size)); return true;
    case DW_OP_const1u: push(e, reader_u8(r)); return true;
    case DW_OP_const1s: push(e, (uint64_t)(int8_t)reader_u8(r)); return true;
    case DW_OP_const2u: push(e, reader_u16(r)); return true;
    case DW_OP_const2s: push(e, (uint64_t)(int16_t)reader_u16(r)); return true;
    case DW_OP_const4u: push(e, reader_u32(r)); return true;
    case DW_OP_const4s: push(e, (uint64_t)(int32_t)reader_u32(r)); return true;
    case DW_OP_const8u:
    case DW_OP_const8s: push(e, reader_u64(r)); return true;
    case DW_OP_constu: push(e, reader_uleb(r)); return true;
    case DW_OP_consts: push(e, (uint64_t)reader_sleb(r)); return true;
    default: return false;
    }
}

static void other(struct evaluation *e, uint8_t op)
{
    uint64_t reg;
    switch (op) {
    case DW_OP_nop: break;
    case DW_OP_dup: push_copy(e, 0); break;
    case DW_OP_drop: pop(e); break;
    case DW_OP_over: push_copy(e, 1); break;
    case DW_OP_pick: push_copy(e, reader_u8(&e->r)); break;
    case DW_OP_swap: rotate(e, 2); break;
    case DW_OP_rot: rotate(e, 3); break;
    case DW_OP_deref: push_memory(e, e->arch->pointer_size); break;
    case DW_OP_deref_size: push_memory_sized(e); break;
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
    case DW_OP_plus_uconst: unary(e, op); break;
    case DW_OP_skip: jump(e, true); break;
    case DW_OP_bra: jump(e, pop(e) != 0); break;
    case DW_OP_bregx:
        reg = reader_uleb(&e->r);
        push_register(e, reg, reader_sleb(&e->r));
        break;
    default: binary(e, op); break;
    }
}

static void step(struct evaluation *e)
{
    uint8_t op = reader_u8(&e->r);
    if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
        push_register(e, op - DW_OP_breg0, reader_sleb(&e->r));
    else if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
        push(e, op - DW_OP_lit0);
    else if (!constant(e, op))
        other(e, op);
    if (e->r.failed)
        fail(e, UNWIND_BAD_INFO);
}

enum unwind_status expr_eval(const struct arch *arch, struct span expr, bool push_initial,
                             uint64_t initial, const struct regs *regs, const struct memory *memory,
                             uint64_t *result)
{
    struct evaluation e; /* the stack needs no clearing */
    e.arch = arch;
    e.regs = regs;
    e.memory = memory;
    e.mask = arch->pointer_size == 8 ? UINT64_MAX : UINT32_MAX;
    e.r = reader_over(expr.data, expr.size);
    e.status = UNWIND_OK;
    e.depth = 0;
    if (push_initial)
        push(&e, initial);
    for (unsigned steps = 0; e.r.pos < e.r.end && e.status == UNWIND_OK; steps++) {
        if (steps == STEPS_MAX)
            return UNWIND_BAD_INFO;
        step(&e);
    }
    uint64_t value = pop(&e);
    if (e.status == UNWIND_OK)
        *result = value;
    return e.status;
}
