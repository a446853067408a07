/*
 * The thunks (thunks.h) for 32-bit ARM, in ARM code. Arguments may be in r0 to r3, d0 to d7 (the
 * hard-float variant), and on the stack (AAPCS, 6.5 and 7.1). ip is nobody's between a call and the
 * function: procedure linkage tables use it.
 */
#if defined(__arm__)

#include "watch/thunk_asm.h"
#include "watch/thunks.h"

#if defined(__ELF__)
#define UNWIND(...) __VA_ARGS__
#else
#define UNWIND(...)
#endif

        .syntax unified
        .arm
        TEXT
        FUNCTION(calls_thunk_first)
        HIDDEN(calls_thunk_first)
        .p2align 4
SYMBOL(calls_thunk_first):
        UNWIND(.fnstart)
        .set thunk, 0
        .rept CALLS_THUNKS
        .p2align 4
        movw ip, #thunk
        b LOCAL(common)
        .set thunk, thunk + 1
        .endr
        UNWIND(.fnend)
        SIZE(calls_thunk_first)

        .p2align 4
LOCAL(common):
        UNWIND(.fnstart)
        push {r0-r11, ip, lr}
        UNWIND(.save {r0-r11, ip, lr})
#if defined(__ARM_FP)
        vpush {d0-d7}
        UNWIND(.vsave {d0-d7})
        add r0, sp, #64
        bl SYMBOL(calls_slow)
        vpop {d0-d7}
#else
        mov r0, sp
        bl SYMBOL(calls_slow)
#endif
        str r0, [sp, #48]
        pop {r0-r11, ip, lr}
        bx ip
        UNWIND(.fnend)

        FUNCTION(calls_thunk_return)
        HIDDEN(calls_thunk_return)
        .p2align 4
SYMBOL(calls_thunk_return):
        UNWIND(.fnstart)
        bx lr
        UNWIND(.fnend)
        SIZE(calls_thunk_return)
#endif
#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
