/*
 * void registers_through(void *memory, int wide): loads all argument registers from `memory`, calls
 * target_registers, and stores what they hold there. Vectors of 64 bytes each with `wide`, else of
 * 16. Layout: 32 vectors of 64 bytes, 8 masks of 8 bytes, rax rcx rdx rsi rdi r8 r9 r10.
 */
#if defined(__x86_64__)
        .text
        .globl registers_through
        .type registers_through, @function
registers_through:
        .cfi_startproc
        pushq %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        pushq %r12
        .cfi_adjust_cfa_offset 8
        pushq %r12
        .cfi_adjust_cfa_offset 8
        movq %rdi, %rbx
        movl %esi, %r12d
        testl %r12d, %r12d
        jz 1f
        .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovdqu64 64*\n(%rbx), %zmm\n
        .endr
        .irp n, 0,1,2,3,4,5,6,7
        kmovq 2048+8*\n(%rbx), %k\n
        .endr
        jmp 2f
1:      .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movdqu 64*\n(%rbx), %xmm\n
        .endr
2:      movq 2112(%rbx), %rax
        movq 2120(%rbx), %rcx
        movq 2128(%rbx), %rdx
        movq 2136(%rbx), %rsi
        movq 2144(%rbx), %rdi
        movq 2152(%rbx), %r8
        movq 2160(%rbx), %r9
        movq 2168(%rbx), %r10
        call *target_registers@GOTPCREL(%rip)
        movq %rax, 2112(%rbx)
        movq %rcx, 2120(%rbx)
        movq %rdx, 2128(%rbx)
        movq %rsi, 2136(%rbx)
        movq %rdi, 2144(%rbx)
        movq %r8, 2152(%rbx)
        movq %r9, 2160(%rbx)
        movq %r10, 2168(%rbx)
        testl %r12d, %r12d
        jz 1f
        .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovdqu64 %zmm\n, 64*\n(%rbx)
        .endr
        .irp n, 0,1,2,3,4,5,6,7
        kmovq %k\n, 2048+8*\n(%rbx)
        .endr
        jmp 2f
1:      .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movdqu %xmm\n, 64*\n(%rbx)
        .endr
2:      popq %r12
        .cfi_adjust_cfa_offset -8
        popq %r12
        .cfi_adjust_cfa_offset -8
        popq %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size registers_through, . - registers_through
#endif
        .section .note.GNU-stack, "", %progbits
