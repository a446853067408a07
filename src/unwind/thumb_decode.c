/*
 * Thumb and Thumb-2 (T32) instructions for the simulation.
 *
 * Specification: "Arm Architecture Reference Manual ARMv7-A and ARMv7-R", chapter A6.
 */
#include "unwind/arm_decode.h"

enum { FP = 11, SP = 13, LR = 14, PC = 15 };

static const struct value unknown = {.kind = VALUE_UNKNOWN};

static unsigned bits(uint32_t insn, unsigned low, unsigned count)
{
    return insn >> low & ((1u << count) - 1);
}

static struct step with_flow(struct step step, enum flow flow)
{
    step.flow = flow;
    return step;
}

static struct step jump(struct step step, enum flow flow, uint64_t at, int64_t offset)
{
    step.flow = flow;
    step.target = at + 4 + (uint64_t)offset;
    return step;
}

static void set_result(struct sim *sim, unsigned rd, struct value value)
{
    sim_set(sim, rd, value);
    if (value.kind == VALUE_ZERO && (rd == LR || rd == FP))
        sim->outermost = true;
}

/* ---- 16 bits ---- */

static void run_low_immediate(struct sim *sim, uint32_t insn)
{
    unsigned rd = bits(insn, 8, 3);
    int64_t amount = bits(insn, 0, 8);
    switch (bits(insn, 11, 5)) {
    case 4: set_result(sim, rd, amount ? unknown : (struct value){.kind = VALUE_ZERO}); break;
    case 5: break; /* cmp */
    case 6: sim_set(sim, rd, sim_add(sim->reg[rd], amount)); break;
    case 7: sim_set(sim, rd, sim_add(sim->reg[rd], -amount)); break;
    default: sim_lose(sim, bits(insn, 0, 3)); /* shifts, three-operand add and sub */
    }
}

/* 010000 .. 010001: data processing on low registers; add, cmp, mov, bx with high ones. */
static struct step run_register(struct sim *sim, uint32_t insn, struct step step)
{
    unsigned rd = bits(insn, 0, 3) | bits(insn, 7, 1) << 3, rm = bits(insn, 3, 4);

    if (insn < 0x4400) {
        unsigned op = bits(insn, 6, 4);
        if (op != 8 && op != 10 && op != 11) /* tst, cmp, cmn */
            sim_lose(sim, bits(insn, 0, 3));
        return step;
    }
    switch (bits(insn, 8, 2)) {
    case 0: sim_lose(sim, rd); return rd == PC ? with_flow(step, FLOW_INDIRECT) : step;
    case 1: return step;
    case 2:
        if (rd == PC) {
            step.ra = sim->reg[LR];
            return with_flow(step, rm == LR ? FLOW_RETURN : FLOW_INDIRECT);
        }
        set_result(sim, rd, sim->reg[rm]);
        return step;
    default:
        if (bits(insn, 7, 1))
            return with_flow(step, FLOW_CALL);
        step.ra = sim->reg[LR];
        return with_flow(step, rm == LR ? FLOW_RETURN : FLOW_INDIRECT);
    }
}

/* 01001 .. 1001x: loads and stores. */
static struct step run_access(struct sim *sim, uint32_t insn, struct step step)
{
    unsigned rt = bits(insn, 0, 3), group = bits(insn, 12, 4);

    if (insn < 0x5000) { /* literal */
        sim_lose(sim, bits(insn, 8, 3));
        return step;
    }
    if (group == 5) { /* register offset */
        if (bits(insn, 9, 3) >= 3)
            sim_lose(sim, rt);
        return step;
    }
    struct arm_access access = {
        .rn = group == 9 ? SP : bits(insn, 3, 3),
        .count = 1,
        .rt = {group == 9 ? bits(insn, 8, 3) : rt},
        .offset = group == 9 ? 4 * (int64_t)bits(insn, 0, 8) : 4 * (int64_t)bits(insn, 6, 5),
        .load = bits(insn, 11, 1),
        .indexed = true,
        .whole = group == 6 || group == 9,
    };
    if (group == 7 || group == 8)
        access.offset /= group == 7 ? 4 : 2;
    return arm_run_access(sim, access, step);
}

/* 1011xxxx: stack adjustment, push, pop, compare and branch, IT, hints. */
static struct step run_miscellaneous(struct sim *sim, uint32_t insn, uint64_t at, struct step step)
{
    struct arm_block block = {
        .rn = SP, .list = bits(insn, 0, 8), .load = bits(insn, 11, 1), .writeback = true};

    switch (bits(insn, 8, 4)) {
    case 0x0: {
        int64_t amount = 4 * (int64_t)bits(insn, 0, 7);
        sim_set(sim, SP, sim_add(sim->reg[SP], bits(insn, 7, 1) ? -amount : amount));
        return step;
    }
    case 0x1:
    case 0x3:
    case 0x9:
    case 0xb: /* cbz, cbnz */
        return jump(step, FLOW_BRANCH, at,
                    (int64_t)(bits(insn, 9, 1) << 6 | bits(insn, 3, 5) << 1));
    case 0x2: /* extend */
    case 0xa: /* byte reverse */ sim_lose(sim, bits(insn, 0, 3)); return step;
    case 0x4:
    case 0x5:
        block.list |= bits(insn, 8, 1) << LR;
        block.before = true;
        break;
    case 0xc:
    case 0xd:
        block.list |= bits(insn, 8, 1) << PC;
        block.up = true;
        break;
    case 0x6: return step; /* setend, cps */
    case 0xf:
        if (bits(insn, 0, 4)) /* the mask's lowest set bit ends the block */
            sim->in_it = (uint8_t)(4 - __builtin_ctz(insn & 0xf));
        return step;
    default: return with_flow(step, FLOW_STOP); /* bkpt, unallocated */
    }
    return block.list ? arm_run_block(sim, block, step) : with_flow(step, FLOW_STOP);
}

static struct step run_narrow(struct sim *sim, uint32_t insn, uint64_t at, struct step step)
{
    switch (bits(insn, 12, 4)) {
    case 0x0:
    case 0x1:
    case 0x2:
    case 0x3: run_low_immediate(sim, insn); return step;
    case 0x4: return insn < 0x4800 ? run_register(sim, insn, step) : run_access(sim, insn, step);
    case 0x5:
    case 0x6:
    case 0x7:
    case 0x8:
    case 0x9: return run_access(sim, insn, step);
    case 0xa: {
        int64_t amount = 4 * (int64_t)bits(insn, 0, 8); /* adr; add rd, sp, #n */
        sim_set(sim, bits(insn, 8, 3), bits(insn, 11, 1) ? sim_add(sim->reg[SP], amount) : unknown);
        return step;
    }
    case 0xb: return run_miscellaneous(sim, insn, at, step);
    case 0xc: {
        unsigned rn = bits(insn, 8, 3);
        struct arm_block block = {
            .rn = rn,
            .list = bits(insn, 0, 8),
            .load = bits(insn, 11, 1),
            .up = true,
            .writeback = true,
        };
        return block.list ? arm_run_block(sim, block, step) : with_flow(step, FLOW_STOP);
    }
    case 0xd:
        if (bits(insn, 8, 4) == 0xe)
            return with_flow(step, FLOW_STOP); /* udf */
        if (bits(insn, 8, 4) == 0xf) {
            sim_lose(sim, 0); /* svc: the kernel answers in r0 */
            return step;
        }
        return jump(step, FLOW_BRANCH, at, (int64_t)(int8_t)bits(insn, 0, 8) * 2);
    default: /* 0xe: b; the others are wide */
        return jump(step, FLOW_JUMP, at, (int64_t)((int32_t)(insn << 21) >> 20));
    }
}

/* ---- 32 bits: `insn` is first halfword << 16 | second ---- */

/* 1110100: load and store multiple, doubleword, exclusive, table branch. */
static struct step run_wide_multiple(struct sim *sim, uint32_t insn, struct step step)
{
    unsigned rn = bits(insn, 16, 4);
    bool load = bits(insn, 20, 1), writeback = bits(insn, 21, 1);

    if (!bits(insn, 22, 1)) {
        struct arm_block block = {
            .rn = rn,
            .list = bits(insn, 0, 16),
            .load = load,
            .up = bits(insn, 23, 1),
            .before = bits(insn, 24, 1),
            .writeback = writeback,
        };
        bool ordinary = block.up != block.before; /* ia or db; the others are rfe and srs */
        if (!ordinary || rn == PC || block.list == 0)
            return with_flow(step, FLOW_STOP);
        return arm_run_block(sim, block, step);
    }
    if (!bits(insn, 24, 1) && !writeback) {
        if (bits(insn, 4, 4) <= 1 && bits(insn, 23, 1) && load)
            return with_flow(step, FLOW_INDIRECT); /* tbb, tbh */
        sim_lose(sim, bits(insn, 12, 4));
        sim_lose(sim, bits(insn, 8, 4));
        sim_lose(sim, bits(insn, 0, 4));
        return step;
    }
    int64_t amount = 4 * (int64_t)bits(insn, 0, 8);
    struct arm_access access = {
        .rn = rn,
        .count = 2,
        .rt = {bits(insn, 12, 4), bits(insn, 8, 4)},
        .offset = bits(insn, 23, 1) ? amount : -amount,
        .load = load,
        .indexed = bits(insn, 24, 1),
        .writeback = writeback,
        .whole = true,
    };
    return arm_run_access(sim, access, step);
}

/* The constant that twelve bits i:imm3:imm8 of a modified immediate stand for. */
static uint32_t modified_immediate(uint32_t insn)
{
    unsigned code = bits(insn, 26, 1) << 11 | bits(insn, 12, 3) << 8 | bits(insn, 0, 8);
    uint32_t byte = code & 0xff;
    if (code >> 10 == 0) {
        switch (code >> 8 & 3) {
        case 0: return byte;
        case 1: return byte << 16 | byte;
        case 2: return byte << 24 | byte << 8;
        default: return byte * 0x01010101u;
        }
    }
    unsigned by = code >> 7;
    uint32_t value = 0x80 | (code & 0x7f);
    return value >> by | value << (32 - by);
}

static void run_wide_immediate(struct sim *sim, uint32_t insn)
{
    unsigned rd = bits(insn, 8, 4), rn = bits(insn, 16, 4), op = bits(insn, 21, 4);
    bool plain = bits(insn, 25, 1);
    int64_t amount =
        plain ? (int64_t)(bits(insn, 26, 1) << 11 | bits(insn, 12, 3) << 8 | bits(insn, 0, 8))
              : (int64_t)modified_immediate(insn);
    struct value result = unknown;

    if (rd == PC)
        return; /* the comparisons */
    if (rn != PC && ((plain && op == 0) || (!plain && op == 8)))
        result = sim_add(sim->reg[rn], amount);
    else if (rn != PC && ((plain && op == 5) || (!plain && op == 13)))
        result = sim_add(sim->reg[rn], -amount);
    else if (!plain && op == 2 && rn == PC && amount == 0)
        result.kind = VALUE_ZERO; /* mov.w rd, #0 */
    set_result(sim, rd, result);
}

/* 11110 with bit 15 of the second halfword: branches and miscellaneous control. */
static struct step run_wide_branch(struct sim *sim, uint32_t insn, uint64_t at, struct step step)
{
    uint32_t s = bits(insn, 26, 1), j1 = bits(insn, 13, 1), j2 = bits(insn, 11, 1);

    if (bits(insn, 14, 1)) /* bl, blx */
        return with_flow(step, FLOW_CALL);
    if (bits(insn, 12, 1)) { /* b.w */
        uint32_t i1 = !(j1 ^ s), i2 = !(j2 ^ s);
        uint32_t offset =
            s << 24 | i1 << 23 | i2 << 22 | bits(insn, 16, 10) << 12 | bits(insn, 0, 11) << 1;
        return jump(step, FLOW_JUMP, at, (int32_t)(offset << 7) >> 7);
    }
    if (bits(insn, 23, 3) != 7) { /* b<cond>.w */
        uint32_t offset =
            s << 20 | j2 << 19 | j1 << 18 | bits(insn, 16, 6) << 12 | bits(insn, 0, 11) << 1;
        return jump(step, FLOW_BRANCH, at, (int32_t)(offset << 11) >> 11);
    }
    switch (bits(insn, 20, 7)) {
    case 0x38:
    case 0x39:              /* msr */
    case 0x3a:              /* hints */
    case 0x3b: return step; /* barriers */
    case 0x3e:
    case 0x3f: sim_lose(sim, bits(insn, 8, 4)); return step; /* mrs */
    default: return with_flow(step, FLOW_STOP);              /* bxj, eret, hvc, smc, udf */
    }
}

/* 111110: load and store of one register. */
static struct step run_wide_single(struct sim *sim, uint32_t insn, struct step step)
{
    unsigned rn = bits(insn, 16, 4), rt = bits(insn, 12, 4), size = bits(insn, 21, 2);
    bool load = bits(insn, 20, 1), word = size == 2 && !bits(insn, 24, 1);
    bool plain = bits(insn, 23, 1);

    if (load && rt == PC && !word)
        return step;                                  /* pld, pli */
    if (rn == PC || (!plain && !bits(insn, 11, 1))) { /* literal, register offset */
        if (load && rt == PC)
            return with_flow(step, FLOW_INDIRECT);
        if (load)
            sim_lose(sim, rt);
        return step;
    }
    struct arm_access access = {
        .rn = rn,
        .count = 1,
        .rt = {rt},
        .offset = bits(insn, 0, 12),
        .load = load,
        .indexed = true,
        .whole = word,
    };
    if (!plain) {
        access.offset = bits(insn, 9, 1) ? bits(insn, 0, 8) : -(int64_t)bits(insn, 0, 8);
        access.indexed = bits(insn, 10, 1);
        access.writeback = bits(insn, 8, 1);
    }
    return arm_run_access(sim, access, step);
}

static struct step run_wide(struct sim *sim, uint32_t insn, uint64_t at, struct step step)
{
    switch (bits(insn, 25, 7)) {
    case 0x74: return run_wide_multiple(sim, insn, step);
    case 0x75: /* data processing, shifted register */
        if (bits(insn, 8, 4) == PC)
            return step; /* the comparisons */
        if ((insn & 0xffeff0f0) == 0xea4f0000)
            set_result(sim, bits(insn, 8, 4), sim->reg[bits(insn, 0, 4)]); /* mov.w */
        else
            sim_lose(sim, bits(insn, 8, 4));
        return step;
    case 0x76:
    case 0x77:
    case 0x7e:
    case 0x7f:
        if (bits(insn, 24, 4) != 0xf) /* 1111 there is vector data processing */
            arm_run_coprocessor(sim, insn);
        return step;
    case 0x78:
    case 0x79:
    case 0x7a:
    case 0x7b:
        if (bits(insn, 15, 1))
            return run_wide_branch(sim, insn, at, step);
        run_wide_immediate(sim, insn);
        return step;
    case 0x7c:
        if (bits(insn, 24, 1) && !bits(insn, 20, 1)) { /* vector element and structure access */
            if (bits(insn, 0, 4) != PC)
                sim_lose(sim, bits(insn, 16, 4));
            return step;
        }
        return run_wide_single(sim, insn, step);
    default: /* 0x7d: shifts, extensions, multiplications; the long ones write two */
        sim_lose(sim, bits(insn, 8, 4));
        sim_lose(sim, bits(insn, 12, 4));
        return step;
    }
}

/* add lr, rm; bx lr: gcc's jump by a table of offsets (-Os). The link register holds no return
 * address there, which nothing in bx lr itself tells. */
static bool jumps_by_table(const struct unwind_image *image, uint64_t at)
{
    struct reader r = simulate_code(image, at - 2);
    return (reader_u16(&r) & 0xff87) == 0x4486 && reader_u16(&r) == 0x4770 && !r.failed;
}

struct step thumb_run(const struct unwind_image *image, uint64_t at, struct sim *sim)
{
    struct reader r = simulate_code(image, at);
    uint32_t first = reader_u16(&r);
    bool wide = first >= 0xe800, conditional = sim->in_it != 0;
    uint32_t insn = wide ? first << 16 | reader_u16(&r) : first;
    struct step step = {.flow = FLOW_NEXT, .size = r.failed || at & 1 ? 0 : wide ? 4 : 2};
    struct sim taken;

    if (step.size == 0)
        return step;
    if (first == 0) /* movs r0, r0: half of a small number in a literal pool */
        return with_flow(step, FLOW_STOP);
    if (jumps_by_table(image, at))
        return with_flow(step, FLOW_INDIRECT);
    step.padding = insn == 0xbf00 || insn == 0xf3af8000;
    if (!conditional)
        return wide ? run_wide(sim, insn, at, step) : run_narrow(sim, insn, at, step);

    /* In an IT block: what it writes may or may not have happened. */
    sim->in_it--;
    taken = *sim;
    step = wide ? run_wide(&taken, insn, at, step) : run_narrow(&taken, insn, at, step);
    switch (step.flow) {
    case FLOW_JUMP: step.flow = FLOW_BRANCH; break;
    case FLOW_RETURN:
    case FLOW_INDIRECT:
    case FLOW_STOP: step.flow = FLOW_NEXT; break;
    default: sim_meet(sim, &taken); break;
    }
    return step;
}
