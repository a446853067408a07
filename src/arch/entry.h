/*
 * FW_ENTRY(name, implementation): a function that hands its caller's registers to `implementation`,
 * so that a walk begins exactly there, whatever the compiler made of either.
 *
 *     result name(a, b)  ->  implementation(a, b, const ARCH_NATIVE_WORD saved[])
 *
 * `saved` holds sp and the callee-saved registers as they are when `name` returns, and the return
 * address as pc, in the order of entry_registers(). Written in assembly because no C function may
 * look at its caller's registers. The stack pointer handed on is aligned as the ABI asks at a call.
 *
 * It assembles for ELF and for Mach-O, where names of C begin with an underscore.
 */
#ifndef ARCH_ENTRY_H
#define ARCH_ENTRY_H

#include "arch/arch.h"

#if defined(__APPLE__) /* no types, no sizes; Thumb code says so */
#define ENTRY_SYMBOL(name) "_" #name
#ifdef __thumb__
#define ENTRY_TYPE(name) ".thumb_func _" #name "\n"
#else
#define ENTRY_TYPE(name) ""
#endif
#define ENTRY_SIZE(name) ""
#else
#define ENTRY_SYMBOL(name) #name
#define ENTRY_TYPE(name)   ".type " #name ",%function\n"
#define ENTRY_SIZE(name)   ".size " #name ",.-" #name "\n"
#endif

#define FW_ENTRY(name, implementation)                                                             \
    ENTRY_CODE(ENTRY_SYMBOL(name), ENTRY_TYPE(name), ENTRY_SIZE(name), ENTRY_SYMBOL(implementation))

#if defined(__x86_64__)

enum { ENTRY_REGISTERS = 8 };
static const uint8_t entry_register[ENTRY_REGISTERS] = {3, 6, 7, 12, 13, 14, 15, 16};

#define ENTRY_CODE(symbol, type, size, implementation)                                             \
    __asm__(".text\n.p2align 4\n.globl " symbol "\n" type symbol ":\n"                             \
            ".cfi_startproc\n"                                                                     \
            "endbr64\n"                                                                            \
            "movq (%rsp), %rcx\n"                                                                  \
            "leaq 8(%rsp), %rdx\n"                                                                 \
            "subq $72, %rsp\n"                                                                     \
            ".cfi_adjust_cfa_offset 72\n"                                                          \
            "movq %rbx, (%rsp)\n"                                                                  \
            "movq %rbp, 8(%rsp)\n"                                                                 \
            "movq %rdx, 16(%rsp)\n"                                                                \
            "movq %r12, 24(%rsp)\n"                                                                \
            "movq %r13, 32(%rsp)\n"                                                                \
            "movq %r14, 40(%rsp)\n"                                                                \
            "movq %r15, 48(%rsp)\n"                                                                \
            "movq %rcx, 56(%rsp)\n"                                                                \
            "movq %rsp, %rdx\n"                                                                    \
            "call " implementation "\n"                                                            \
            "addq $72, %rsp\n"                                                                     \
            ".cfi_adjust_cfa_offset -72\n"                                                         \
            "ret\n"                                                                                \
            ".cfi_endproc\n" size)

#elif defined(__aarch64__)

enum { ENTRY_REGISTERS = 13 };
static const uint8_t entry_register[ENTRY_REGISTERS] = {19, 20, 21, 22, 23, 24, 25,
                                                        26, 27, 28, 29, 31, 32};

#define ENTRY_CODE(symbol, type, size, implementation)                                             \
    __asm__(".text\n.p2align 4\n.globl " symbol "\n" type symbol ":\n"                             \
            ".cfi_startproc\n"                                                                     \
            "hint #34\n" /* bti c */                                                               \
            "mov x9, sp\n"                                                                         \
            "stp x29, x30, [sp, #-128]!\n"                                                         \
            ".cfi_def_cfa_offset 128\n.cfi_offset 29, -128\n.cfi_offset 30, -120\n"                \
            "stp x19, x20, [sp, #16]\n"                                                            \
            "stp x21, x22, [sp, #32]\n"                                                            \
            "stp x23, x24, [sp, #48]\n"                                                            \
            "stp x25, x26, [sp, #64]\n"                                                            \
            "stp x27, x28, [sp, #80]\n"                                                            \
            "stp x29, x9, [sp, #96]\n"                                                             \
            "str x30, [sp, #112]\n"                                                                \
            "mov x29, sp\n"                                                                        \
            "add x2, sp, #16\n"                                                                    \
            "bl " implementation "\n"                                                              \
            "ldp x29, x30, [sp], #128\n"                                                           \
            ".cfi_def_cfa_offset 0\n.cfi_restore 29\n.cfi_restore 30\n"                            \
            "ret\n"                                                                                \
            ".cfi_endproc\n" size)

#elif defined(__arm__)

enum { ENTRY_REGISTERS = 10 };
static const uint8_t entry_register[ENTRY_REGISTERS] = {4, 5, 6, 7, 8, 9, 10, 11, 13, 15};

#if defined(__APPLE__)

/* With a frame record, as all code of these platforms has one. */
#define ENTRY_CODE(symbol, type, size, implementation)                                             \
    __asm__(".text\n.p2align 2\n.globl " symbol "\n" type symbol ":\n"                             \
            ".cfi_startproc\n"                                                                     \
            "mov r12, sp\n"                                                                        \
            "push {r4, r5, r6, r7, lr}\n"                                                          \
            ".cfi_def_cfa_offset 20\n.cfi_offset lr, -4\n.cfi_offset r7, -8\n"                     \
            ".cfi_offset r6, -12\n.cfi_offset r5, -16\n.cfi_offset r4, -20\n"                      \
            "sub sp, sp, #44\n"                                                                    \
            "stmia sp, {r4-r11, r12, lr}\n"                                                        \
            "mov r2, sp\n"                                                                         \
            "add r7, sp, #56\n"                                                                    \
            ".cfi_def_cfa r7, 8\n"                                                                 \
            "bl " implementation "\n"                                                              \
            "add sp, sp, #44\n"                                                                    \
            "pop {r4, r5, r6, r7, pc}\n"                                                           \
            ".cfi_endproc\n" size)

#else

#define ENTRY_CODE(symbol, type, size, implementation)                                             \
    __asm__(".text\n.arm\n.p2align 2\n.globl " symbol "\n" type symbol ":\n"                       \
            ".fnstart\n"                                                                           \
            "mov r12, sp\n"                                                                        \
            "push {r4-r11, r12, lr}\n"                                                             \
            ".save {r4-r11, r12, lr}\n"                                                            \
            "mov r2, sp\n"                                                                         \
            "sub sp, sp, #8\n"                                                                     \
            ".pad #8\n"                                                                            \
            "bl " implementation "\n"                                                              \
            "add sp, sp, #8\n"                                                                     \
            "pop {r4-r11, r12, pc}\n"                                                              \
            ".fnend\n" size)

#endif

#elif defined(__i386__)

enum { ENTRY_REGISTERS = 6 };
static const uint8_t entry_register[ENTRY_REGISTERS] = {3, 4, 5, 6, 7, 8};

#define ENTRY_CODE(symbol, type, size, implementation)                                             \
    __asm__(".text\n.p2align 4\n.globl " symbol "\n" type symbol ":\n"                             \
            ".cfi_startproc\n"                                                                     \
            "endbr32\n"                                                                            \
            "movl (%esp), %ecx\n"                                                                  \
            "leal 4(%esp), %edx\n"                                                                 \
            "subl $28, %esp\n"                                                                     \
            ".cfi_adjust_cfa_offset 28\n"                                                          \
            "movl %ebx, (%esp)\n"                                                                  \
            "movl %edx, 4(%esp)\n"                                                                 \
            "movl %ebp, 8(%esp)\n"                                                                 \
            "movl %esi, 12(%esp)\n"                                                                \
            "movl %edi, 16(%esp)\n"                                                                \
            "movl %ecx, 20(%esp)\n"                                                                \
            "movl %esp, %eax\n"                                                                    \
            "subl $4, %esp\n.cfi_adjust_cfa_offset 4\n"                                            \
            "pushl %eax\n.cfi_adjust_cfa_offset 4\n"                                               \
            "pushl 44(%esp)\n.cfi_adjust_cfa_offset 4\n"                                           \
            "pushl 44(%esp)\n.cfi_adjust_cfa_offset 4\n"                                           \
            "call " implementation "\n"                                                            \
            "addl $44, %esp\n"                                                                     \
            ".cfi_adjust_cfa_offset -44\n"                                                         \
            "ret\n"                                                                                \
            ".cfi_endproc\n" size)

#endif

/* The registers that FW_ENTRY saved. */
static inline void entry_regs(const ARCH_NATIVE_WORD *saved, struct regs *regs)
{
    /* Unrolled: compilers clear so much at once by string instructions, which start slowly. */
#pragma GCC unroll 34
    for (unsigned i = 0; i < ARCH_MAX_REGS; i++)
        regs->r[i] = 0;
    regs->known = 0;
#pragma GCC unroll 16
    for (unsigned i = 0; i < ENTRY_REGISTERS; i++)
        regs_set(regs, entry_register[i], saved[i]);
}

#endif
