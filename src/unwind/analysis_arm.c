/*
 * Instruction analysis for arm: PLT stubs, and which of the two instruction sets stands at an
 * address. The decoders behind the simulation are in arm_decode.c and thumb_decode.c.
 *
 * An address does not say whether its code is ARM or Thumb (its lowest bit was removed). Nearly all
 * ARM instructions carry the condition "always" in their top bits, which few words of Thumb code
 * show, and no function begins with a conditional instruction. Literal pools look like neither.
 * Where a stretch of code is not clearly the one or the other, nothing is proved.
 *
 * Specification: "Arm Architecture Reference Manual ARMv7-A and ARMv7-R", chapters A5 and A6.
 */
#include "unwind/analysis.h"
#include "unwind/arm_decode.h"

enum { SP = 13, LR = 14, WINDOW = 8 };

enum code_kind { CODE_UNCLEAR, CODE_ARM, CODE_THUMB };

struct census {
    unsigned words, always; /* those with the condition "always" */
};

static struct census count_words(const struct unwind_image *image, uint64_t lo, uint64_t hi)
{
    struct census count = {0, 0};
    struct reader r = simulate_code(image, lo);
    for (uint64_t at = lo; at + 4 <= hi; at += 4) {
        uint32_t word = reader_u32(&r);
        if (r.failed)
            break;
        count.words++;
        count.always += word >> 28 == 0xe;
    }
    return count;
}

static enum code_kind kind_at(const struct unwind_image *image, uint64_t at)
{
    uint64_t lo, hi;
    struct function_range function;
    if (at & 2)
        return CODE_THUMB;
    if (unwind_function_at(image, at, &function)) {
        lo = function.lo;
        hi = function.hi;
        if (function.thumb || lo & 2)
            return CODE_THUMB;
        hi = hi - lo > 4 * WINDOW ? lo + 4 * WINDOW : hi;
        struct census count = count_words(image, lo, hi);
        if (count_words(image, lo, lo + 4).always == 0)
            return count.always * 4 <= count.words ? CODE_THUMB : CODE_UNCLEAR;
        return count.always * 4 >= count.words * 3 ? CODE_ARM : CODE_UNCLEAR;
    }
    if (at < image->text.vaddr)
        return CODE_UNCLEAR;
    lo = at - image->text.vaddr < 4 * WINDOW ? at : at - 4 * WINDOW;
    struct census count = count_words(image, lo, at + 4 * WINDOW);
    if (count.always * 4 >= count.words * 3)
        return count.words ? CODE_ARM : CODE_UNCLEAR;
    return count.always * 8 <= count.words ? CODE_THUMB : CODE_UNCLEAR;
}

/* add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!: the return address is still in lr. */
static enum unwind_status find_plt(const struct unwind_image *image, uint64_t vaddr,
                                   struct unwind_row *row)
{
    for (uint64_t back = 0; back <= 8; back += 4) {
        uint64_t at = vaddr - back;
        if ((simulate_word(image, at) & 0xfffff000) != 0xe28fc000 ||
            (simulate_word(image, at + 4) & 0xfffff000) != 0xe28cc000 ||
            (simulate_word(image, at + 8) & 0xfffff000) != 0xe5bcf000)
            continue;
        *row = (struct unwind_row){
            .cfa_how = CFA_REG,
            .cfa_reg = SP,
            .ra_reg = LR,
            .method = FW_METHOD_LINK_REGISTER,
            .lo = at,
            .hi = at + 12,
        };
        row->reg[LR].how = REG_SAME;
        return UNWIND_OK;
    }
    return UNWIND_NO_INFO;
}

enum unwind_status analysis_find_arm(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                     struct unwind_row *row)
{
    /* r0-r3, ip, lr */
    static const struct isa arm = {.run = arm_run, .call_clobbers = 0x500f};
    static const struct isa thumb = {.run = thumb_run, .call_clobbers = 0x500f};
    uint64_t at = exact ? vaddr : vaddr + 1;

    if (exact && find_plt(image, vaddr, row) == UNWIND_OK)
        return UNWIND_OK;
    switch (kind_at(image, at)) {
    case CODE_ARM: return simulate_find(&arm, image, vaddr, exact, row);
    case CODE_THUMB: return simulate_find(&thumb, image, vaddr, exact, row);
    case CODE_UNCLEAR: break;
    }
    return UNWIND_NO_INFO;
}
