/*
 * Layouts: struct user_regs_struct (x86_64, i386), struct user_pt_regs (aarch64), struct
 * user_regs (arm) of the Linux user ABI. The tables give, for each slot of the kernel's set in
 * order, the DWARF register it holds.
 */
#include "os/linux/regset.h"

enum { NONE = ARCH_NO_REG };

struct layout {
    enum arch_id arch;
    uint8_t slots;
    uint8_t reg[34];
};

static const struct layout layouts[] = {
    /* r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss
     * fs_base gs_base ds es fs gs */
    {ARCH_X86_64, 27, {15, 14,   13, 12,   6,    3, 11,   10,   9,    8,    0,    2,    1,   4,
                       5,  NONE, 16, NONE, NONE, 7, NONE, NONE, NONE, NONE, NONE, NONE, NONE}},
    /* ebx ecx edx esi edi ebp eax ds es fs gs orig_eax eip cs eflags esp ss */
    {ARCH_I386, 17, {3, 1, 2, 6, 7, 5, 0, NONE, NONE, NONE, NONE, NONE, 8, NONE, NONE, 4, NONE}},
    /* x0..x30 sp pc pstate */
    {ARCH_AARCH64, 34, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, NONE}},
    /* r0..r15 cpsr orig_r0 */
    {ARCH_ARM, 18, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, NONE, NONE}},
};

static const struct layout *layout_of(const struct arch *arch)
{
    for (size_t i = 0; arch && i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].arch == arch->id)
            return &layouts[i];
    return NULL;
}

size_t regset_size(const struct arch *arch)
{
    const struct layout *layout = layout_of(arch);
    return layout ? (size_t)layout->slots * arch->pointer_size : 0;
}

const struct arch *regset_arch(size_t size)
{
#if defined(__x86_64__) || defined(__i386__)
    static const struct arch *const candidates[] = {&arch_x86_64, &arch_i386};
#else
    static const struct arch *const candidates[] = {&arch_aarch64, &arch_arm};
#endif
    for (size_t i = 0; i < 2; i++)
        if (regset_size(candidates[i]) == size)
            return candidates[i];
    return NULL;
}

bool regset_decode(const struct arch *arch, struct reader reader, struct regs *regs)
{
    const struct layout *layout = layout_of(arch);
    *regs = (struct regs){0};
    if (!layout)
        return false;
    for (unsigned i = 0; i < layout->slots; i++) {
        uint64_t value = reader_uint(&reader, arch->pointer_size);
        if (layout->reg[i] != NONE)
            regs_set(regs, layout->reg[i], value);
    }
    return !reader.failed;
}

/* System call conventions: syscall(2). The first argument's register also takes the result on ARM.
 */
void regset_from_arguments(const struct arch *arch, const uint64_t *argument, struct regs *regs)
{
    static const uint8_t wide[6] = {5, 4, 1, 10, 8, 9};  /* rdi rsi rdx r10 r8 r9 */
    static const uint8_t narrow[6] = {3, 1, 2, 6, 7, 5}; /* ebx ecx edx esi edi ebp */
    static const uint8_t arm[6] = {NONE, 1, 2, 3, 4, 5}; /* r0..r5; the same on aarch64 */
    const uint8_t *reg = arch->id == ARCH_X86_64 ? wide : arch->id == ARCH_I386 ? narrow : arm;
    for (size_t i = 0; i < 6; i++)
        if (reg[i] != NONE)
            regs_set(regs, reg[i], argument[i]);
}
