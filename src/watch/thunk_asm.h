/* Names and directives that differ between ELF and Mach-O assembly. */
#ifndef WATCH_THUNK_ASM_H
#define WATCH_THUNK_ASM_H

/* clang-format off */
#if defined(__APPLE__)
#define SYMBOL(name)   _##name
#define LOCAL(name)    L##name
#define TEXT           .section __TEXT, __text, regular, pure_instructions
#define HIDDEN(name)   .private_extern _##name
#define FUNCTION(name) .globl _##name
#define SIZE(name)
#else
#define SYMBOL(name)   name
#define LOCAL(name)    .L##name
#define TEXT           .section .text.calls_thunks, "ax", %progbits
#define HIDDEN(name)   .hidden name
#define FUNCTION(name) .globl name; .type name, %function
#define SIZE(name)     .size name, . - name
#endif

/* clang-format on */

#endif
