/* objc_msgSend and objc_msgSendSuper2 of the model: ask messages.c for the method with all registers of arguments kept, and
 * go there. */
.text
#if defined(__x86_64__)
.macro SEND name, lookup
.globl \name
\name:
    pushq %rbp
    movq %rsp, %rbp
    subq $176, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movups %xmm0, 48(%rsp)
    movups %xmm1, 64(%rsp)
    movups %xmm2, 80(%rsp)
    movups %xmm3, 96(%rsp)
    movups %xmm4, 112(%rsp)
    movups %xmm5, 128(%rsp)
    movups %xmm6, 144(%rsp)
    movups %xmm7, 160(%rsp)
    movq %rsp, %rdi /* the receiver's place */
    callq \lookup
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movups 48(%rsp), %xmm0
    movups 64(%rsp), %xmm1
    movups 80(%rsp), %xmm2
    movups 96(%rsp), %xmm3
    movups 112(%rsp), %xmm4
    movups 128(%rsp), %xmm5
    movups 144(%rsp), %xmm6
    movups 160(%rsp), %xmm7
    leave
    jmpq *%r11
.endmacro
#else
.macro SEND name, lookup
.globl \name
.p2align 2
\name:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #208
    stp x0, x1, [sp, #0]
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    str x8, [sp, #64]
    stp q0, q1, [sp, #80]
    stp q2, q3, [sp, #112]
    stp q4, q5, [sp, #144]
    stp q6, q7, [sp, #176]
    mov x0, sp
    bl \lookup
    mov x16, x0
    ldp x0, x1, [sp, #0]
    ldp x2, x3, [sp, #16]
    ldp x4, x5, [sp, #32]
    ldp x6, x7, [sp, #48]
    ldr x8, [sp, #64]
    ldp q0, q1, [sp, #80]
    ldp q2, q3, [sp, #112]
    ldp q4, q5, [sp, #144]
    ldp q6, q7, [sp, #176]
    mov sp, x29
    ldp x29, x30, [sp], #16
    br x16
.endmacro
#endif

SEND _objc_msgSend, _model_method
SEND _objc_msgSendSuper2, _model_super_method

.subsections_via_symbols
