/*
 * An async function as LLVM compiles it ("swiftasync", extended frames), and an executor that calls
 * it: void run_async(void (*callback)(void), void *context). The labels bound the instructions
 * between which the frame pointer points to the extended record.
 */
#if defined(__x86_64__)
        .text
        .globl  run_async, async_function, async_begins, async_ends, async_function_end
        .type   run_async, @function
run_async:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %r14
        .cfi_offset %r14, -24
        pushq   %rbx
        movq    %rsi, %r14
        callq   async_function
        popq    %rbx
        popq    %r14
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   run_async, .-run_async

        .type   async_function, @function
async_function:
        .cfi_startproc
        btsq    $60, %rbp
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        leaq    8(%rsp), %rbp
        .cfi_def_cfa %rbp, 16
async_begins:
        subq    $56, %rsp
        callq   *%rdi
        addq    $48, %rsp
        addq    $16, %rsp
async_ends:
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        btrq    $60, %rbp
        ret
async_function_end:
        .cfi_endproc
        .size   async_function, .-async_function
#elif defined(__aarch64__)
        .text
        .globl  run_async, async_function, async_begins, async_ends, async_function_end
        .type   run_async, %function
run_async:
        .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x30, -24
        .cfi_offset x29, -32
        str     x22, [sp, #16]
        .cfi_offset x22, -16
        mov     x29, sp
        mov     x22, x1
        bl      async_function
        ldr     x22, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x22
        .cfi_restore x30
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   run_async, .-run_async

        .type   async_function, %function
async_function:
        .cfi_startproc
        orr     x29, x29, #0x1000000000000000
        sub     sp, sp, #64
        .cfi_def_cfa_offset 64
        stp     x29, x30, [sp, #48]
        str     x22, [sp, #40]
        add     x29, sp, #48
        .cfi_def_cfa x29, 16
        .cfi_offset x30, -8
        .cfi_offset x29, -16
async_begins:
        blr     x0
        .cfi_def_cfa sp, 64
async_ends:
        ldp     x29, x30, [sp, #48]
        and     x29, x29, #0xefffffffffffffff
        add     sp, sp, #64
        .cfi_def_cfa_offset 0
        .cfi_restore x30
        .cfi_restore x29
        ret
async_function_end:
        .cfi_endproc
        .size   async_function, .-async_function
#endif
#if defined(__linux__)
        .section .note.GNU-stack, "", %progbits
#endif
