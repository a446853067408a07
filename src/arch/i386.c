/* i386: System V Application Binary Interface, Intel386 supplement, table 2.14. */
#include "arch/arch.h"

static const char *const names[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"};

const struct arch arch_i386 = {
    .id = ARCH_I386,
    .name = "i386",
    .pointer_size = 4,
    .register_size = 4,
    .reg_count = 9,
    .pc = 8,
    .sp = 4,
    .fp = 5,
    .lr = ARCH_NO_REG,
    .ra_column = 8,
    .elf_machine = 3, /* EM_386 */
    .callee_saved = 1u << 3 | 1u << 5 | 1u << 6 | 1u << 7,
    .pointer_mask = UINT32_MAX,
    .frame_records = true,
    .reg_names = names,
};
