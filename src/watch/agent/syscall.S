/*
 * syscall(2), as programs call it: goes on to libc's by a jump. The caller's registers and stack are
 * as they were: libc's function is variadic, and only it knows how many arguments there are.
 *
 * single.c sees the first call, and those of seccomp(2). errno is kept by what it does there.
 */
#if defined(__linux__)
#include <asm/unistd.h>

#if defined(__x86_64__)
        .data
        .balign 8
        .hidden agent_next_syscall
        .globl  agent_next_syscall
agent_next_syscall:
        .quad   0

        .text
        .balign 16
        .globl  syscall
        .type   syscall, @function
syscall:
        .cfi_startproc
        endbr64
        movq    agent_next_syscall(%rip), %r11
        testq   %r11, %r11
        je      1f
        cmpq    $__NR_seccomp, %rdi
        je      1f
        jmp     *%r11
1:      pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %r8
        .cfi_adjust_cfa_offset 8
        pushq   %r9
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    agent_meet_syscall
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %r9
        .cfi_adjust_cfa_offset -8
        popq    %r8
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *agent_next_syscall(%rip)
        .cfi_endproc
        .size   syscall, . - syscall
#elif defined(__aarch64__)
        .data
        .balign 8
        .hidden agent_next_syscall
        .globl  agent_next_syscall
agent_next_syscall:
        .quad   0

        .text
        .balign 16
        .globl  syscall
        .type   syscall, %function
syscall:
        .cfi_startproc
        hint    #34 /* bti c */
        adrp    x16, agent_next_syscall
        ldr     x16, [x16, :lo12:agent_next_syscall]
        cbz     x16, 1f
        cmp     x0, #__NR_seccomp
        b.eq    1f
        br      x16
1:      stp     x29, x30, [sp, #-80]!
        .cfi_def_cfa_offset 80
        .cfi_offset 29, -80
        .cfi_offset 30, -72
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        str     x6, [sp, #64]
        bl      agent_meet_syscall
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldr     x6, [sp, #64]
        ldp     x29, x30, [sp], #80
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        adrp    x16, agent_next_syscall
        ldr     x16, [x16, :lo12:agent_next_syscall]
        br      x16
        .cfi_endproc
        .size   syscall, . - syscall
#endif

        .section .note.GNU-stack, "", %progbits
#endif
