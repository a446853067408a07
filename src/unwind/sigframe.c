/* Chooses the signal trampolines of the image's architecture. */
#include "unwind/analysis.h"

enum unwind_status sigframe_find(const struct unwind_image *image, uint64_t vaddr,
                                 struct unwind_row *row)
{
    switch (image->arch->id) {
    case ARCH_X86_64:
    case ARCH_I386: return sigframe_find_x86(image, vaddr, row);
    case ARCH_AARCH64:
    case ARCH_ARM: return sigframe_find_arm(image, vaddr, row);
    case ARCH_NONE: break;
    }
    return UNWIND_NO_INFO;
}
