/* What the shims know of Darwin's types. The shims themselves are called by the table alone. */
#ifndef MACHHOST_SHIMS_H
#define MACHHOST_SHIMS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* A pthread object: a signature and room. */
struct darwin_opaque {
    uint64_t signature;
    char opaque[];
};

/*
 * Variable arguments: on x86_64 as on Linux; on arm64 Darwin passes all of them in 8-byte slots on
 * the stack, and a va_list is a pointer to the next.
 */
#if defined(__x86_64__)
typedef va_list darwin_va_list;
#define DOTS ...
#define DOTS_START(args, last)                                                                     \
    va_list args;                                                                                  \
    va_start(args, last)
#define DOTS_END(args) va_end(args)
#define DOTS_INT(args) va_arg(args, int)
#else
typedef const uint64_t *darwin_va_list;
#define DOTS                   const uint64_t *slots
#define DOTS_START(args, last) darwin_va_list args = slots
#define DOTS_END(args)         (void)args
#define DOTS_INT(args)         (int)*args
#endif

/* mach.c, exported to itself by the table as well */
int shim_vm_deallocate(uint32_t task, uintptr_t address, uintptr_t size);

#endif
