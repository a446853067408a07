/* The assembly of arch/entry.h for every Apple target: that it assembles, and that its unwind
 * information can be expressed, is what the build proves. Never run. */
#include "arch/entry.h"

int entered(void *first, intptr_t second, const ARCH_NATIVE_WORD *saved);
int enter(void *first, intptr_t second);

__attribute__((used)) int entered(void *first, intptr_t second, const ARCH_NATIVE_WORD *saved)
{
    struct regs regs;
    entry_regs(saved, &regs);
    return first && second && regs_has(&regs, ARCH_NATIVE.pc);
}

FW_ENTRY(enter, entered);
