/*
 * ucontext_t to a register set: the machine context that it points to begins with exception and
 * thread state (sys/ucontext.h, mach/ARCH/_structs.h).
 */
#include "os/self_context.h"

#include "arch/pac.h"
#include "os/darwin/native_state.h"

#include <dlfcn.h>
#include <sys/ucontext.h>

void self_context_regs(const void *ucontext, struct regs *regs)
{
    const ucontext_t *context = ucontext;
    native_state state = context->uc_mcontext->__ss;
    native_state_strip(&state);
    native_state_regs(&state, regs);
}

uint64_t self_pac_mask(void)
{
    return arch_pac_mask();
}

static uint64_t sigtramp;

static __attribute__((constructor)) void learn_sigtramp(void)
{
    sigtramp = (uintptr_t)dlsym(RTLD_DEFAULT, "_sigtramp") & (uintptr_t)~arch_pac_mask();
}

uint64_t self_sigtramp(void)
{
    return sigtramp;
}
