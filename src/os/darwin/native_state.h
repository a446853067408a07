/*
 * The register set of a thread as Mach hands it out (mach/thread_status.h), which is also what the
 * kernel saves for a signal handler (`__ss` of its machine context). On arm64e some registers are
 * signed and only the accessors read them, which authenticate: a processor with FEAT_FPAC faults
 * where that fails. So whoever got a state strips it before anything else looks at it: a thread
 * whose registers are corrupt is what is looked at most.
 *
 * Nothing here calls anything: may be used while a thread is suspended.
 */
#ifndef OS_DARWIN_NATIVE_STATE_H
#define OS_DARWIN_NATIVE_STATE_H

#include "arch/arch.h"

#include <mach/mach.h>

#if defined(__x86_64__)
typedef x86_thread_state64_t native_state;
enum { NATIVE_STATE_FLAVOR = x86_THREAD_STATE64, NATIVE_STATE_COUNT = x86_THREAD_STATE64_COUNT };
#elif defined(__i386__)
typedef x86_thread_state32_t native_state;
enum { NATIVE_STATE_FLAVOR = x86_THREAD_STATE32, NATIVE_STATE_COUNT = x86_THREAD_STATE32_COUNT };
#elif defined(__aarch64__) /* arm64_32 as well */
typedef arm_thread_state64_t native_state;
enum { NATIVE_STATE_FLAVOR = ARM_THREAD_STATE64, NATIVE_STATE_COUNT = ARM_THREAD_STATE64_COUNT };
#elif defined(__arm__)
typedef arm_thread_state_t native_state;
enum { NATIVE_STATE_FLAVOR = ARM_THREAD_STATE, NATIVE_STATE_COUNT = ARM_THREAD_STATE_COUNT };
#endif

/* Takes the signatures off; the accessors read what is left as it is. */
static inline void native_state_strip(native_state *state)
{
#if defined(__aarch64__)
    arm_thread_state64_ptrauth_strip(*state);
#else
    (void)state;
#endif
}

static inline uintptr_t native_state_sp(const native_state *state)
{
#if defined(__x86_64__)
    return state->__rsp;
#elif defined(__i386__)
    return state->__esp;
#elif defined(__aarch64__)
    return (uintptr_t)arm_thread_state64_get_sp(*state);
#else
    return state->__sp;
#endif
}

/* The frame pointer where frame records are two 64-bit words; elsewhere nobody asks. */
static inline uint64_t native_state_fp(const native_state *state)
{
#if defined(__x86_64__)
    return state->__rbp;
#elif defined(__aarch64__)
    return (uint64_t)arm_thread_state64_get_fp(*state);
#else
    (void)state;
    return 0;
#endif
}

/* All registers, by their DWARF numbers. */
static inline void native_state_regs(const native_state *state, struct regs *regs)
{
    *regs = (struct regs){{0}, 0};
#if defined(__x86_64__)
    const uint64_t r[17] = {
        state->__rax, state->__rdx, state->__rcx, state->__rbx, state->__rsi, state->__rdi,
        state->__rbp, state->__rsp, state->__r8,  state->__r9,  state->__r10, state->__r11,
        state->__r12, state->__r13, state->__r14, state->__r15, state->__rip,
    };
    for (unsigned i = 0; i < 17; i++)
        regs_set(regs, i, r[i]);
#elif defined(__i386__)
    const uint32_t r[9] = {
        state->__eax, state->__ecx, state->__edx, state->__ebx, state->__esp,
        state->__ebp, state->__esi, state->__edi, state->__eip,
    };
    for (unsigned i = 0; i < 9; i++)
        regs_set(regs, i, r[i]);
#elif defined(__aarch64__)
    for (unsigned i = 0; i < 29; i++)
        regs_set(regs, i, state->__x[i]);
    regs_set(regs, 29, (uint64_t)arm_thread_state64_get_fp(*state));
    regs_set(regs, 30, (uint64_t)arm_thread_state64_get_lr(*state));
    regs_set(regs, 31, (uint64_t)arm_thread_state64_get_sp(*state));
    regs_set(regs, 32, (uint64_t)arm_thread_state64_get_pc(*state));
#elif defined(__arm__)
    for (unsigned i = 0; i < 13; i++)
        regs_set(regs, i, state->__r[i]);
    regs_set(regs, 13, state->__sp);
    regs_set(regs, 14, state->__lr);
    regs_set(regs, 15, state->__pc);
#endif
}

#endif
