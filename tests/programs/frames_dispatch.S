/* Functions of frames_told.c in the manner of objc_msgSend: no unwind information, jumps through
 * registers, a frame on the slow way alone, labels in the middle that look like functions. */
.text

#if defined(__x86_64__)

.globl _frames_dispatch
_frames_dispatch:
    test %rdi, %rdi
    je 3f
    mov %rsi, %r11
    test $1, %dil
    jne 1f
    jmp *%r11
1:  cmp $5, %rdi
    jae _slowly_dispatched
    mov %rdi, %rsi
    jmp *%r11
3:  xor %eax, %eax
    ret

_slowly_dispatched:
    push %rbp
    mov %rsp, %rbp
    sub $0x50, %rsp
    movdqa %xmm0, -0x10(%rbp)
    mov %rdi, -0x18(%rbp)
    mov %r11, -0x20(%rbp)
    mov $1, %esi
    call *%r11
    mov %rax, %rsi
    mov -0x18(%rbp), %rdi
    mov -0x20(%rbp), %r11
    leave
    jmp *%r11

.globl _frames_put_aside
_frames_put_aside:
    push %rsi
    call _helper
    pop %rsi
    test %rax, %rax
    je 1f
    mov %rax, %rdi
    jmp *%rsi
1:  ret

_helper:
    lea 1(%rdi), %rax
    shr $1, %rax
    ret

#elif defined(__aarch64__)

.p2align 2
.globl _frames_dispatch
_frames_dispatch:
    cbz x0, 3f
    mov x17, x1
    tbnz w0, #0, 1f
    br x17
1:  cmp x0, #5
    b.hs _slowly_dispatched
    mov x1, x0
    br x17
3:  mov x0, #0
    ret

_slowly_dispatched:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #0x40
    stp q0, q1, [sp]
    stp x0, x17, [sp, #0x20]
    mov x1, #1
    blr x17
    mov x1, x0
    ldp x0, x17, [sp, #0x20]
    mov sp, x29
    ldp x29, x30, [sp], #16
    br x17

/* The return address waits in another register while a helper is called. */
.p2align 2
.globl _frames_put_aside
_frames_put_aside:
    mov x16, x30
    mov x8, x1
    bl _helper
    mov x30, x16
    cbz x0, 1f
    mov x1, #3
    br x8
1:  ret

.p2align 2
_helper:
    add x0, x0, #1
    lsr x0, x0, #1
    ret

#endif
