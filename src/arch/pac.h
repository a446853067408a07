/* Pointer authentication of the machine that this code runs on. Async-signal-safe. */
#ifndef ARCH_PAC_H
#define ARCH_PAC_H

#include <stdint.h>

/* Bits of a code address that hold a pointer-authentication code here; 0 where there are none.
 * xpaclri is in the space of hints: it strips where there is something to strip and does nothing
 * elsewhere. */
static inline uint64_t arch_pac_mask(void)
{
#if defined(__aarch64__)
    const uint64_t all = UINT64_MAX & ~(UINT64_C(1) << 55);
    register uint64_t lr __asm__("x30") = all;
    __asm__("hint #7" : "+r"(lr));
    return all ^ lr;
#else
    return 0;
#endif
}

#endif
