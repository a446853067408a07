/* The registers that the kernel saved for a signal handler of this process (ucontext_t), and how
 * code addresses of this machine are signed. Async-signal-safe. */
#ifndef OS_SELF_CONTEXT_H
#define OS_SELF_CONTEXT_H

#include "arch/arch.h"

void self_context_regs(const void *ucontext, struct regs *regs);

/* Bits of a code address that hold a pointer-authentication code on this machine; 0 where there are
 * none. */
uint64_t self_pac_mask(void);

/* Where the system's _sigtramp begins (Apple); 0 elsewhere. */
uint64_t self_sigtramp(void);

#endif
