/* x86_64: System V Application Binary Interface, AMD64 supplement, section 3.2.1 and figure 3.36.
 */
#include "arch/arch.h"

static const char *const names[] = {
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

const struct arch arch_x86_64 = {
    .id = ARCH_X86_64,
    .name = "x86_64",
    .pointer_size = 8,
    .register_size = 8,
    .reg_count = 17,
    .pc = 16,
    .sp = 7,
    .fp = 6,
    .lr = ARCH_NO_REG,
    .ra_column = 16,
    .elf_machine = 62, /* EM_X86_64 */
    .callee_saved = 1u << 3 | 1u << 6 | 0xfu << 12,
    .pointer_mask = UINT64_MAX,
    .frame_records = true,
    .reg_names = names,
};
