/*
 * From Mach-O code into the loader's C code and back, arm64. Between the labels first and last the
 * stack pointer, link register and all preserved registers are those of the Mach-O caller, unless
 * in_host is set. x9 to x17 are free at a call.
 */
#if defined(__aarch64__)
#include "internal.h"

.macro record reg
    mrs \reg, tpidr_el0
    add \reg, \reg, #:tprel_hi12:machhost_record, lsl #12
    add \reg, \reg, #:tprel_lo12_nc:machhost_record
.endm
.macro note reg, scratch
    mov \scratch, sp
    str \scratch, [\reg, #RECORD_SP]
    stp x29, x30, [\reg, #RECORD_FP]
    stp x19, x20, [\reg, #RECORD_SAVED]
    stp x21, x22, [\reg, #RECORD_SAVED + 16]
    stp x23, x24, [\reg, #RECORD_SAVED + 32]
    stp x25, x26, [\reg, #RECORD_SAVED + 48]
    stp x27, x28, [\reg, #RECORD_SAVED + 64]
    mov \scratch, #1
    str \scratch, [\reg, #RECORD_IN_HOST]
.endm

    .text
    .globl machhost_asm_first, machhost_asm_last, machhost_enter_noted
machhost_asm_first:

/* w16: the index of the call. */
    .globl machhost_enter
    .type machhost_enter, %function
machhost_enter:
    record x17
    str x16, [x17, #RECORD_CALL]
machhost_enter_noted:
    note x17, x9
    ldr x10, [x17, #RECORD_HOLDING]
    adrp x11, machhost_table
    add x11, x11, #:lo12:machhost_table
    add x11, x11, x16, lsl #5
    ldr w12, [x11, #8]
    cbz x10, 1f
    tbz w12, #4, forbidden
1:  add x9, x11, #16
2:  ldxr x13, [x9]
    add x13, x13, #1
    stxr w14, x13, [x9]
    cbnz w14, 2b
    and w12, w12, #7
    cbz w12, 4f
    mov x9, sp
    cmp w12, #2
    b.eq 3f
    csel x1, x9, x1, lo
    csel x3, x9, x3, hi
    b 4f
3:  mov x2, x9
4:  ldr x11, [x11]
    blr x11
    record x17
    ldr x30, [x17, #RECORD_LR]
    str xzr, [x17, #RECORD_IN_HOST]
    ret

/* Thread-local variables: x0 the descriptor; all but x0, x16 and x17 is preserved. */
    .globl machhost_tlv_get
    .type machhost_tlv_get, %function
machhost_tlv_get:
    record x16
    ldr x16, [x16, #RECORD_TLV]
    ldr x17, [x0, #8]
    ldr x16, [x16, x17]
    cbz x16, tlv_slow
    ldr x17, [x0, #16]
    add x0, x16, x17
    ret
machhost_asm_last:

forbidden:
    mov x0, x16
    bl machhost_forbidden

tlv_slow:
    record x16
    mov x17, #-1
    str x17, [x16, #RECORD_CALL]
    note x16, x17
    sub sp, sp, #672
    stp x1, x2, [sp]
    stp x3, x4, [sp, #16]
    stp x5, x6, [sp, #32]
    stp x7, x8, [sp, #48]
    stp x9, x10, [sp, #64]
    stp x11, x12, [sp, #80]
    stp x13, x14, [sp, #96]
    stp x15, x18, [sp, #112]
    stp x29, x30, [sp, #128]
    add x16, sp, #144
.irp n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
    str q\n, [x16], #16
.endr
.irp n, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
    str q\n, [x16], #16
.endr
    bl machhost_tlv_slow
    add x16, sp, #144
.irp n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
    ldr q\n, [x16], #16
.endr
.irp n, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
    ldr q\n, [x16], #16
.endr
    ldp x1, x2, [sp]
    ldp x3, x4, [sp, #16]
    ldp x5, x6, [sp, #32]
    ldp x7, x8, [sp, #48]
    ldp x9, x10, [sp, #64]
    ldp x11, x12, [sp, #80]
    ldp x13, x14, [sp, #96]
    ldp x15, x18, [sp, #112]
    ldp x29, x30, [sp, #128]
    add sp, sp, #672
    record x16
    str xzr, [x16, #RECORD_IN_HOST]
    ret

/* x0: a struct callout. */
    .globl machhost_callout
    .type machhost_callout, %function
machhost_callout:
    stp x29, x30, [sp, #-96]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    mov x19, x0
    mov x20, sp
    ldr x9, [x19, #56]
    cbz x9, 1f
    mov sp, x9
1:  ldp x0, x1, [x19, #8]
    ldp x2, x3, [x19, #24]
    ldr x9, [x19]
    ldp x10, x11, [x19, #40]
    ldr x12, [x19, #64]
    record x16
    str xzr, [x16, #RECORD_IN_HOST]
    blr x12
    mov sp, x20
    record x16
    add x17, x19, #72
    mov x9, #14
1:  ldr x10, [x17, x9, lsl #3]
    str x10, [x16, x9, lsl #3]
    subs x9, x9, #1
    b.ne 1b
    ldr x10, [x17]
    str x10, [x16, #RECORD_IN_HOST]
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret

/* x0: x19-x28, x29, sp, pc; w1: the value. */
    .globl machhost_jump
    .type machhost_jump, %function
machhost_jump:
    ldp x19, x20, [x0]
    ldp x21, x22, [x0, #16]
    ldp x23, x24, [x0, #32]
    ldp x25, x26, [x0, #48]
    ldp x27, x28, [x0, #64]
    ldp x29, x9, [x0, #80]
    ldr x30, [x0, #96]
    mov sp, x9
    mov w0, w1
    record x16
    str xzr, [x16, #RECORD_IN_HOST]
    ret

#endif
    .section .note.GNU-stack, "", %progbits
