/*
 * What C has to know of the thunks (thunks.h): the registers that they saved, in the numbering of
 * DWARF (arch/), and how much room vector registers take on this machine.
 */
#include "watch/thunks.h"

#include <stdbool.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

uint32_t calls_vector_bytes = 512; /* of fxsave */
uint32_t calls_vector_mask;

/* x87, SSE, AVX, and the three parts of AVX-512 (Intel SDM volume 1, 13.1). Tiles (AMX) are no
 * arguments, and 8 KB. */
enum { XSAVE_PARTS = 0xE7, XSAVE_HEADER_END = 576 };

static uint32_t enabled_parts(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

void calls_thunks_prepare(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    const uint32_t parts = enabled_parts() & XSAVE_PARTS;
    uint32_t bytes = XSAVE_HEADER_END;
    for (unsigned part = 2; part < 8; part++)
        if ((parts >> part & 1) && __get_cpuid_count(13, part, &a, &b, &c, &d) && a + b > bytes)
            bytes = a + b;
    calls_vector_bytes = bytes;
    calls_vector_mask = parts;
}
#else
void calls_thunks_prepare(void)
{
}
#endif

void calls_saved_regs(const struct calls_saved *saved, struct regs *regs)
{
    *regs = (struct regs){{0}, 0};
#if defined(__x86_64__)
    regs_set(regs, 3, saved->rbx);
    regs_set(regs, 6, saved->rbp);
    regs_set(regs, 7, (uintptr_t)saved->above);
    regs_set(regs, 12, saved->r12);
    regs_set(regs, 13, saved->r13);
    regs_set(regs, 14, saved->r14);
    regs_set(regs, 15, saved->r15);
    regs_set(regs, 16, saved->return_address);
#elif defined(__i386__)
    regs_set(regs, 3, saved->ebx);
    regs_set(regs, 4, (uintptr_t)saved->above);
    regs_set(regs, 5, saved->ebp);
    regs_set(regs, 6, saved->esi);
    regs_set(regs, 7, saved->edi);
    regs_set(regs, 8, saved->return_address);
#elif defined(__aarch64__)
    for (unsigned i = 0; i < 10; i++)
        regs_set(regs, 19 + i, saved->kept[i]);
    regs_set(regs, 29, saved->fp);
    regs_set(regs, 31, (uintptr_t)saved->above);
    regs_set(regs, 32, saved->return_address);
#elif defined(__arm__)
    for (unsigned i = 0; i < 8; i++)
        regs_set(regs, 4 + i, saved->kept[i]);
    regs_set(regs, 13, (uintptr_t)saved->above);
    regs_set(regs, 15, saved->return_address);
#endif
}

uintptr_t calls_argument(const struct calls_saved *saved, unsigned index)
{
#if defined(__x86_64__)
    const uintptr_t argument[4] = {saved->rdi, saved->rsi, saved->rdx, saved->rcx};
    return argument[index];
#elif defined(__i386__)
    return saved->above[index];
#else
    return (uintptr_t)saved->argument[index];
#endif
}

void calls_return(struct calls_saved *saved, uintptr_t result)
{
#if defined(__x86_64__)
    saved->rax = result;
#elif defined(__i386__)
    saved->eax = result;
#else
    saved->argument[0] = result;
#endif
}
