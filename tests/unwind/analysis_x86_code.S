/*
 * Code without unwind information, with the right answer beside every instruction, for
 * analysis_x86_test.c. Never executed.
 *
 * `at CFA` says what holds before the next instruction: CFA register and offset, where the frame
 * pointer and rbx are (same, lost, or offset from the CFA), and whether the answer is to be found
 * without the function's bounds (1), with them (2), both (3) or not at all (0); 4 and 8 leave the
 * question without, with bounds out. `back` is the same for a thread that will come back
 * to this place from the call before it.
 */
#define SP   0
#define BP   1
#define ROOT 2
#define SAME 0x7000
#define LOST 0x7001

    .macro record exact, reg, cfa, bp, bx, modes, bits
.Lat\@:
    .pushsection fixture_expect, "aw"
    .quad .Lat\@
    .long \exact, \reg, \cfa, \bp, \bx, \modes, \bits, 0
    .popsection
    .endm
    .macro at reg, cfa, bp=SAME, bx=SAME, modes=3
    record 1, \reg, \cfa, \bp, \bx, \modes, bits
    .endm
    .macro back reg, cfa, bp=SAME, bx=SAME, modes=3
    record 0, \reg, \cfa, \bp, \bx, \modes, bits
    .endm
    .macro function name
    .p2align 4
\name:
    .endm
    .macro end name
    .pushsection fixture_bounds, "aw"
    .quad \name, .Lend\@
    .popsection
.Lend\@:
    .endm

    .section fixture_code, "ax"
    .set bits, 64
    .code64
    .fill 16, 1, 0xcc

function leaf
    at SP, 8
    endbr64
    at SP, 8
    xor %eax, %eax
    at SP, 8
    ret
end leaf

function framed
    at SP, 8
    push %rbp
    at SP, 16, -16
    mov %rsp, %rbp
    at BP, 16, -16, LOST, 1 + 8 /* pushed by rsp, put back by rbp: the same place? */
    at BP, 16, -16, SAME, 2 + 4
    push %rbx
    at BP, 16, -16, -24
    sub $40, %rsp
    at BP, 16, -16, -24
    call leaf
    back BP, 16, -16, -24
    mov -8(%rbp), %rbx
    at BP, 16, -16
    leave
    at SP, 8
    ret
end framed

function pushed
    at SP, 8
    push %r12
    at SP, 16
    push %rbx
    at SP, 24, SAME, -24
    sub $0x28, %rsp
    at SP, 64, SAME, -24
    movaps %xmm0, (%rsp)
    at SP, 64, SAME, -24
    mov %rdi, 0x18(%rsp)
    at SP, 64, SAME, -24
    call *%rax
    back SP, 64, SAME, -24
    test %eax, %eax
    at SP, 64, SAME, -24
    je 1f
    at SP, 64, SAME, -24
    xor %ebx, %ebx
    at SP, 64, SAME, -24
1:  add $0x28, %rsp
    at SP, 24, SAME, -24
    pop %rbx
    at SP, 16
    pop %r12
    at SP, 8
    ret
end pushed

/* Registers put back by mov, as old compilers and hand-written code do. */
function moved
    at SP, 8
    sub $24, %rsp
    at SP, 32
    mov %rbx, 8(%rsp)
    at SP, 32, SAME, -24
    mov %rbp, 16(%rsp)
    at SP, 32, -16, -24
    mov %rdi, %rbx
    at SP, 32, -16, -24
    lea 1(%rdi), %ebp
    at SP, 32, -16, -24
    mov 8(%rsp), %rbx
    at SP, 32, -16, SAME
    mov 16(%rsp), %rbp
    at SP, 32
    lea 24(%rsp), %rsp
    at SP, 8
    ret
end moved

/* crtstuff.c */
function deregister
    at SP, 8
    lea leaf(%rip), %rdi
    at SP, 8
    lea leaf(%rip), %rax
    at SP, 8
    cmp %rdi, %rax
    at SP, 8
    je 1f
    at SP, 8
    mov leaf(%rip), %rax
    at SP, 8
    test %rax, %rax
    at SP, 8
    je 1f
    at SP, 8
    jmp *%rax
    nopl 0(%rax)
1:  at SP, 8
    ret
end deregister

function dtors_aux
    at SP, 8
    cmpb $0, leaf(%rip)
    at SP, 8
    jne 2f
    at SP, 8
    push %rbp
    at SP, 16, -16
    cmpq $0, leaf(%rip)
    at SP, 16, -16
    mov %rsp, %rbp
    at SP, 16, -16
    je 1f
    at SP, 16, -16
    mov leaf(%rip), %rdi
    at SP, 16, -16
    call leaf
    back SP, 16, -16
1:  call deregister
    back SP, 16, -16
    movb $1, leaf(%rip)
    at SP, 16, -16
    pop %rbp
    at SP, 8
    ret
    nopl (%rax)
2:  at SP, 8
    ret
end dtors_aux

function tail_caller
    at SP, 8
    endbr64
    at SP, 8
    jmp deregister
end tail_caller

/* System call stub with its error exit. */
function stub
    at SP, 8
    mov $39, %eax
    at SP, 8
    syscall
    at SP, 8
    cmp $-4095, %rax
    at SP, 8
    jae 1f
    at SP, 8
    ret
1:  at SP, 8
    neg %eax
    at SP, 8
    mov %eax, %fs:0x10
    at SP, 8
    or $-1, %rax
    at SP, 8
    ret
end stub

function aligned
    at SP, 8
    push %rbp
    at SP, 16, -16
    mov %rsp, %rbp
    at BP, 16, -16
    and $-32, %rsp
    at BP, 16, -16
    sub $64, %rsp
    at BP, 16, -16
    vmovaps %ymm0, (%rsp)
    at BP, 16, -16
    call leaf
    back BP, 16, -16
    nop
    at BP, 16, -16
    leave
    at SP, 8
    ret
end aligned

function entered
    at SP, 8
    enter $32, $0
    at BP, 16, -16
    nop
    at BP, 16, -16
    leave
    at SP, 8
    ret
end entered

/* A loop, and more branches than one path. */
function looping
    at SP, 8
    push %rbx
    at SP, 16, SAME, -16
    mov $8, %ebx
    at SP, 16, SAME, -16
1:  dec %ebx
    at SP, 16, SAME, -16
    je 2f
    at SP, 16, SAME, -16
    cmp $3, %ebx
    at SP, 16, SAME, -16
    jne 1b
    at SP, 16, SAME, -16
    jmp 1b
2:  at SP, 16, SAME, -16
    pop %rbx
    at SP, 8
    ret
end looping

/* ret that pops more than the return address leaves the CFA where it is. */
function pops_more
    at SP, 8
    push %rax
    at SP, 16
    pop %rcx
    at SP, 8
    ret $16
end pops_more

/* The last instruction is a call that never returns: only the way from the beginning helps. */
function dies
    at SP, 8, SAME, SAME, 2
    push %rbx
    at SP, 16, SAME, -16, 2
    xor %ebx, %ebx
    at SP, 16, SAME, -16, 2
    call abort_now
    back SP, 16, SAME, -16, 2
end dies
function abort_now
    at SP, 8, SAME, SAME, 2
    push $1
    at SP, 16, SAME, SAME, 2
    hlt
end abort_now

/* A jump table: forward nothing is known before the jump. */
function switching
    at SP, 8, SAME, SAME, 2
    sub $8, %rsp
    at SP, 16, SAME, SAME, 2
    movslq (%rdx, %rax, 4), %rax
    at SP, 16, SAME, SAME, 2
    add %rdx, %rax
    at SP, 16, SAME, SAME, 2
    notrack jmp *%rax
    at SP, 16
    add $8, %rsp
    at SP, 8
    ret
end switching

/* No way through these is proved. */
function unbalanced
    at SP, 8, SAME, SAME, 2
    test %eax, %eax
    at SP, 8, SAME, SAME, 2
    je 1f
    at SP, 8, SAME, SAME, 2
    push %rax
1:  at SP, 8, SAME, SAME, 1
    ret
end unbalanced

function foreign_stack
    at SP, 8, SAME, SAME, 2
    mov %rdi, %rsp
    at SP, 8
    ret
end foreign_stack

function return_as_jump
    at SP, 8, SAME, SAME, 2
    push %rdi
    at SP, 16, SAME, SAME, 4
    ret
end return_as_jump

function not_code
    at SP, 8, SAME, SAME, 2
    .byte 0x06, 0x07, 0x0e
end not_code

/* The loader's entry: its frames are the outermost ones. */
    .globl fixture_entry
function fixture_entry
    at ROOT, 0
    mov %rsp, %rdi
    at ROOT, 0
    call leaf
    back ROOT, 0
    mov %rax, %r12
    at ROOT, 0
    mov %rsp, %r13
    at ROOT, 0
    and $-16, %rsp
    at ROOT, 0
    xor %ebp, %ebp
    at ROOT, 0
    call framed
    back ROOT, 0
    lea leaf(%rip), %rdx
    at ROOT, 0
    mov %r13, %rsp
    at ROOT, 0
    jmp *%r12
end fixture_entry

/* PLT, lazily bound; entered through .plt.sec */
    .p2align 4
    at SP, 16
    push leaf(%rip)
    at SP, 24
    jmp *leaf(%rip)
    .p2align 4
    at SP, 8
    jmp *leaf(%rip)
    at SP, 8
    push $7
    at SP, 16
    jmp leaf
    .p2align 4
    at SP, 8
    endbr64
    at SP, 8
    push $1
    at SP, 16
    .byte 0xf2 /* bnd: not every assembler knows it */
    jmp leaf
    .p2align 4, 0x90
    at SP, 8
    endbr64
    at SP, 8
    .byte 0xf2 /* bnd: not every assembler knows it */
    jmp *leaf(%rip)
    .p2align 4, 0x90
    at SP, 8
    jmp *leaf(%rip)
    .p2align 3, 0x90
    at SP, 8
    jmp *leaf(%rip)
    .p2align 4, 0x90

/* ------------------------------------------------------------------ i386 */
    .set bits, 32
    .code32
    .fill 16, 1, 0xcc

function thunk_bx
    at SP, 4, SAME, -4
    mov (%esp), %ebx
    at SP, 4
    ret
end thunk_bx

function framed_32
    at SP, 4
    push %ebp
    at SP, 8, -8
    mov %esp, %ebp
    at BP, 8, -8, LOST, 1 + 8
    at BP, 8, -8, SAME, 2 + 4
    push %ebx
    at BP, 8, -8, -12
    call thunk_bx
    back BP, 8, -8, -12
    sub $0x10, %esp
    at BP, 8, -8, -12
    push $1
    at BP, 8, -8, -12
    call thunk_bx
    back BP, 8, -8, -12
    mov -4(%ebp), %ebx
    at BP, 8, -8
    leave
    at SP, 4
    ret
end framed_32

function pic_32
    at SP, 4
    push %ebx
    at SP, 8, SAME, -8
    call 1f
    at SP, 12, SAME, -8
1:  pop %ebx
    at SP, 8, SAME, -8
    add $0x1234, %ebx
    at SP, 8, SAME, -8
    pop %ebx
    at SP, 4
    ret
end pic_32

function stdcall_32
    at SP, 4
    mov 4(%esp), %eax
    at SP, 4
    ret $4
end stdcall_32

function struct_caller_32
    at SP, 4
    push %eax
    at SP, 8
    push $5
    at SP, 12
    call stdcall_32
    back SP, 12 /* as the call left it: what the callee pops is still counted */
    pop %ecx
    at SP, 4
    ret
end struct_caller_32

function all_32
    at SP, 4
    pusha
    at SP, 36, -28, -20
    inc %ebp
    at SP, 36, -28, -20
    popa
    at SP, 4
    ret
end all_32

    .p2align 4
    at SP, 8
    push 4(%ebx)
    at SP, 12
    jmp *8(%ebx)
    .p2align 4
    at SP, 4
    jmp *0xc(%ebx)
    at SP, 4
    push $0
    at SP, 8
    jmp thunk_bx
    .p2align 4
    at SP, 4
    jmp *0x8049000
    at SP, 4
    push $0
    at SP, 8
    jmp thunk_bx
    .p2align 4
    .code64
    .section .note.GNU-stack, "", @progbits
