/* armv7: Procedure Call Standard for the Arm Architecture, section 6.1.1; DWARF for the Arm
 * Architecture, section 4.1. The frame pointer is r11 in ARM code; Thumb code of some compilers
 * uses r7. Apple's platforms use r7 in either, and have all code keep the chain of frame records:
 * saved r7, lr ("Introduction to ARMv6 Function Calling Conventions" and its ARMv7 supplement). */
#include "arch/arch.h"

static const char *const names[] = {
    "r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
    "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc",
};

const struct arch arch_arm = {
    .id = ARCH_ARM,
    .name = "arm",
    .pointer_size = 4,
    .register_size = 4,
    .reg_count = 16,
    .pc = 15,
    .sp = 13,
    .fp = 11,
    .lr = 14,
    .ra_column = 14,
    .elf_machine = 40,          /* EM_ARM */
    .callee_saved = 0xffu << 4, /* r4..r11 */
    .pointer_mask = UINT32_MAX,
    .reg_names = names,
};

const struct arch arch_arm_apple = {
    .id = ARCH_ARM,
    .name = "arm",
    .pointer_size = 4,
    .register_size = 4,
    .reg_count = 16,
    .pc = 15,
    .sp = 13,
    .fp = 7,
    .lr = 14,
    .ra_column = 14,
    .callee_saved = 0xffu << 4, /* r4..r11 */
    .pointer_mask = UINT32_MAX,
    .frame_records = true,
    .reg_names = names,
};
