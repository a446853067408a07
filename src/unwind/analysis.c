/* Chooses the instruction analysis of the image's architecture, and weighs it against tables. */
#include "unwind/analysis.h"

enum unwind_status analysis_find(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                 struct unwind_row *row)
{
    if (exact && stub_find(image, vaddr, row) == UNWIND_OK)
        return UNWIND_OK;
    switch (image->arch->id) {
    case ARCH_X86_64:
    case ARCH_I386: return analysis_find_x86(image, vaddr, exact, row);
    case ARCH_AARCH64: return analysis_find_aarch64(image, vaddr, exact, row);
    case ARCH_ARM: return analysis_find_arm(image, vaddr, exact, row);
    case ARCH_NONE: break;
    }
    return UNWIND_NO_INFO;
}

static bool same_place(const struct reg_row *a, const struct reg_row *b)
{
    bool keeps_a = a->how == REG_UNSPECIFIED || a->how == REG_SAME;
    bool keeps_b = b->how == REG_UNSPECIFIED || b->how == REG_SAME;
    return keeps_a ? keeps_b : a->how == b->how && a->offset == b->offset;
}

/* Tables of Mach-O images hold in the body of a function: a thread may stand in front of it, behind
 * it, or in a stub. What the instructions prove is right; registers of which they say nothing lie
 * where the table says. */
static void correct_outside_body(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                 struct unwind_row *row)
{
    const struct arch *arch = image->arch;
    struct unwind_row proved;
    if (row->signal_frame || analysis_find(image, vaddr, exact, &proved) != UNWIND_OK)
        return;
    bool agree = row->cfa_how == CFA_REG && row->cfa_reg == proved.cfa_reg &&
                 row->cfa_offset == proved.cfa_offset && row->ra_reg == proved.ra_reg;
    for (unsigned i = 0; i < arch->reg_count; i++) {
        struct reg_row *reg = &proved.reg[i];
        if (reg->how == REG_UNDEFINED && (arch->callee_saved >> i & 1))
            *reg = row->reg[i];
        agree = agree && same_place(reg, &row->reg[i]);
        if (row->reg[i].how == REG_UNSPECIFIED && reg->how == REG_SAME)
            row->reg[i].how = REG_SAME;
    }
    if (!agree)
        *row = proved;
}

/* Not true behind a call; but functions that call shared code have such tables. */
static bool keeps_link_register(const struct arch *arch, const struct unwind_row *row)
{
    return arch->lr != ARCH_NO_REG && row->ra_reg == arch->lr &&
           (row->reg[arch->lr].how == REG_SAME || row->reg[arch->lr].how == REG_UNSPECIFIED);
}

void analysis_correct(const struct unwind_image *image, uint64_t vaddr, bool exact,
                      struct unwind_row *row)
{
    if (image->macho && (exact || keeps_link_register(image->arch, row)))
        correct_outside_body(image, vaddr, exact, row);
    else if (image->arch->id == ARCH_X86_64 || image->arch->id == ARCH_I386)
        analysis_correct_x86(image, vaddr, exact, row);
}

bool analysis_frame_pointer(const struct unwind_image *image, uint64_t vaddr, bool exact,
                            uint64_t since, uint64_t hi, int64_t *above_sp)
{
    return (image->arch->id == ARCH_X86_64 || image->arch->id == ARCH_I386) &&
           analysis_frame_pointer_x86(image, vaddr, exact, since, hi, above_sp);
}
