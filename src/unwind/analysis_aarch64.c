/*
 * Instruction analysis for aarch64: the decoder behind the simulation of simulate.c, and PLT stubs.
 *
 * Specification: "Arm Architecture Reference Manual for A-profile", chapter C4 (A64 instruction set
 * encoding); the PLT sequences are those of the "ELF for the Arm 64-bit Architecture" linkers.
 *
 * Invariant: for every instruction that is not FLOW_STOP, each general register that it writes is
 * either given its value or lost. Instructions of classes that are not told apart lose the register
 * in their destination field.
 */
#include "unwind/analysis.h"
#include "unwind/simulate.h"

enum { FP = 29, LR = 30, SP = 31 };

static unsigned bits(uint32_t insn, unsigned low, unsigned count)
{
    return insn >> low & ((1u << count) - 1);
}

static int64_t signed_bits(uint32_t insn, unsigned low, unsigned count)
{
    return (int64_t)((uint64_t)insn << (64 - low - count)) >> (64 - count);
}

static uint32_t insn_at(const struct unwind_image *image, uint64_t at)
{
    return at & 3 ? 0 : simulate_word(image, at); /* 0 is udf */
}

/* Register 31 is the zero register in most places: writing it does nothing. */
static void lose(struct sim *sim, unsigned reg)
{
    if (reg != 31)
        sim_lose(sim, reg);
}

static void set_zero(struct sim *sim, unsigned reg)
{
    lose(sim, reg);
    if (reg == 31)
        return;
    sim_set(sim, reg, (struct value){.kind = VALUE_ZERO});
    if (reg == LR || reg == FP)
        sim->outermost = true;
}

/* ---- data processing ---- */

/* Swift async functions set a bit of their caller's x29 before they push it and clear it after they
 * loaded it (async.h): the register stands for the same value all the time. The bit is a constant,
 * or where the function may run on systems without such frames, a symbol's in x16. */
static bool tags_frame_pointer(uint32_t insn)
{
    return insn == 0xb24403bd ||                     /* orr x29, x29, #1 << 60 */
           insn == 0x9243fbbd ||                     /* and x29, x29, #~(1 << 60) */
           (insn & ~UINT32_C(0x8000)) == 0xaa1003bd; /* orr x29, x29, x16; with lsl #32 */
}

static void run_immediate(struct sim *sim, uint32_t insn)
{
    unsigned rd = bits(insn, 0, 5), rn = bits(insn, 5, 5);

    switch (bits(insn, 23, 3)) {
    case 2: { /* add, sub; without the S bit, 31 is sp */
        bool flags = bits(insn, 29, 1), wide = bits(insn, 31, 1);
        int64_t amount = (int64_t)bits(insn, 10, 12) << (bits(insn, 22, 1) ? 12 : 0);
        struct value sum = sim_add(sim->reg[rn], bits(insn, 30, 1) ? -amount : amount);
        if (!wide)
            sum.kind = VALUE_UNKNOWN;
        if (!flags || rd != 31)
            sim_set(sim, rd, sum);
        break;
    }
    case 3: /* addg, subg: 31 is sp */
    case 4: /* logical; all but ands may write sp */
        if (bits(insn, 23, 3) == 3 || bits(insn, 29, 2) != 3)
            sim_lose(sim, rd);
        else
            lose(sim, rd);
        break;
    case 5: /* movn, movz, movk */
        if (bits(insn, 29, 2) == 2 && bits(insn, 5, 16) == 0)
            set_zero(sim, rd);
        else
            lose(sim, rd);
        break;
    default: lose(sim, rd); /* adr, adrp, bit fields, extract */
    }
}

static void run_register(struct sim *sim, uint32_t insn)
{
    unsigned rd = bits(insn, 0, 5);

    if ((insn & 0xffe0ffe0) == 0xaa0003e0) { /* mov xd, xm */
        unsigned rm = bits(insn, 16, 5);
        if (rm == 31)
            set_zero(sim, rd);
        else if (rd != 31)
            sim_set(sim, rd, sim->reg[rm]);
    } else if ((insn & 0x1fe00000) == 0x0b200000 && !bits(insn, 29, 1)) {
        sim_lose(sim, rd); /* add, sub extended: 31 is sp */
    } else if ((insn & 0xffff0000) == 0xdac10000) {
        if (rd == LR) /* pac*, aut*, xpac* on a register: the same address */
            sim->ra_signed = bits(insn, 10, 6) < 16 && !bits(insn, 12, 1);
    } else {
        lose(sim, rd);
    }
}

/* Conversions and moves from vector to general registers; the rest stays among vectors. */
static void run_vector(struct sim *sim, uint32_t insn)
{
    bool scalar_integer = (insn & 0x5f20fc00) == 0x1e200000;
    bool scalar_fixed = (insn & 0x5f200000) == 0x1e000000;
    bool element = (insn & 0xbfe08400) == 0x0e000400;
    if (scalar_integer || scalar_fixed || element)
        lose(sim, bits(insn, 0, 5));
}

/* ---- loads and stores ---- */

/* Where the access goes, with the base register written back when the mode says so. */
enum mode { MODE_PLAIN = 0, MODE_POST, MODE_OFFSET, MODE_PRE };

static struct value address_of(struct sim *sim, unsigned rn, enum mode mode, int64_t offset)
{
    struct value base = sim->reg[rn];
    struct value moved = sim_add(base, offset);
    struct value address = mode == MODE_POST ? base : moved;
    /* A store below sp that pushes: sp moves first, or the slot would count as dead. */
    if (mode == MODE_PRE || mode == MODE_POST)
        sim_set(sim, rn, moved);
    return address;
}

static void access_register(struct sim *sim, bool load, unsigned rt, struct value address,
                            unsigned size)
{
    if (!load)
        sim_store(sim, address, rt == 31 ? (struct value){.kind = VALUE_ZERO} : sim->reg[rt], size);
    else if (rt != 31)
        sim_set(sim, rt,
                size == 8 ? sim_load(sim, address, 8) : (struct value){.kind = VALUE_UNKNOWN});
}

/* A load with post-increment of sp reads its slots before sp moves past them. */
static void run_pair(struct sim *sim, uint32_t insn)
{
    unsigned opc = bits(insn, 30, 2), rt = bits(insn, 0, 5), rt2 = bits(insn, 10, 5);
    unsigned rn = bits(insn, 5, 5);
    bool vector = bits(insn, 26, 1), load = bits(insn, 22, 1);
    enum mode mode = (enum mode)bits(insn, 23, 2);
    unsigned size = vector ? 4u << opc : opc & 2 ? 8 : 4;
    if (!vector && opc == 1)
        size = load ? 4 : 16; /* ldpsw, stgp (which scales by 16) */
    int64_t offset = signed_bits(insn, 15, 7) * (int64_t)size;
    struct sim before = *sim;
    struct value address = address_of(sim, rn, mode, offset);
    struct value second = sim_add(address, size);

    if (vector || (opc == 1 && !load)) {
        if (!load)
            sim_store(sim, address, (struct value){.kind = VALUE_UNKNOWN}, 2 * size);
        return;
    }
    if (!load) {
        access_register(sim, false, rt, address, size);
        access_register(sim, false, rt2, second, size);
        return;
    }
    struct value unknown = {.kind = VALUE_UNKNOWN};
    if (rt != 31)
        sim_set(sim, rt, size == 8 ? sim_load(&before, address, 8) : unknown);
    if (rt2 != 31)
        sim_set(sim, rt2, size == 8 ? sim_load(&before, second, 8) : unknown);
}

/* Load or store of one register, bits 29..27 = 111. */
static void run_single(struct sim *sim, uint32_t insn)
{
    unsigned rt = bits(insn, 0, 5), rn = bits(insn, 5, 5), size = 1u << bits(insn, 30, 2);
    bool vector = bits(insn, 26, 1), load = bits(insn, 22, 2) != 0;
    bool prefetch = !vector && size == 8 && bits(insn, 22, 2) == 2;
    enum mode mode = MODE_OFFSET;
    int64_t offset = 0;

    if (vector) {
        load = bits(insn, 22, 1);
        if (bits(insn, 23, 1))
            size = 16;
    }
    if (bits(insn, 24, 1)) {
        offset = (int64_t)bits(insn, 10, 12) * (int64_t)size;
    } else if (!bits(insn, 21, 1)) {
        mode = bits(insn, 10, 1) ? (enum mode)bits(insn, 10, 2) : MODE_OFFSET;
        offset = signed_bits(insn, 12, 9);
    } else {
        /* Register offset, atomics, loads with pointer authentication: the address is not known,
         * and the register field is a destination unless it plainly is a store. */
        bool register_offset = bits(insn, 10, 2) == 2;
        if (!register_offset && bits(insn, 10, 1))
            sim_lose(sim, rn); /* ldraa with writeback */
        if (!vector && !prefetch && (load || !register_offset))
            lose(sim, rt);
        return;
    }
    struct sim before = *sim;
    struct value address = address_of(sim, rn, mode, offset);
    if (prefetch)
        return;
    if (vector) {
        if (!load)
            sim_store(sim, address, (struct value){.kind = VALUE_UNKNOWN}, size);
    } else if (load && rt != 31) {
        bool whole = size == 8 && bits(insn, 22, 2) == 1;
        sim_set(sim, rt,
                whole ? sim_load(&before, address, 8) : (struct value){.kind = VALUE_UNKNOWN});
    } else if (!load) {
        access_register(sim, false, rt, address, size);
    }
}

static void run_memory(struct sim *sim, uint32_t insn)
{
    bool vector = bits(insn, 26, 1);

    switch (bits(insn, 27, 3)) {
    case 5: run_pair(sim, insn); return;
    case 7:
        if ((insn & 0xff200c00) == 0xd9200400 || (insn & 0xff200c00) == 0xd9200c00)
            sim_lose(sim, bits(insn, 5, 5)); /* memory tags, with writeback */
        else if (bits(insn, 24, 8) == 0xd9)
            lose(sim, bits(insn, 22, 2) ? bits(insn, 0, 5) : 31);
        else
            run_single(sim, insn);
        return;
    case 3: /* literal; or unscaled with ordering, memory copies: all fields may be written */
        if (!vector)
            lose(sim, bits(insn, 0, 5));
        if (bits(insn, 24, 1) && bits(insn, 10, 2) == 1) {
            lose(sim, bits(insn, 5, 5));
            lose(sim, bits(insn, 16, 5));
        }
        return;
    default:
        if (vector) { /* structures of vectors: bit 23 writes the base back */
            if (bits(insn, 23, 1))
                sim_lose(sim, bits(insn, 5, 5));
        } else { /* exclusive and ordered: status, and both data registers of a load */
            lose(sim, bits(insn, 16, 5));
            if (bits(insn, 21, 1)) /* pairs of compare-and-swap */
                lose(sim, bits(insn, 16, 5) | 1);
            if (bits(insn, 22, 1)) {
                lose(sim, bits(insn, 0, 5));
                lose(sim, bits(insn, 10, 5));
            }
        }
    }
}

/* ---- branches and system ---- */

static struct step run_system(struct sim *sim, uint32_t insn, struct step step)
{
    if ((insn & 0xfffff01f) == 0xd503201f) { /* hints */
        switch (bits(insn, 5, 7)) {
        case 24:
        case 25:
        case 26:
        case 27: /* paciaz, paciasp, pacibz, pacibsp */ sim->ra_signed = true; break;
        case 7:
        case 28:
        case 29:
        case 30:
        case 31: /* xpaclri, autiaz, autiasp, ... */
            sim->ra_signed = false;
            sim->ra_checked = true;
            break;
        case 8:
        case 10:
        case 12:
        case 14: /* pac*1716, aut*1716 */ sim_lose(sim, 17); break;
        default: break;
        }
    } else if ((insn & 0xffe0001f) == 0xd4000001) { /* svc: the kernel answers in x0 */
        sim_lose(sim, 0);
        sim_lose(sim, 1);
    } else if ((insn & 0xff000000) == 0xd4000000) { /* brk, hlt, ... */
        step.flow = FLOW_STOP;
    } else if ((insn & 0xffc00000) == 0xd5000000) {
        if (bits(insn, 21, 1))
            lose(sim, bits(insn, 0, 5)); /* mrs, sysl */
    } else {
        step.flow = FLOW_STOP;
    }
    return step;
}

static struct step run_branch(struct sim *sim, uint32_t insn, uint64_t at, struct step step)
{
    if ((insn & 0x7c000000) == 0x14000000) { /* b, bl */
        step.flow = bits(insn, 31, 1) ? FLOW_CALL : FLOW_JUMP;
        step.target = at + (uint64_t)(signed_bits(insn, 0, 26) * 4);
    } else if ((insn & 0xfe000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) {
        step.flow = FLOW_BRANCH; /* b.cond, cbz, cbnz */
        step.target = at + (uint64_t)(signed_bits(insn, 5, 19) * 4);
    } else if ((insn & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
        step.flow = FLOW_BRANCH;
        step.target = at + (uint64_t)(signed_bits(insn, 5, 14) * 4);
    } else if (insn == 0xd65f0bff || insn == 0xd65f0fff) { /* retaa, retab */
        step.flow = FLOW_RETURN;
        step.ra = sim->reg[LR];
        sim->ra_checked = true;
    } else if ((insn & 0xfffffc1f) == 0xd65f0000) { /* ret xn */
        step.flow = FLOW_RETURN;
        step.ra = sim->reg[bits(insn, 5, 5)];
    } else if ((insn & 0xfedf0000) == 0xd61f0000) { /* br, blr, braa, blraa, ... need more bits */
        step.flow = FLOW_INDIRECT;
    } else if ((insn & 0xfe000000) == 0xd6000000) {
        step.flow = FLOW_STOP; /* eret, drps, unallocated */
    } else {
        step = run_system(sim, insn, step);
    }
    if ((insn & 0xfefff000) == 0xd63f0000) /* blr, blraa, blraaz, ... */
        step.flow = FLOW_CALL;
    return step;
}

static struct step run(const struct unwind_image *image, uint64_t at, struct sim *sim)
{
    uint32_t insn = insn_at(image, at);
    struct step step = {
        .flow = FLOW_NEXT, .size = insn == 0 ? 0 : 4, .padding = insn == 0xd503201f};

    if (tags_frame_pointer(insn))
        return step;
    switch (bits(insn, 25, 4)) {
    case 8:
    case 9: run_immediate(sim, insn); break;
    case 10:
    case 11: return run_branch(sim, insn, at, step);
    case 4:
    case 6:
    case 12:
    case 14: run_memory(sim, insn); break;
    case 5:
    case 13: run_register(sim, insn); break;
    case 7:
    case 15: run_vector(sim, insn); break;
    case 2: /* SVE: counts and lengths go to general registers, addvl and addpl to sp */
        sim_lose(sim, bits(insn, 0, 5));
        break;
    default: step.flow = FLOW_STOP;
    }
    return step;
}

/* ---- PLT ---- */

/* adrp x16, page; ldr x17, [x16, #n]; add x16, x16, #n; br x17 */
static bool is_plt_tail(const struct unwind_image *image, uint64_t at)
{
    return (insn_at(image, at) & 0x9f00001f) == 0x90000010 &&
           (insn_at(image, at + 4) & 0xffc003ff) == 0xf9400211 &&
           (insn_at(image, at + 8) & 0xff8003ff) == 0x91000210 &&
           insn_at(image, at + 12) == 0xd61f0220;
}

/* A thread that stands in a stub still has its return address in the link register. The first
 * entry, which calls the lazy resolver, pushes it as well: stp x16, x30, [sp, #-16]!. Either may
 * begin with bti c. */
static enum unwind_status find_plt(const struct unwind_image *image, uint64_t vaddr,
                                   struct unwind_row *row)
{
    enum { PUSH = (int)0xa9bf7bf0, BTI_C = (int)0xd503245f };

    for (unsigned i = 0; i <= 4; i++) {
        uint64_t tail = vaddr + 4 - 4 * (uint64_t)i;
        if (!is_plt_tail(image, tail))
            continue;
        uint32_t before = insn_at(image, tail - 4);
        if (i == 0 && before != (uint32_t)PUSH && before != (uint32_t)BTI_C)
            continue; /* whatever stands before the stub */
        *row = (struct unwind_row){
            .cfa_how = CFA_REG,
            .cfa_reg = SP,
            .cfa_offset = i > 0 && before == (uint32_t)PUSH ? 16 : 0,
            .ra_reg = LR,
            .method = FW_METHOD_LINK_REGISTER,
            .lo = vaddr,
            .hi = vaddr + 4,
        };
        row->reg[LR].how = REG_SAME;
        return UNWIND_OK;
    }
    return UNWIND_NO_INFO;
}

enum unwind_status analysis_find_aarch64(const struct unwind_image *image, uint64_t vaddr,
                                         bool exact, struct unwind_row *row)
{
    static const struct isa isa = {.run = run, .size = 4, .call_clobbers = 0x4007ffff};

    if (exact && find_plt(image, vaddr, row) == UNWIND_OK)
        return UNWIND_OK;
    return simulate_find(&isa, image, vaddr, exact, row);
}
