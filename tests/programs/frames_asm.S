/* Functions of frames.c that have no unwind information, as those of libsystem_kernel and of
 * hand-written assembler. */
.text

#if defined(__APPLE__)
#define NAME(name) _##name
#else
#define NAME(name) name
#endif

#if defined(__x86_64__)

.globl NAME(frames_enter)
NAME(frames_enter):
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    sub $8, %rsp
    mov %rsp, saved_sp(%rip)
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    add $8, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret

.globl NAME(frames_leave)
NAME(frames_leave):
    mov %rdi, %rax
    mov saved_sp(%rip), %rsp
    add $8, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret

.globl NAME(frames_bare)
NAME(frames_bare):
    push %rbx
    sub $32, %rsp
    mov %rdi, %rbx
    test %rdi, %rdi
    je 1f
    lea -1(%rdi), %rdi
    call NAME(frames_bare)
1:  lea (%rax,%rbx), %rax
    add $32, %rsp
    pop %rbx
    ret

.globl NAME(frames_bare_framed)
NAME(frames_bare_framed):
    push %rbp
    mov %rsp, %rbp
    and $-64, %rsp
    sub $64, %rsp
    call NAME(frames_bare)
    leave
    ret

.globl NAME(frames_bare_saving)
NAME(frames_bare_saving):
    push %rbp
    mov %rsp, %rbp
    push %rbx
    push %r14
    mov %rdi, %rbx
    mov %rsi, %r14
    mov $1, %esi
    call *%r14
    mov %rax, %rdi
    mov %rbx, %rsi
    call *%r14
    pop %r14
    pop %rbx
    pop %rbp
    ret

.globl NAME(frames_system)
NAME(frames_system):
    mov $0x7fffffff, %eax
    mov %rcx, %r10
    syscall
    ret

#elif defined(__aarch64__)

.p2align 2
.globl NAME(frames_enter)
NAME(frames_enter):
    stp x28, x27, [sp, #-96]!
    stp x26, x25, [sp, #16]
    stp x24, x23, [sp, #32]
    stp x22, x21, [sp, #48]
    stp x20, x19, [sp, #64]
    stp x29, x30, [sp, #80]
    add x29, sp, #80
    adrp x9, saved_sp@PAGE
    mov x10, sp
    str x10, [x9, saved_sp@PAGEOFF]
    mov x9, x0
    mov x0, x1
    blr x9
    ldp x29, x30, [sp, #80]
    ldp x20, x19, [sp, #64]
    ldp x22, x21, [sp, #48]
    ldp x24, x23, [sp, #32]
    ldp x26, x25, [sp, #16]
    ldp x28, x27, [sp], #96
    ret

.p2align 2
.globl NAME(frames_leave)
NAME(frames_leave):
    adrp x9, saved_sp@PAGE
    ldr x10, [x9, saved_sp@PAGEOFF]
    mov sp, x10
    ldp x29, x30, [sp, #80]
    ldp x20, x19, [sp, #64]
    ldp x22, x21, [sp, #48]
    ldp x24, x23, [sp, #32]
    ldp x26, x25, [sp, #16]
    ldp x28, x27, [sp], #96
    ret

.p2align 2
.globl NAME(frames_bare)
NAME(frames_bare):
    str x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, x0
    cbz x0, 1f
    sub x0, x0, #1
    bl NAME(frames_bare)
1:  add x0, x0, x19
    ldr x19, [sp, #16]
    ldr x30, [sp], #32
    ret

.p2align 2
.globl NAME(frames_bare_framed)
NAME(frames_bare_framed):
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub x9, sp, #64
    and sp, x9, #0xffffffffffffffc0
    bl NAME(frames_bare)
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret

.p2align 2
.globl NAME(frames_bare_saving)
NAME(frames_bare_saving):
    stp x20, x19, [sp, #-32]!
    stp x29, x30, [sp, #16]
    add x29, sp, #16
    mov x19, x0
    mov x20, x1
    mov x1, #1
    blr x20
    mov x1, x19
    blr x20
    ldp x29, x30, [sp, #16]
    ldp x20, x19, [sp], #32
    ret

.p2align 2
.globl NAME(frames_system)
NAME(frames_system):
    mov x8, #0x7fff
    svc #0
    b.cs 1f
    ret
1:  stp x29, x30, [sp, #-16]!
    mov x29, sp
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret

#endif

.data
.p2align 3
saved_sp:
    .quad 0
