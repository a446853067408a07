/*
 * other_stack_call(top, what, argument): keeps the stack pointer in the frame pointer, which every
 * ABI has its functions keep. In the compiler's own assembly, so that the object says about branch
 * protection what the others say.
 */
#include "os/linux/other_stack.h"

#if defined(__x86_64__)
#define BODY                                                                                       \
    ".cfi_startproc\n"                                                                             \
    "push %rbp\n"                                                                                  \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    ".cfi_offset %rbp, -16\n"                                                                      \
    "mov %rsp, %rbp\n"                                                                             \
    ".cfi_def_cfa_register %rbp\n"                                                                 \
    "mov %rdi, %rsp\n"                                                                             \
    "and $-16, %rsp\n"                                                                             \
    "mov %rdx, %rdi\n"                                                                             \
    "call *%rsi\n"                                                                                 \
    "mov %rbp, %rsp\n"                                                                             \
    "pop %rbp\n"                                                                                   \
    ".cfi_def_cfa %rsp, 8\n"                                                                       \
    "ret\n"                                                                                        \
    ".cfi_endproc\n"
#elif defined(__i386__)
#define BODY                                                                                       \
    ".cfi_startproc\n"                                                                             \
    "push %ebp\n"                                                                                  \
    ".cfi_def_cfa_offset 8\n"                                                                      \
    ".cfi_offset %ebp, -8\n"                                                                       \
    "mov %esp, %ebp\n"                                                                             \
    ".cfi_def_cfa_register %ebp\n"                                                                 \
    "mov 8(%ebp), %esp\n"                                                                          \
    "and $-16, %esp\n"                                                                             \
    "sub $12, %esp\n"                                                                              \
    "push 16(%ebp)\n"                                                                              \
    "call *12(%ebp)\n"                                                                             \
    "mov %ebp, %esp\n"                                                                             \
    "pop %ebp\n"                                                                                   \
    ".cfi_def_cfa %esp, 4\n"                                                                       \
    "ret\n"                                                                                        \
    ".cfi_endproc\n"
#elif defined(__aarch64__)
#define BODY                                                                                       \
    ".cfi_startproc\n"                                                                             \
    "stp x29, x30, [sp, #-16]!\n"                                                                  \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    ".cfi_offset x29, -16\n"                                                                       \
    ".cfi_offset x30, -8\n"                                                                        \
    "mov x29, sp\n"                                                                                \
    ".cfi_def_cfa_register x29\n"                                                                  \
    "and x0, x0, #-16\n"                                                                           \
    "mov sp, x0\n"                                                                                 \
    "mov x0, x2\n"                                                                                 \
    "blr x1\n"                                                                                     \
    "mov sp, x29\n"                                                                                \
    ".cfi_def_cfa_register sp\n"                                                                   \
    "ldp x29, x30, [sp], #16\n"                                                                    \
    ".cfi_def_cfa_offset 0\n"                                                                      \
    "ret\n"                                                                                        \
    ".cfi_endproc\n"
#elif defined(__arm__)
#define BODY                                                                                       \
    ".syntax unified\n"                                                                            \
    ".fnstart\n"                                                                                   \
    ".save {r7, lr}\n"                                                                             \
    "push {r7, lr}\n"                                                                              \
    ".setfp r7, sp\n"                                                                              \
    "mov r7, sp\n"                                                                                 \
    "bic r0, r0, #7\n"                                                                             \
    "mov sp, r0\n"                                                                                 \
    "mov r0, r2\n"                                                                                 \
    "blx r1\n"                                                                                     \
    "mov sp, r7\n"                                                                                 \
    "pop {r7, pc}\n"                                                                               \
    ".fnend\n"
#endif

__asm__(".pushsection .text.other_stack_call, \"ax\", %progbits\n"
        ".globl other_stack_call\n"
        ".hidden other_stack_call\n"
        ".type other_stack_call, %function\n"
        ".p2align 4\n"
        "other_stack_call:\n" BODY ".size other_stack_call, . - other_stack_call\n"
        ".popsection\n");
