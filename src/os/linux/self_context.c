/* ucontext_t to a register set: one block per architecture (kernel:
 * arch/<name>/include/uapi/asm/sigcontext.h). */
#include "os/self_context.h"

#include "arch/pac.h"

#include <ucontext.h>

void self_context_regs(const void *ucontext, struct regs *regs)
{
    const ucontext_t *context = ucontext;
    *regs = (struct regs){{0}, 0};
#if defined(__x86_64__)
    static const uint8_t greg[17] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    for (unsigned i = 0; i < 17; i++)
        regs_set(regs, i, (uint64_t)context->uc_mcontext.gregs[greg[i]]);
#elif defined(__i386__)
    static const uint8_t greg[9] = {
        REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI, REG_EIP,
    };
    for (unsigned i = 0; i < 9; i++)
        regs_set(regs, i, (uint32_t)context->uc_mcontext.gregs[greg[i]]);
#elif defined(__aarch64__)
    for (unsigned i = 0; i < 31; i++)
        regs_set(regs, i, context->uc_mcontext.regs[i]);
    regs_set(regs, 31, context->uc_mcontext.sp);
    regs_set(regs, 32, context->uc_mcontext.pc);
#elif defined(__arm__)
    const unsigned long *r =
        &context->uc_mcontext.arm_r0; /* r0 .. r10, fp, ip, sp, lr, pc follow each other */
    for (unsigned i = 0; i < 16; i++)
        regs_set(regs, i, r[i]);
#endif
}

uint64_t self_pac_mask(void)
{
    return arch_pac_mask();
}

uint64_t self_sigtramp(void)
{
    return 0; /* trampolines are known by their instructions */
}
