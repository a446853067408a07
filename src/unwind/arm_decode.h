/*
 * The two instruction sets of arm, as far as the simulation of simulate.h has to know them.
 *
 * Invariant: for every instruction that is not FLOW_STOP, each of r0-r14 that it may write is given
 * its value or lost, and an instruction that may write pc is never FLOW_NEXT.
 */
#ifndef UNWIND_ARM_DECODE_H
#define UNWIND_ARM_DECODE_H

#include "unwind/simulate.h"

struct step arm_run(const struct unwind_image *image, uint64_t at, struct sim *sim);
struct step thumb_run(const struct unwind_image *image, uint64_t at, struct sim *sim);

/* Shared by both sets. `word` is a coprocessor or VFP instruction (bits 27..25 = 110 or 111, bit 24
 * clear for 111), in ARM's layout, which Thumb shares. */
void arm_run_coprocessor(struct sim *sim, uint32_t word);

/* Loads or stores the registers of `list`, in ascending order from the lowest address. */
struct arm_block {
    unsigned rn;
    uint32_t list;
    bool load, up, before, writeback;
};
struct step arm_run_block(struct sim *sim, struct arm_block block, struct step step);

/* One or two words at [rn + offset], or [rn] with rn moved afterwards; `count` registers. */
struct arm_access {
    unsigned rn, count;
    unsigned rt[2];
    int64_t offset;
    bool load, indexed, writeback;
    bool whole; /* words: a byte or halfword only loses its register */
};
struct step arm_run_access(struct sim *sim, struct arm_access access, struct step step);

#endif
