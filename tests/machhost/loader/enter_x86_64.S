/*
 * From Mach-O code into the loader's C code and back, x86_64. Between the labels first and last the
 * stack pointer and all preserved registers are those of the Mach-O caller, unless in_host is set.
 */
#if defined(__x86_64__)
#include "internal.h"

/* The thread's record in REG; by the flags' leave no other register changes. */
.macro record reg
    movq %fs:0, \reg
    leaq machhost_record@tpoff(\reg), \reg
.endm
.macro note reg
    movq %rsp, RECORD_SP(\reg)
    movq %rbp, RECORD_FP(\reg)
    movq %rbx, RECORD_SAVED+0(\reg)
    movq %r12, RECORD_SAVED+8(\reg)
    movq %r13, RECORD_SAVED+16(\reg)
    movq %r14, RECORD_SAVED+24(\reg)
    movq %r15, RECORD_SAVED+32(\reg)
    movq $1, RECORD_IN_HOST(\reg)
.endm

    .text
    .globl machhost_asm_first, machhost_asm_last, machhost_enter_noted
machhost_asm_first:

/* r11: the index of the call. */
    .globl machhost_enter
    .type machhost_enter, @function
machhost_enter:
    record %r10
    movq %r11, RECORD_CALL(%r10)
machhost_enter_noted:
    note %r10
    cmpq $0, RECORD_HOLDING(%r10)
    leaq machhost_table(%rip), %r10
    leaq (,%r11,8), %r11
    leaq (%r10,%r11,4), %r11
    je 1f
    testq $16, 8(%r11)
    je forbidden
1:  lock incq 16(%r11)
    subq $8, %rsp
    testq $8, 8(%r11)
    jne with_stack
    callq *(%r11)
leave:
    record %r10
    movq RECORD_SP(%r10), %rsp
    movq $0, RECORD_IN_HOST(%r10)
    retq

/* Thread-local variables: rdi the descriptor; all but rax is preserved. */
    .globl machhost_tlv_get
    .type machhost_tlv_get, @function
machhost_tlv_get:
    movq %fs:machhost_record@tpoff+RECORD_TLV, %rax
    addq 8(%rdi), %rax
    movq (%rax), %rax
    testq %rax, %rax
    je tlv_slow
    addq 16(%rdi), %rax
    retq
machhost_asm_last:

with_stack: /* 48 words of arguments on the stack */
    movq (%r11), %r11
    record %r10
    movq %r11, RECORD_SHIM(%r10)
    movq RECORD_SP(%r10), %r10
    movl $48, %r11d
1:  pushq (%r10,%r11,8)
    decq %r11
    jne 1b
    record %r10
    callq *RECORD_SHIM(%r10)
    jmp leave

forbidden:
    subq $8, %rsp
    record %r10
    movq RECORD_CALL(%r10), %rdi
    callq machhost_forbidden

tlv_slow:
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    record %r10
    movq $-1, RECORD_CALL(%r10)
    leaq 64(%rsp), %r11
    note %r10
    movq %r11, RECORD_SP(%r10)
    pushq %rbp
    movq %rsp, %rbp
    subq $256, %rsp
    andq $-16, %rsp
.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps %xmm\n, \n*16(%rsp)
.endr
    callq machhost_tlv_slow
.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps \n*16(%rsp), %xmm\n
.endr
    movq %rbp, %rsp
    popq %rbp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    movq $0, %fs:machhost_record@tpoff+RECORD_IN_HOST
    retq

/* rdi: a struct callout. */
    .globl machhost_callout
    .type machhost_callout, @function
machhost_callout:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    movq %rdi, %rbx
    movq %rsp, %r12
    movq 56(%rbx), %rax
    testq %rax, %rax
    cmovneq %rax, %rsp
    movq 8(%rbx), %rdi
    movq 16(%rbx), %rsi
    movq 24(%rbx), %rdx
    movq 32(%rbx), %rcx
    movq 0(%rbx), %r10
    movq 40(%rbx), %r11
    movq 48(%rbx), %rax
    movq 64(%rbx), %r8
    movq $0, %fs:machhost_record@tpoff+RECORD_IN_HOST
    callq *%r8
    movq %r12, %rsp
    record %r10
    movl $14, %ecx
1:  movq 72(%rbx,%rcx,8), %rdx
    movq %rdx, (%r10,%rcx,8)
    decl %ecx
    jne 1b
    movq 72(%rbx), %rdx
    movq %rdx, RECORD_IN_HOST(%r10)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq

/* setjmp: notes what longjmp restores, of the Mach-O caller, from the record. */
    .globl machhost_jump
    .type machhost_jump, @function
machhost_jump: /* rdi: rbx, r12-r15, rbp, rsp (after the return), rip; esi: the value */
    movl %esi, %eax
    movq 0(%rdi), %rbx
    movq 8(%rdi), %r12
    movq 16(%rdi), %r13
    movq 24(%rdi), %r14
    movq 32(%rdi), %r15
    movq 40(%rdi), %rbp
    movq 48(%rdi), %rsp
    movq 56(%rdi), %r10
    movq $0, %fs:machhost_record@tpoff+RECORD_IN_HOST
    jmpq *%r10

#endif
    .section .note.GNU-stack, "", @progbits
