/*
 * ARM (A32) instructions for the simulation, and what both sets share.
 *
 * Specification: "Arm Architecture Reference Manual ARMv7-A and ARMv7-R", chapter A5.
 */
#include "unwind/arm_decode.h"

enum { FP = 11, SP = 13, LR = 14, PC = 15, ALWAYS = 14 };

static unsigned bits(uint32_t insn, unsigned low, unsigned count)
{
    return insn >> low & ((1u << count) - 1);
}

static const struct value unknown = {.kind = VALUE_UNKNOWN};

static struct step return_to(struct step step, struct value ra)
{
    step.flow = FLOW_RETURN;
    step.ra = ra;
    return step;
}

/* ---- shared ---- */

struct step arm_run_block(struct sim *sim, struct arm_block block, struct step step)
{
    const struct sim before = *sim;
    int64_t size = 4 * (int64_t)__builtin_popcount(block.list);
    int64_t offset = block.up ? (block.before ? 4 : 0) : (block.before ? -size : 4 - size);
    struct value base = before.reg[block.rn];
    struct value moved = sim_add(base, block.up ? size : -size);

    if (block.writeback && !(block.load && block.list >> block.rn & 1))
        sim_set(sim, block.rn, moved);
    for (unsigned i = 0; i < 16; i++) {
        if (!(block.list >> i & 1))
            continue;
        struct value address = sim_add(base, offset);
        offset += 4;
        if (!block.load)
            sim_store(sim, address, i == PC ? unknown : before.reg[i], 4);
        else if (i == PC)
            step = return_to(step, sim_load(&before, address, 4));
        else
            sim_set(sim, i, sim_load(&before, address, 4));
    }
    return step;
}

struct step arm_run_access(struct sim *sim, struct arm_access access, struct step step)
{
    const struct sim before = *sim;
    struct value base = access.rn == PC ? unknown : before.reg[access.rn];
    struct value moved = sim_add(base, access.offset);
    struct value address = access.indexed ? moved : base;

    if (access.writeback)
        sim_set(sim, access.rn, moved);
    for (unsigned i = 0; i < access.count; i++) {
        struct value at = sim_add(address, 4 * (int64_t)i);
        unsigned rt = access.rt[i];
        if (!access.load)
            sim_store(sim, at, access.whole && rt != PC ? before.reg[rt] : unknown, 4);
        else if (rt != PC)
            sim_set(sim, rt, access.whole ? sim_load(&before, at, 4) : unknown);
        else if (access.rn == SP && access.writeback && !access.indexed)
            step = return_to(step, sim_load(&before, at, 4)); /* pop {pc} */
        else
            step.flow = FLOW_INDIRECT;
    }
    return step;
}

void arm_run_coprocessor(struct sim *sim, uint32_t word)
{
    unsigned rn = bits(word, 16, 4), rt = bits(word, 12, 4);

    if (bits(word, 24, 4) == 0xe) { /* mrc, vmov to a register; cdp and mcr write none */
        if (bits(word, 4, 1) && bits(word, 20, 1) && rt != PC)
            sim_lose(sim, rt);
        return;
    }
    if (bits(word, 21, 7) == 0x62) { /* mcrr, mrrc */
        if (bits(word, 20, 1)) {
            sim_lose(sim, rt);
            sim_lose(sim, rn);
        }
        return;
    }
    bool writeback = bits(word, 21, 1), load = bits(word, 20, 1), up = bits(word, 23, 1);
    bool vfp = (bits(word, 8, 4) & 0xe) == 0xa;
    int64_t size = 4 * (int64_t)bits(word, 0, 8);
    struct value base = rn == PC ? unknown : sim->reg[rn];
    struct value moved = sim_add(base, up ? size : -size);

    if (writeback)
        sim_set(sim, rn, vfp ? moved : unknown);
    if (!load && vfp && writeback && !up)
        sim_store(sim, moved, unknown, (unsigned)size > 255 ? 255 : (unsigned)size);
}

/* ---- A32 ---- */

static uint32_t rotated_immediate(uint32_t insn)
{
    uint32_t value = bits(insn, 0, 8);
    unsigned by = 2 * bits(insn, 8, 4);
    return by ? value >> by | value << (32 - by) : value;
}

static struct step run_data(struct sim *sim, uint32_t insn, struct step step)
{
    unsigned opcode = bits(insn, 21, 4), rn = bits(insn, 16, 4), rd = bits(insn, 12, 4);
    bool immediate = bits(insn, 25, 1);
    struct value result = unknown;

    if ((opcode & 0xc) == 8) /* tst, teq, cmp, cmn */
        return step;
    if (immediate && (opcode == 2 || opcode == 4) && rn != PC) {
        int64_t amount = rotated_immediate(insn);
        result = sim_add(sim->reg[rn], opcode == 2 ? -amount : amount);
    } else if (immediate && opcode == 13 && bits(insn, 0, 12) == 0) {
        result.kind = VALUE_ZERO;
    } else if (!immediate && opcode == 13 && bits(insn, 4, 8) == 0 && bits(insn, 0, 4) != PC) {
        result = sim->reg[bits(insn, 0, 4)]; /* mov without shift */
    }
    if (rd != PC) {
        sim_set(sim, rd, result);
        if (result.kind == VALUE_ZERO && (rd == LR || rd == FP))
            sim->outermost = true;
    } else if (insn == 0xe1a0f00e) { /* mov pc, lr */
        return return_to(step, sim->reg[LR]);
    } else {
        step.flow = FLOW_INDIRECT;
    }
    return step;
}

/* Halfwords, signed loads, doublewords: bits 27..25 = 000 with bits 7 and 4 set. */
static struct step run_extra_access(struct sim *sim, uint32_t insn, struct step step)
{
    unsigned kind = bits(insn, 5, 2), rt = bits(insn, 12, 4), rn = bits(insn, 16, 4);
    bool load = bits(insn, 20, 1), immediate = bits(insn, 22, 1);
    bool pair = !load && kind >= 2;
    int64_t amount = (int64_t)(bits(insn, 8, 4) << 4 | bits(insn, 0, 4));
    struct arm_access access = {
        .rn = rn,
        .count = pair ? 2 : 1,
        .rt = {rt, rt + 1},
        .offset = bits(insn, 23, 1) ? amount : -amount,
        .load = load || kind == 2,
        .indexed = bits(insn, 24, 1),
        .writeback = !bits(insn, 24, 1) || bits(insn, 21, 1),
        .whole = pair,
    };
    if (pair && rt >= LR) {
        step.flow = FLOW_STOP;
        return step;
    }
    if (immediate)
        return arm_run_access(sim, access, step);
    if (access.writeback)
        sim_lose(sim, rn);
    for (unsigned i = 0; access.load && i < access.count; i++)
        sim_lose(sim, access.rt[i]);
    return step;
}

/* Bits 27..25 = 000: register forms, and the exceptions squeezed in between. */
static struct step run_register(struct sim *sim, uint32_t insn, struct step step)
{
    if ((insn & 0x0fffffd0) == 0x012fff10) { /* bx, blx */
        unsigned rm = bits(insn, 0, 4);
        if (bits(insn, 5, 1))
            step.flow = FLOW_CALL;
        else if (rm == LR)
            return return_to(step, sim->reg[LR]);
        else
            step.flow = FLOW_INDIRECT;
        return step;
    }
    if ((insn & 0x90) == 0x90) {
        if (insn & 0x60)
            return run_extra_access(sim, insn, step);
        sim_lose(sim, bits(insn, 16, 4)); /* multiplications, exclusive accesses, swp */
        sim_lose(sim, bits(insn, 12, 4));
        if (bits(insn, 23, 5) == 3) /* ldrexd */
            sim_lose(sim, bits(insn, 12, 4) + 1);
        return step;
    }
    if ((insn & 0x01900000) == 0x01000000) { /* miscellaneous: mrs, msr, clz, smul.., bkpt */
        if (bits(insn, 4, 4) == 7) {
            step.flow = FLOW_STOP;
            return step;
        }
        sim_lose(sim, bits(insn, 12, 4));
        if (bits(insn, 7, 1))
            sim_lose(sim, bits(insn, 16, 4));
        return step;
    }
    return run_data(sim, insn, step);
}

static struct step run_immediate(struct sim *sim, uint32_t insn, struct step step)
{
    if ((insn & 0x0fb00000) == 0x03000000) { /* movw, movt */
        sim_lose(sim, bits(insn, 12, 4));
        return step;
    }
    if ((insn & 0x0fb00000) == 0x03200000) /* hints, msr */
        return step;
    return run_data(sim, insn, step);
}

static struct step run_access(struct sim *sim, uint32_t insn, struct step step)
{
    unsigned rn = bits(insn, 16, 4), rt = bits(insn, 12, 4);
    bool load = bits(insn, 20, 1), indexed = bits(insn, 24, 1);
    bool writeback = !indexed || bits(insn, 21, 1);

    if (!bits(insn, 25, 1)) {
        int64_t amount = bits(insn, 0, 12);
        struct arm_access access = {
            .rn = rn,
            .count = 1,
            .rt = {rt},
            .offset = bits(insn, 23, 1) ? amount : -amount,
            .load = load,
            .indexed = indexed,
            .writeback = writeback,
            .whole = !bits(insn, 22, 1),
        };
        return arm_run_access(sim, access, step);
    }
    if (writeback)
        sim_lose(sim, rn);
    if (load && rt == PC)
        step.flow = FLOW_INDIRECT;
    else if (load)
        sim_lose(sim, rt);
    return step;
}

/* Condition field 1111: a space of its own. */
static struct step run_unconditional(struct sim *sim, uint32_t insn, struct step step)
{
    switch (bits(insn, 25, 3)) {
    case 1: return step; /* vector data processing */
    case 2:              /* vector element and structure access; pld */
        if (!bits(insn, 20, 1) && !bits(insn, 24, 1) && bits(insn, 0, 4) != PC)
            sim_lose(sim, bits(insn, 16, 4));
        return step;
    case 3: return step; /* pld */
    case 5: step.flow = FLOW_CALL; return step;
    case 6:
    case 7:
        if (bits(insn, 24, 4) != 0xf) {
            arm_run_coprocessor(sim, insn);
            return step;
        }
        break;
    default: break;
    }
    step.flow = FLOW_STOP; /* rfe, srs, cps, setend, unallocated */
    return step;
}

static struct step run_always(struct sim *sim, uint32_t insn, uint64_t at, struct step step)
{
    switch (bits(insn, 25, 3)) {
    case 0: return run_register(sim, insn, step);
    case 1: return run_immediate(sim, insn, step);
    case 2: return run_access(sim, insn, step);
    case 3:
        if (!bits(insn, 4, 1))
            return run_access(sim, insn, step);
        if ((insn & 0x0ff000f0) == 0x07f000f0) { /* udf */
            step.flow = FLOW_STOP;
            return step;
        }
        sim_lose(sim, bits(insn, 12, 4)); /* media: one of the two is the destination */
        sim_lose(sim, bits(insn, 16, 4));
        return step;
    case 4: {
        struct arm_block block = {
            .rn = bits(insn, 16, 4),
            .list = bits(insn, 0, 16),
            .load = bits(insn, 20, 1),
            .up = bits(insn, 23, 1),
            .before = bits(insn, 24, 1),
            .writeback = bits(insn, 21, 1),
        };
        if (bits(insn, 22, 1) || block.rn == PC || block.list == 0) {
            step.flow = FLOW_STOP; /* user registers, exception return */
            return step;
        }
        return arm_run_block(sim, block, step);
    }
    case 5:
        step.flow = bits(insn, 24, 1) ? FLOW_CALL : FLOW_JUMP;
        step.target = at + 8 + (uint64_t)((int64_t)((int32_t)(insn << 8) >> 6));
        return step;
    default:
        if (bits(insn, 24, 4) == 0xf)
            sim_lose(sim, 0); /* svc: the kernel answers in r0 */
        else
            arm_run_coprocessor(sim, insn);
        return step;
    }
}

struct step arm_run(const struct unwind_image *image, uint64_t at, struct sim *sim)
{
    struct reader r = simulate_code(image, at);
    uint32_t insn = reader_u32(&r);
    struct step step = {.flow = FLOW_NEXT, .size = r.failed || at & 3 ? 0 : 4};

    if (step.size == 0)
        return step;
    if (insn >> 16 == 0) { /* andeq r0, r0: a small number in a literal pool */
        step.flow = FLOW_STOP;
        return step;
    }
    step.padding = insn == 0xe320f000 || insn == 0xe1a00000; /* nop; mov r0, r0 */
    if (insn >> 28 == 15)
        return run_unconditional(sim, insn, step);
    if (insn >> 28 == ALWAYS)
        return run_always(sim, insn, at, step);

    /* Conditional: what it writes may or may not have happened. */
    struct sim taken = *sim;
    step = run_always(&taken, insn, at, step);
    switch (step.flow) {
    case FLOW_JUMP: step.flow = FLOW_BRANCH; break;
    case FLOW_RETURN:
    case FLOW_INDIRECT:
    case FLOW_STOP: step.flow = FLOW_NEXT; break; /* this path is the one where it did not */
    default: sim_meet(sim, &taken); break;
    }
    return step;
}
