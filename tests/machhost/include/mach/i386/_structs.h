/* Register sets of i386 and x86_64. */
#ifndef MACHHOST_MACH_I386_STRUCTS_H
#define MACHHOST_MACH_I386_STRUCTS_H
#if defined(__i386__) || defined(__x86_64__)
#include <stdint.h>
#define _STRUCT_X86_THREAD_STATE32 struct __darwin_i386_thread_state
_STRUCT_X86_THREAD_STATE32
{
    unsigned int __eax;
    unsigned int __ebx;
    unsigned int __ecx;
    unsigned int __edx;
    unsigned int __edi;
    unsigned int __esi;
    unsigned int __ebp;
    unsigned int __esp;
    unsigned int __ss;
    unsigned int __eflags;
    unsigned int __eip;
    unsigned int __cs;
    unsigned int __ds;
    unsigned int __es;
    unsigned int __fs;
    unsigned int __gs;
};
#define _STRUCT_X86_THREAD_STATE64 struct __darwin_x86_thread_state64
_STRUCT_X86_THREAD_STATE64
{
    uint64_t __rax;
    uint64_t __rbx;
    uint64_t __rcx;
    uint64_t __rdx;
    uint64_t __rdi;
    uint64_t __rsi;
    uint64_t __rbp;
    uint64_t __rsp;
    uint64_t __r8;
    uint64_t __r9;
    uint64_t __r10;
    uint64_t __r11;
    uint64_t __r12;
    uint64_t __r13;
    uint64_t __r14;
    uint64_t __r15;
    uint64_t __rip;
    uint64_t __rflags;
    uint64_t __cs;
    uint64_t __fs;
    uint64_t __gs;
};
#define _STRUCT_X86_EXCEPTION_STATE32 struct __darwin_i386_exception_state
_STRUCT_X86_EXCEPTION_STATE32
{
    uint16_t __trapno;
    uint16_t __cpu;
    uint32_t __err;
    uint32_t __faultvaddr;
};
#define _STRUCT_X86_EXCEPTION_STATE64 struct __darwin_x86_exception_state64
_STRUCT_X86_EXCEPTION_STATE64
{
    uint16_t __trapno;
    uint16_t __cpu;
    uint32_t __err;
    uint64_t __faultvaddr;
};
/* The floating point sets are opaque here; their size is what places the fields after them. */
#define _STRUCT_X86_FLOAT_STATE32 struct __darwin_i386_float_state
_STRUCT_X86_FLOAT_STATE32
{
    uint32_t __bytes[131];
};
#define _STRUCT_X86_FLOAT_STATE64 struct __darwin_x86_float_state64
_STRUCT_X86_FLOAT_STATE64
{
    uint32_t __bytes[131];
};
#endif
#endif
