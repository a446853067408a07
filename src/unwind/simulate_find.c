/*
 * The symbolic execution behind the instruction analyses.
 *
 * Two proofs are tried. Forward: from the place on, until a return; what the epilogue reloads, and
 * from where, is the frame, since every path to a return must undo what the function did. From the
 * start: at a function's first instruction the ABI says what registers hold; following its
 * prologue to the place says where they went. A path that meets anything not understood proves
 * nothing. The link register is lost in calls, so a path that runs off a call which does not return
 * into other code ends in a return through a lost register and fails.
 *
 * Calling conventions: AAPCS64 and AAPCS32 (callee-saved registers, sp restored on return).
 */
#include "unwind/analysis.h"
#include "unwind/compact.h"
#include "unwind/simulate.h"

enum {
    FORWARD_STEPS = 512,
    START_STEPS = 16384,
    MAX_BACK = 8,
    PENDING = 3, /* branch targets remembered; each costs a struct sim of stack */
};

static void start_row(struct unwind_row *row, const struct arch *arch, unsigned reg, int64_t offset)
{
    *row = (struct unwind_row){
        .cfa_how = CFA_REG,
        .cfa_reg = (uint8_t)reg,
        .cfa_offset = offset,
        .ra_reg = arch->lr,
        .method = FW_METHOD_ANALYSIS,
    };
}

static void set_ra(struct unwind_row *row, struct reg_row ra)
{
    row->reg[row->ra_reg] = ra;
    if (ra.how == REG_SAME)
        row->method = FW_METHOD_LINK_REGISTER;
}

/* ---- from the place to a return ---- */

/* Where a register comes from for the caller, when the frame's base register and size are known. */
static bool restored(struct value value, unsigned reg, unsigned base, int64_t size,
                     struct reg_row *how)
{
    if (sim_is_entry(value, reg)) {
        how->how = REG_SAME;
        return true;
    }
    if (value.kind != VALUE_SLOT || value.reg != base || value.offset >= size)
        return false;
    *how = (struct reg_row){.how = REG_AT_CFA, .offset = value.offset - size};
    return true;
}

static bool row_at_return(const struct arch *arch, const struct sim *sim, struct value ra,
                          struct unwind_row *row)
{
    struct value sp = sim->reg[arch->sp];
    if (sp.kind != VALUE_ENTRY || (sp.reg == arch->sp && sp.offset < 0))
        return false;
    if (sp.reg != arch->sp && !(arch->callee_saved >> sp.reg & 1))
        return false;

    struct reg_row how = {.how = REG_UNSPECIFIED};
    start_row(row, arch, sp.reg, sp.offset);
    row->ra_signed = sim->ra_checked;
    /* Put aside while shared code was called. (On ARM, any register may lead on in a jump table.)
     */
    if (arch->id == ARCH_AARCH64 && ra.kind == VALUE_ENTRY && ra.offset == 0 &&
        ra.reg != arch->lr && ra.reg != arch->sp)
        how = (struct reg_row){.how = REG_IN_REG, .reg = ra.reg};
    else if (!restored(ra, arch->lr, sp.reg, sp.offset, &how))
        return false;
    set_ra(row, how);
    for (unsigned i = 0; i < SIM_REGS; i++) {
        if (!(arch->callee_saved >> i & 1))
            continue;
        if (!restored(sim->reg[i], i, sp.reg, sp.offset, &row->reg[i]))
            return false;
    }
    return true;
}

/* An epilogue has run: sp moved up, and the return address was loaded from the frame. */
static bool popped(const struct arch *arch, const struct sim *sim)
{
    struct value sp = sim->reg[arch->sp];
    return sim->reg[arch->lr].kind == VALUE_SLOT && sp.kind == VALUE_ENTRY &&
           (sp.reg != arch->sp || sp.offset > 0);
}

/* An epilogue begins in front of `place`: the link register was loaded from the frame, and nothing
 * since then stored, called or came from elsewhere. Branches of the check that an authentication
 * went well (tbz, brk) lie between. */
static bool behind_reload(const struct isa *isa, const struct unwind_image *image, uint64_t place)
{
    enum { EPILOGUE = 16 /* instructions */ };
    const struct arch *arch = image->arch;
    for (uint64_t at = place; isa->size && place - at < EPILOGUE * isa->size;) {
        struct sim sim;
        at -= isa->size;
        sim_begin(&sim, arch);
        struct step step = isa->run(image, at, &sim);
        bool check = step.flow == FLOW_BRANCH && step.target > at && step.target <= place;
        bool trap = step.flow == FLOW_STOP && step.size;
        if (step.flow == FLOW_NEXT && sim.reg[arch->lr].kind == VALUE_SLOT)
            return true;
        if ((step.flow != FLOW_NEXT && !check && !trap) || sim.slot_count)
            return false;
    }
    return false;
}

struct pending {
    uint64_t at;
    bool called;
    struct sim sim;
};

struct path {
    const struct isa *isa;
    const struct unwind_image *image;
    uint64_t lo, hi; /* where falling through is believed */
    bool bounded;    /* lo and hi are the function's */
    bool called;     /* a call was passed, which perhaps never comes back */
    bool epilogue;   /* it begins inside an epilogue: where it leaves is a tail call */
};

/* Code that makes room on the stack behind a call is most likely another function, which the
 * compiler put behind a call that does not come back. */
static bool grew(struct value before, struct value after)
{
    return before.kind == VALUE_ENTRY &&
           (after.kind != VALUE_ENTRY || (after.reg == before.reg && after.offset < before.offset));
}

/* False when a path has jumped back to `target` before: it goes round in a loop. */
static bool note_turn(uint64_t back[MAX_BACK], unsigned *count, uint64_t target)
{
    for (unsigned i = 0; i < *count; i++)
        if (back[i] == target)
            return false;
    if (*count == MAX_BACK)
        return false;
    back[(*count)++] = target;
    return true;
}

/* The call of a function: what it does not preserve is lost. False when it was shared code. */
static bool pass_call(const struct path *path, uint64_t target, uint64_t next, struct sim *sim)
{
    /* Compilers share code on arm64; elsewhere it costs stack to look for it. */
    if (path->image->arch->id == ARCH_AARCH64 &&
        simulate_shared_call(path->isa, path->image, target, next, sim))
        return false;
    sim_call(sim, path->isa);
    return true;
}

/* A jump that leads on to the rest of this function's epilogue, which stands elsewhere. */
static bool enter_part(struct path *path, uint64_t target)
{
    struct function_range part;
    if (simulate_part(path->isa, path->image, target) != PART_EPILOGUE ||
        !unwind_function_at(path->image, target, &part))
        return false;
    path->lo = part.lo;
    path->hi = part.hi;
    return true;
}

/* One path, from *at with *sim. Branches not taken are left in `pending`. */
static bool follow(struct path path, uint64_t at, struct sim *sim, unsigned *steps,
                   struct pending *pending, unsigned *pending_count, struct unwind_row *row)
{
    const struct arch *arch = path.image->arch;
    uint64_t back[MAX_BACK]; /* where jumps backwards led */
    unsigned back_count = 0;
    bool behind_call = false;

    for (; *steps > 0; (*steps)--) {
        if (at < path.lo || at >= path.hi)
            return false;
        if (stub_contains(path.image, at)) /* a tail call of another image's function */
            return (!path.called || popped(arch, sim)) &&
                   row_at_return(arch, sim, sim->reg[arch->lr], row);
        struct value sp = sim->reg[arch->sp];
        struct step step = path.isa->run(path.image, at, sim);
        if (step.size == 0 || (path.called && grew(sp, sim->reg[arch->sp])))
            return false;
        if (step.padding && behind_call)
            return false;
        behind_call = step.flow == FLOW_CALL;
        at += step.size;
        switch (step.flow) {
        case FLOW_NEXT: break;
        case FLOW_CALL: path.called |= pass_call(&path, step.target, at, sim); break;
        case FLOW_BRANCH:
            if (*pending_count < PENDING)
                pending[(*pending_count)++] = (struct pending){step.target, path.called, *sim};
            break;
        case FLOW_JUMP:
            if (step.target < path.lo || step.target >= path.hi) {
                if (path.bounded && enter_part(&path, step.target)) {
                    at = step.target;
                    break;
                }
                if (path.bounded && (popped(arch, sim) ||
                                     compact_is_tail_call(path.image, at - step.size, step.target)))
                    return row_at_return(arch, sim, sim->reg[arch->lr], row);
                if (path.epilogue && !path.called)
                    return row_at_return(arch, sim, sim->reg[arch->lr], row);
                if (path.called)
                    return false; /* a tail call would have reloaded the link register */
                path.lo = path.image->lo;
                path.hi = path.image->hi;
                path.bounded = false;
            }
            if (step.target < at && !note_turn(back, &back_count, step.target))
                return false;
            at = step.target;
            break;
        case FLOW_RETURN: return row_at_return(arch, sim, step.ra, row);
        case FLOW_INDIRECT:
            return (popped(arch, sim) || (path.epilogue && !path.called)) &&
                   row_at_return(arch, sim, sim->reg[arch->lr], row);
        case FLOW_STOP: return false;
        }
    }
    return false;
}

/* What the instruction in front of `at` calls, where that can be told: 0 otherwise. */
static uint64_t called_before(const struct path *path, uint64_t at)
{
    struct sim sim;
    sim_begin(&sim, path->image->arch);
    struct step step = {.flow = FLOW_STOP};
    if (path->isa->size)
        step = path->isa->run(path->image, at - path->isa->size, &sim);
    return step.flow == FLOW_CALL ? step.target : 0;
}

static bool prove_forward(const struct path *path, uint64_t at, bool exact, struct unwind_row *row)
{
    struct pending pending[PENDING];
    unsigned pending_count = 0, steps = FORWARD_STEPS, tried = 0;
    struct sim sim;

    sim_begin(&sim, path->image->arch);
    struct path from = *path;
    if (!exact)
        from.called = pass_call(path, called_before(path, at), at, &sim);
    if (follow(from, at, &sim, &steps, pending, &pending_count, row))
        return true;
    while (tried < pending_count) {
        struct pending *next = &pending[tried++];
        from = *path;
        from.called = next->called;
        if (follow(from, next->at, &next->sim, &steps, pending, &pending_count, row))
            return true;
    }
    return false;
}

/* ---- from the start of the function to the place ---- */

static bool slot_of(const struct sim *sim, unsigned reg, int64_t *offset)
{
    for (unsigned i = 0; i < sim->slot_count; i++) {
        const struct slot *slot = &sim->slot[i];
        if (slot->base == sim->sp && sim_is_entry(slot->value, reg)) {
            *offset = slot->offset;
            return true;
        }
    }
    return false;
}

/* Another register that holds what `reg` held. */
static bool holder_of(const struct sim *sim, unsigned reg, uint8_t *holder)
{
    for (uint8_t i = 0; i < SIM_REGS; i++)
        if (i != reg && sim_is_entry(sim->reg[i], reg)) {
            *holder = i;
            return true;
        }
    return false;
}

static bool counts_from_sp(const struct sim *sim, unsigned reg)
{
    return sim->reg[reg].kind == VALUE_ENTRY && sim->reg[reg].reg == sim->sp;
}

/* The CFA is sp at entry: a register that is at a known distance from it. The frame pointer comes
 * first: where it is set, loops may move sp. SIM_REGS when there is none. */
static unsigned cfa_base(const struct arch *arch, const struct sim *sim)
{
    if (counts_from_sp(sim, arch->fp))
        return arch->fp;
    if (counts_from_sp(sim, arch->sp))
        return arch->sp;
    for (unsigned i = 0; i < SIM_REGS; i++)
        if (arch->callee_saved >> i & 1 && counts_from_sp(sim, i))
            return i;
    return SIM_REGS;
}

static bool row_at_place(const struct arch *arch, const struct sim *sim, struct unwind_row *row)
{
    unsigned base = cfa_base(arch, sim);
    if (base == SIM_REGS)
        return false;
    start_row(row, arch, base, -(int64_t)sim->reg[base].offset);
    row->ra_signed = sim->ra_signed;

    /* What was saved lies in its slot. The register may hold it as well, but not when the place is
     * reached again, by a branch backwards from behind a call. */
    int64_t offset = 0;
    uint8_t holder = 0;
    if (slot_of(sim, arch->lr, &offset))
        set_ra(row, (struct reg_row){.how = REG_AT_CFA, .offset = offset});
    else if (sim_is_entry(sim->reg[arch->lr], arch->lr))
        set_ra(row, (struct reg_row){.how = REG_SAME});
    else if (holder_of(sim, arch->lr, &holder))
        set_ra(row, (struct reg_row){.how = REG_IN_REG, .reg = holder});
    else
        return false;
    for (unsigned i = 0; i < SIM_REGS; i++) {
        if (!(arch->callee_saved >> i & 1))
            continue;
        if (slot_of(sim, i, &offset))
            row->reg[i] = (struct reg_row){.how = REG_AT_CFA, .offset = offset};
        else if (!sim_is_entry(sim->reg[i], i))
            row->reg[i].how = REG_UNDEFINED;
    }
    return true;
}

enum from_start { START_FAILED, START_PROVED, START_OUTERMOST };

static enum from_start prove_from_start(const struct path *path, uint64_t place, bool exact,
                                        struct unwind_row *row)
{
    const struct arch *arch = path->image->arch;
    struct pending pending[PENDING];
    unsigned pending_count = 0;
    struct sim sim;
    bool live = true;        /* control reaches here by falling through */
    bool unseen = false;     /* branches ahead were not followed: what stands behind a call may be
                                their target, and the call one that does not come back */
    bool after_call = exact; /* a return address must follow a call */
    uint64_t at = path->lo;

    sim_begin(&sim, arch);
    for (unsigned steps = 0; steps < START_STEPS && at <= place; steps++) {
        for (unsigned i = pending_count; i-- > 0;) {
            if (pending[i].at != at)
                continue;
            if (!live)
                sim = pending[i].sim;
            else if (!sim_same(sim.reg[arch->sp], pending[i].sim.reg[arch->sp]))
                return START_FAILED; /* one of the two is no path: control does not fall in here */
            else
                sim_meet(&sim, &pending[i].sim);
            live = true;
            pending[i] = pending[--pending_count];
        }
        if (at == place) {
            if (!live || !after_call)
                return START_FAILED;
            if (row_at_place(arch, &sim, row))
                return START_PROVED;
            return sim.outermost ? START_OUTERMOST : START_FAILED;
        }

        struct step step = path->isa->run(path->image, at, &sim);
        if (step.size == 0)
            return START_FAILED;
        at += step.size;
        after_call = exact || step.flow == FLOW_CALL;
        bool ahead = (step.flow == FLOW_JUMP || step.flow == FLOW_BRANCH) && step.target >= at &&
                     step.target <= place;
        if (!live || (ahead && pending_count == PENDING)) {
            unseen = unseen || ahead;
            if (!live)
                continue;
            ahead = false;
        }
        if (step.flow == FLOW_CALL) {
            if (unseen && at != place)
                return START_FAILED;
            pass_call(path, step.target, at, &sim);
        }
        if (ahead)
            pending[pending_count++] = (struct pending){step.target, false, sim};
        live = step.flow == FLOW_NEXT || step.flow == FLOW_CALL || step.flow == FLOW_BRANCH;
    }
    return START_FAILED;
}

/* ---- both ---- */

/* The instruction before `place` computes the link register: what follows is a jump (GCC's jump
 * tables in Thumb end in bx lr), and the return address is elsewhere. Instructions of two sizes may
 * stand there; either is enough to doubt. */
static bool link_register_computed(const struct path *path, uint64_t place)
{
    const struct arch *arch = path->image->arch;
    for (unsigned size = 2; size <= 4; size += 2) {
        struct sim sim;
        if (place - path->lo < size)
            continue;
        sim_begin(&sim, arch);
        struct step step = path->isa->run(path->image, place - size, &sim);
        if (step.size == size && step.flow == FLOW_NEXT && sim.reg[arch->lr].kind == VALUE_UNKNOWN)
            return true;
    }
    return false;
}

enum unwind_status simulate_find(const struct isa *isa, const struct unwind_image *image,
                                 uint64_t vaddr, bool exact, struct unwind_row *row)
{
    uint64_t place = exact ? vaddr : vaddr + 1;
    struct path path = {isa, image, image->lo, image->hi, false, false, false};
    struct unwind_row started;
    enum from_start start = START_FAILED;

    struct function_range function;
    if (unwind_function_at(image, vaddr, &function)) {
        path.lo = function.lo;
        path.hi = function.hi;
        path.bounded = true;
        if (simulate_part(isa, image, function.lo) != PART_EPILOGUE)
            start = prove_from_start(&path, place, exact, &started);
    }
    if (start == START_OUTERMOST)
        return UNWIND_ROOT;

    path.epilogue = exact && image->macho && behind_reload(isa, image, place);
    bool forward = prove_forward(&path, place, exact, row);
    if (forward && row->reg[row->ra_reg].how == REG_SAME && link_register_computed(&path, place))
        return UNWIND_NO_INFO;
    if (forward && start == START_PROVED && !path.epilogue && started.cfa_reg == row->cfa_reg &&
        started.cfa_offset != row->cfa_offset) {
        if (!image->macho || !simulate_is_straight(isa, image, path.lo, place))
            return UNWIND_NO_INFO;
        forward = false; /* in a prologue, the way from the start says all */
    }
    if (!forward) {
        /* A part of a function that was moved away (.cold) looks like a function, but begins with
         * a frame made elsewhere: only one that saves the link register itself is believed. Mach-O
         * images have no such parts. */
        if (start != START_PROVED ||
            (started.reg[started.ra_reg].how != REG_AT_CFA && !image->macho))
            return UNWIND_NO_INFO;
        *row = started;
    }
    if (exact)
        simulate_keep(isa, image, place, row);
    row->lo = vaddr;
    row->hi = vaddr + 1;
    return UNWIND_OK;
}
