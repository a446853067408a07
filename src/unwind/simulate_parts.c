/*
 * Parts of prologues and epilogues that several functions share. LLVM's outliner (-Oz, Swift's
 * -Osize) moves the end of an epilogue to a function of its own and jumps there; on request, whole
 * prologues and epilogues become functions that are called, or jumped to:
 *
 *     ldp x29, x30, [sp, #16]               bl OUTLINED_FUNCTION_PROLOG_...
 *     b OUTLINED_FUNCTION_7                 ...
 *     OUTLINED_FUNCTION_7:                  b OUTLINED_FUNCTION_EPILOG_TAIL_...
 *     ldp x20, x19, [sp], #32
 *     ret
 *
 * They are listed as functions, with unwind information that is wrong. Invariant: a part is
 * straight code that leaves sp elsewhere than it was, which no function may do.
 */
#include "unwind/simulate.h"

enum { LONGEST = 16 /* instructions */ };

/* The code runs on into the next instruction: neither a branch nor a call, and understood. */
static bool runs_on(const struct isa *isa, const struct unwind_image *image, uint64_t *at,
                    struct sim *sim, struct step *step)
{
    *step = isa->run(image, *at, sim);
    *at += step->size;
    return step->size && step->flow == FLOW_NEXT;
}

enum part simulate_part(const struct isa *isa, const struct unwind_image *image, uint64_t start)
{
    struct sim sim;
    struct step step = {.flow = FLOW_NEXT};
    uint64_t at = start;
    sim_begin(&sim, image->arch);
    for (unsigned i = 0; i < LONGEST && runs_on(isa, image, &at, &sim, &step); i++)
        ;
    const struct value sp = sim.reg[sim.sp];
    const bool leaves = step.flow == FLOW_RETURN || step.flow == FLOW_JUMP;
    if (!leaves || sp.kind != VALUE_ENTRY || sp.reg != sim.sp || sp.offset == 0)
        return PART_NONE;
    return sp.offset > 0 ? PART_EPILOGUE : PART_PROLOGUE;
}

void simulate_called_part(const struct isa *isa, const struct unwind_image *image, uint64_t start,
                          struct sim *sim)
{
    struct step step;
    sim_lose(sim, image->arch->lr);
    while (runs_on(isa, image, &start, sim, &step))
        ;
}
