/* The context that a signal handler gets: a pointer to the machine's part, unlike Linux's. */
#ifndef MACHHOST_SYS_UCONTEXT_H
#define MACHHOST_SYS_UCONTEXT_H
#include <mach/machine/_structs.h>
#include <sys/_types.h>
#if defined(__x86_64__)
struct __darwin_mcontext64 {
    _STRUCT_X86_EXCEPTION_STATE64 __es;
    _STRUCT_X86_THREAD_STATE64 __ss;
    _STRUCT_X86_FLOAT_STATE64 __fs;
};
typedef struct __darwin_mcontext64 *mcontext_t;
#elif defined(__i386__)
struct __darwin_mcontext32 {
    _STRUCT_X86_EXCEPTION_STATE32 __es;
    _STRUCT_X86_THREAD_STATE32 __ss;
    _STRUCT_X86_FLOAT_STATE32 __fs;
};
typedef struct __darwin_mcontext32 *mcontext_t;
#elif defined(__arm__)
struct __darwin_mcontext32 {
    _STRUCT_ARM_EXCEPTION_STATE __es;
    _STRUCT_ARM_THREAD_STATE __ss;
    _STRUCT_ARM_VFP_STATE __fs;
};
typedef struct __darwin_mcontext32 *mcontext_t;
#else
struct __darwin_mcontext64 {
    _STRUCT_ARM_EXCEPTION_STATE64 __es;
    _STRUCT_ARM_THREAD_STATE64 __ss;
    _STRUCT_ARM_NEON_STATE64 __ns;
};
typedef struct __darwin_mcontext64 *mcontext_t;
#endif
struct __darwin_sigaltstack {
    void *ss_sp;
    size_t ss_size;
    int ss_flags;
};
typedef struct __darwin_sigaltstack stack_t;
struct __darwin_ucontext {
    int uc_onstack;
    sigset_t uc_sigmask;
    stack_t uc_stack;
    struct __darwin_ucontext *uc_link;
    size_t uc_mcsize;
    mcontext_t uc_mcontext;
};
typedef struct __darwin_ucontext ucontext_t;
#endif
