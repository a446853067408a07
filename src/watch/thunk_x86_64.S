/*
 * The thunks (thunks.h) for x86_64. A function's arguments may be in rdi, rsi, rdx, rcx, r8, r9,
 * in vector registers (eight, with all their bits), rax (how many of these a variadic call uses),
 * r10 (static chain) and on the stack (System V ABI, AMD64, 3.2.3). r11 is nobody's between a call
 * and the function: procedure linkage tables use it.
 */
#if defined(__x86_64__)

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
        endbr64
        movl $thunk, %r11d
        jmp LOCAL(common)
        .set thunk, thunk + 1
        .endr

        .p2align 5
LOCAL(common):
        subq $72, %rsp
        .cfi_adjust_cfa_offset 72
        movq %rax, 0(%rsp)
        movq %rcx, 8(%rsp)
        movq %rdx, 16(%rsp)
        movq %rsi, 24(%rsp)
        movq %rdi, 32(%rsp)
        movq %r8, 40(%rsp)
        movq %r9, 48(%rsp)
        movq %r10, 56(%rsp)
        movq %r11, 64(%rsp)
#if CALLS_HOT
        movl %r11d, %edi
        leaq 80(%rsp), %rsi
        movq %rbp, %rdx
        movq 72(%rsp), %rcx
        call SYMBOL(calls_note)
        testq %rax, %rax
        jz LOCAL(slow)
#else
        jmp LOCAL(slow)
#endif
LOCAL(leave):
        movq %rax, %r11
        movq 0(%rsp), %rax
        movq 8(%rsp), %rcx
        movq 16(%rsp), %rdx
        movq 24(%rsp), %rsi
        movq 32(%rsp), %rdi
        movq 40(%rsp), %r8
        movq 48(%rsp), %r9
        movq 56(%rsp), %r10
        addq $72, %rsp
        .cfi_remember_state
        .cfi_adjust_cfa_offset -72
        jmp *%r11

LOCAL(slow):
        .cfi_restore_state
        pushq %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -88
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq %r15
        pushq %r14
        pushq %r13
        pushq %r12
        pushq %rbx
        movq %rsp, %rdi
        movl SYMBOL(calls_vector_bytes)(%rip), %eax
        subq %rax, %rsp
        andq $-64, %rsp
        movl SYMBOL(calls_vector_mask)(%rip), %eax
        testl %eax, %eax
        jz 1f
        /* The header behind the first 512 bytes: xsave writes a part of it, xrstor wants the rest 0. */
        xorl %edx, %edx
        movq %rdx, 512(%rsp)
        movq %rdx, 520(%rsp)
        movq %rdx, 528(%rsp)
        movq %rdx, 536(%rsp)
        movq %rdx, 544(%rsp)
        movq %rdx, 552(%rsp)
        movq %rdx, 560(%rsp)
        movq %rdx, 568(%rsp)
        xsave64 (%rsp)
        call SYMBOL(calls_slow)
        movq %rax, %r11
        movl SYMBOL(calls_vector_mask)(%rip), %eax
        xorl %edx, %edx
        xrstor64 (%rsp)
        jmp 2f
1:      fxsave64 (%rsp)
        call SYMBOL(calls_slow)
        movq %rax, %r11
        fxrstor64 (%rsp)
2:      movq %r11, %rax
        movq %rbp, %rsp
        popq %rbp
        .cfi_def_cfa %rsp, 80
        .cfi_restore %rbp
        jmp LOCAL(leave)
        .cfi_endproc
        SIZE(calls_thunk_first)

        FUNCTION(calls_thunk_return)
        HIDDEN(calls_thunk_return)
        .p2align 4
SYMBOL(calls_thunk_return):
        .cfi_startproc
        endbr64
        ret
        .cfi_endproc
        SIZE(calls_thunk_return)

#if defined(__CET__) && defined(__ELF__)
        /* This object keeps the rules of indirect branch tracking and shadow stacks. */
        .section .note.gnu.property, "a"
        .p2align 3
        .long 4, 16, 5
        .asciz "GNU"
        .long 0xc0000002, 4, 3, 0
#endif
#endif
#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
