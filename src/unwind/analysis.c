/* Chooses the instruction analysis of the image's architecture. */
#include "unwind/analysis.h"

enum unwind_status analysis_find(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                 struct unwind_row *row)
{
    switch (image->arch->id) {
    case ARCH_X86_64:
    case ARCH_I386: return analysis_find_x86(image, vaddr, exact, row);
    case ARCH_AARCH64: return analysis_find_aarch64(image, vaddr, exact, row);
    case ARCH_ARM: return analysis_find_arm(image, vaddr, exact, row);
    case ARCH_NONE: break;
    }
    return UNWIND_NO_INFO;
}

void analysis_correct(const struct unwind_image *image, uint64_t vaddr, bool exact,
                      struct unwind_row *row)
{
    if (image->arch->id == ARCH_X86_64 || image->arch->id == ARCH_I386)
        analysis_correct_x86(image, vaddr, exact, row);
}

bool analysis_frame_pointer(const struct unwind_image *image, uint64_t vaddr, bool exact,
                            uint64_t since, uint64_t hi, int64_t *above_sp)
{
    return (image->arch->id == ARCH_X86_64 || image->arch->id == ARCH_I386) &&
           analysis_frame_pointer_x86(image, vaddr, exact, since, hi, above_sp);
}
