/*
 * The thunks (thunks.h) for aarch64. A function's arguments may be in x0 to x7, x8 (where a large
 * result goes), v0 to v7, and on the stack (AAPCS64, 6.8). x16 and x17 are nobody's between a call
 * and the function: veneers and procedure linkage tables use them. Branches through x16 and x17 are
 * allowed to enter functions that begin with BTI c.
 *
 * The return address in x30 is not signed yet at a function's entry, and stays as it is.
 */
#if defined(__aarch64__)

#include "watch/thunk_asm.h"
#include "watch/thunks.h"

        TEXT
        FUNCTION(calls_thunk_first)
        HIDDEN(calls_thunk_first)
        .p2align 4
SYMBOL(calls_thunk_first):
        .cfi_startproc
        .set thunk, 0
        .rept CALLS_THUNKS
        .p2align 4
        hint #34 /* bti c */
        mov w17, #thunk
        b LOCAL(common)
        .set thunk, thunk + 1
        .endr

        .p2align 5
LOCAL(common):
        stp x29, x30, [sp, #-96]!
        .cfi_def_cfa_offset 96
        .cfi_offset x29, -96
        .cfi_offset x30, -88
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        stp x8, x17, [sp, #80]
#if CALLS_HOT
        mov w0, w17
        mov x2, x29
        mov x3, x30
        add x1, sp, #96
        mov x29, sp
        bl SYMBOL(calls_note)
        cbz x0, LOCAL(slow)
#else
        mov x29, sp
        b LOCAL(slow)
#endif
LOCAL(leave):
        mov x16, x0
        ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]
        ldr x8, [sp, #80]
        ldp x29, x30, [sp], #96
        .cfi_remember_state
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        br x16

LOCAL(slow):
        .cfi_restore_state
        sub sp, sp, #208
        .cfi_adjust_cfa_offset 208
        stp q0, q1, [sp, #0]
        stp q2, q3, [sp, #32]
        stp q4, q5, [sp, #64]
        stp q6, q7, [sp, #96]
        stp x19, x20, [sp, #128]
        stp x21, x22, [sp, #144]
        stp x23, x24, [sp, #160]
        stp x25, x26, [sp, #176]
        stp x27, x28, [sp, #192]
        add x0, sp, #128
        bl SYMBOL(calls_slow)
        ldp q0, q1, [sp, #0]
        ldp q2, q3, [sp, #32]
        ldp q4, q5, [sp, #64]
        ldp q6, q7, [sp, #96]
        add sp, sp, #208
        .cfi_adjust_cfa_offset -208
        b LOCAL(leave)
        .cfi_endproc
        SIZE(calls_thunk_first)

        FUNCTION(calls_thunk_return)
        HIDDEN(calls_thunk_return)
        .p2align 4
SYMBOL(calls_thunk_return):
        .cfi_startproc
        hint #34
        ret
        .cfi_endproc
        SIZE(calls_thunk_return)
#endif
#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
