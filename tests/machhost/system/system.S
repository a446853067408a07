/*
 * libSystem of the Mach-O host: a real image in which every imported function is a thunk that enters
 * the loader's shim. A thread inside a shim is seen at its thunk, as if that were a system call: the
 * stack pointer and link register are those of the caller, so the thunk is a frameless leaf.
 */
#define CALL(name)        thunk _##name, __COUNTER__
#define SAFE(name)        thunk _##name, __COUNTER__
#define VARI(name, fixed) thunk _##name, __COUNTER__
#define LONG(name)        thunk _##name, __COUNTER__
#define DATA(name)

#if defined(__x86_64__)
.macro thunk name, index
    .globl \name
    .p2align 4
\name:
    .cfi_startproc
    movl $\index, %r11d
    jmpq *_machhost_entry(%rip)
    .cfi_endproc
.endm

/* Calls r10 with a frame whose caller is given: r11 its frame pointer, rax its return address. */
.macro caller name
    .globl \name
    .p2align 4
\name:
    .cfi_startproc
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    pushq %rax
    pushq %r11
    movq %rsp, %rbp
    .cfi_def_cfa %rbp, 16
    .cfi_offset %rbp, -16
    callq *%r10
    addq $24, %rsp
    retq
    .cfi_endproc
.endm
#else
.macro thunk name, index
    .globl \name
    .p2align 2
\name:
    .cfi_startproc
    mov w16, #\index
    adrp x17, _machhost_entry@PAGE
    ldr x17, [x17, _machhost_entry@PAGEOFF]
    br x17
    .cfi_endproc
.endm

/* Calls x9 with a frame whose caller is given: x10 its frame pointer, x11 its return address. */
.macro caller name
    .globl \name
    .p2align 2
\name:
    .cfi_startproc
    stp x30, x19, [sp, #-16]!
    stp x10, x11, [sp, #-16]!
    mov x29, sp
    .cfi_def_cfa w29, 16
    .cfi_offset w30, -8
    .cfi_offset w29, -16
    blr x9
    add sp, sp, #16
    ldp x30, x19, [sp], #16
    ret
    .cfi_endproc
.endm
#endif

    .text
#if defined(MACHHOST_DYLD)
caller _start
#else
#include "../exports.def"

/* The one name in C code that has no underscore. */
    .globl dyld_stub_binder
    .set dyld_stub_binder, _dyld_stub_binder

/* Where threads begin, and where functions that the loader calls seem to be called from. */
caller _thread_start
caller _machhost_callback

    .globl _tlv_get_addr
    .p2align 4
_tlv_get_addr:
    .cfi_startproc
#if defined(__x86_64__)
    jmpq *_machhost_tlv(%rip)
#else
    adrp x16, _machhost_tlv@PAGE
    ldr x16, [x16, _machhost_tlv@PAGEOFF]
    br x16
#endif
    .cfi_endproc

/*
 * Where the kernel enters a signal handler. The interrupted registers are found through the context
 * (ucontext: machine's part at 48, its general registers 16 further), which a register that is
 * preserved holds from the first instruction on.
 */
#define AT1(reg, offset)      .cfi_escape 0x10, reg, 5, CONTEXT, 0x30, 0x06, 0x23, 16 + offset
#define AT2(reg, offset)                                                                           \
    .cfi_escape 0x10, reg, 6, CONTEXT, 0x30, 0x06, 0x23, ((16 + offset) & 0x7f) | 0x80,            \
        (16 + offset) >> 7
    .globl __sigtramp
    .p2align 4
__sigtramp:
#if defined(__x86_64__)
#define CONTEXT 0x73 /* DW_OP_breg3: rbx */
    .cfi_startproc
    .cfi_signal_frame
    .cfi_escape 0x0f, 6, CONTEXT, 0x30, 0x06, 0x23, 16 + 56, 0x06
    AT1(0, 0)
    AT1(3, 8)
    AT1(2, 16)
    AT1(1, 24)
    AT1(5, 32)
    AT1(4, 40)
    AT1(6, 48)
    AT1(7, 56)
    AT1(8, 64)
    AT1(9, 72)
    AT1(10, 80)
    AT1(11, 88)
    AT1(12, 96)
    AT1(13, 104)
    AT2(14, 112)
    AT2(15, 120)
    AT2(16, 128)
    movq %rdi, %rax
    movl %edx, %edi
    movq %rcx, %rsi
    movq %r8, %rdx
    callq *%rax
    movq %rbx, %rdi
    callq ___sigreturn
    ud2
    .cfi_endproc
#else
#define CONTEXT 0x83 /* DW_OP_breg19: x19 */
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column 32
    .cfi_escape 0x0f, 7, CONTEXT, 0x30, 0x06, 0x23, 0x88, 0x02, 0x06
    AT1(0, 0)
    AT1(1, 8)
    AT1(2, 16)
    AT1(3, 24)
    AT1(4, 32)
    AT1(5, 40)
    AT1(6, 48)
    AT1(7, 56)
    AT1(8, 64)
    AT1(9, 72)
    AT1(10, 80)
    AT1(11, 88)
    AT1(12, 96)
    AT1(13, 104)
    AT2(14, 112)
    AT2(15, 120)
    AT2(16, 128)
    AT2(17, 136)
    AT2(18, 144)
    AT2(19, 152)
    AT2(20, 160)
    AT2(21, 168)
    AT2(22, 176)
    AT2(23, 184)
    AT2(24, 192)
    AT2(25, 200)
    AT2(26, 208)
    AT2(27, 216)
    AT2(28, 224)
    AT2(29, 232)
    AT2(30, 240)
    AT2(31, 248)
    AT2(32, 256)
    mov x9, x0
    mov w0, w2
    mov x1, x3
    mov x2, x4
    blr x9
    mov x0, x19
    bl ___sigreturn
    brk #1
    .cfi_endproc
#endif

    .data
    .p2align 3
    .globl _machhost_entry
_machhost_entry:
    .quad 0
    .globl _machhost_tlv
_machhost_tlv:
    .quad 0
.macro word name
    .globl \name
\name:
    .quad 0
.endm
/* libdispatch's main queue: 16 words, the label is the tenth. */
    .globl __dispatch_main_q
__dispatch_main_q:
    .quad 0, 0, 0, 0, 0, 0, 0, 0, 0
    .quad Lmain_label
    .quad 0, 0, 0, 0, 0, 0
Lmain_label:
    .asciz "com.apple.main-thread"
    .p2align 3
#undef CALL
#undef SAFE
#undef VARI
#undef LONG
#undef DATA
#define CALL(name)
#define SAFE(name)
#define VARI(name, fixed)
#define LONG(name)
#define DATA(name) word _##name
#include "../exports.def"
#endif
    .subsections_via_symbols
