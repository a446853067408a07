/*
 * Code that several functions share, moved to functions of its own by LLVM's outliner (-Oz, Swift's
 * -Osize). These keep no calling convention, and the unwind information of both sides is wrong:
 *
 *   the end of an epilogue is jumped to    a part of the body, called by a leaf function
 *
 *     ldp x29, x30, [sp, #16]                mov x0, x30
 *     b OUTLINED_FUNCTION_7                  bl OUTLINED_FUNCTION_8
 *                                            mov x30, x0
 *     OUTLINED_FUNCTION_7:
 *     ldp x20, x19, [sp], #32              On request (-homogeneous-prolog-epilog) prologues and
 *     ret                                  epilogues are called, too.
 *
 * Invariant: all of them are straight code. A part of a prologue or epilogue leaves sp elsewhere
 * than it was, which no function may do; what is called by a leaf is followed by the instruction
 * that puts its link register back.
 */
#include "unwind/simulate.h"

enum { LONGEST_SHARED = 256 /* instructions */ };

/* Runs straight code: until something other than the next instruction comes next. */
static struct step run_straight(const struct isa *isa, const struct unwind_image *image,
                                uint64_t at, unsigned longest, struct sim *sim)
{
    struct step step = {.flow = FLOW_NEXT};
    for (unsigned i = 0; i < longest && step.flow == FLOW_NEXT; i++) {
        step = isa->run(image, at, sim);
        at += step.size;
        if (step.size == 0)
            step.flow = FLOW_STOP;
    }
    return step;
}

bool simulate_is_straight(const struct isa *isa, const struct unwind_image *image, uint64_t start,
                          uint64_t end)
{
    enum { PROLOGUE = 32 /* instructions */ };
    struct sim sim;
    sim_begin(&sim, image->arch);
    for (unsigned i = 0; i < PROLOGUE && start < end; i++) {
        const struct step step = isa->run(image, start, &sim);
        if (step.size == 0 || step.flow != FLOW_NEXT)
            return false;
        start += step.size;
    }
    return start == end;
}

enum part simulate_part(const struct isa *isa, const struct unwind_image *image, uint64_t start)
{
    enum { LONGEST = 16 };
    struct sim sim;
    sim_begin(&sim, image->arch);
    const struct step step = run_straight(isa, image, start, LONGEST, &sim);
    const struct value sp = sim.reg[sim.sp];
    if ((step.flow != FLOW_RETURN && step.flow != FLOW_JUMP) || sp.kind != VALUE_ENTRY ||
        sp.reg != sim.sp || sp.offset == 0)
        return PART_NONE;
    return sp.offset > 0 ? PART_EPILOGUE : PART_PROLOGUE;
}

/* Whether the instruction puts the link register back from another register. */
static bool restores_link_register(const struct isa *isa, const struct unwind_image *image,
                                   uint64_t at)
{
    const uint8_t lr = image->arch->lr;
    struct sim sim;
    sim_begin(&sim, image->arch);
    const struct step step = isa->run(image, at, &sim);
    return step.size && step.flow == FLOW_NEXT && sim.reg[lr].kind == VALUE_ENTRY &&
           sim.reg[lr].reg != lr && sim.reg[lr].offset == 0;
}

bool simulate_shared_call(const struct isa *isa, const struct unwind_image *image, uint64_t target,
                          uint64_t next, struct sim *sim)
{
    struct sim after = *sim;
    if (!restores_link_register(isa, image, next) && simulate_part(isa, image, target) == PART_NONE)
        return false;
    sim_lose(&after, image->arch->lr);
    if (run_straight(isa, image, target, LONGEST_SHARED, &after).flow != FLOW_RETURN)
        return false;
    *sim = after;
    return true;
}

void simulate_keep(const struct isa *isa, const struct unwind_image *image, uint64_t start,
                   struct unwind_row *row)
{
    const struct arch *arch = image->arch;
    struct sim sim;
    sim_begin(&sim, arch);
    if (run_straight(isa, image, start, LONGEST_SHARED, &sim).flow != FLOW_RETURN)
        return;
    for (unsigned i = 0; i < SIM_REGS; i++)
        if (i != arch->lr && isa->call_clobbers >> i & 1 && sim_is_entry(sim.reg[i], i))
            row->reg[i].how = REG_SAME;
}
