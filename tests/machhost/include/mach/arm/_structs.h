/*
 * Register sets of 32-bit and 64-bit ARM. Code that signs pointers (arm64e) sees fp, lr, sp and pc
 * as signed pointers, which only the accessors read.
 */
#ifndef MACHHOST_MACH_ARM_STRUCTS_H
#define MACHHOST_MACH_ARM_STRUCTS_H
#if defined(__arm__) || defined(__arm64__) || defined(__aarch64__)
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(ptrauth_calls) && defined(__LP64__)
#define __DARWIN_OPAQUE_ARM_THREAD_STATE64 1
#endif
#endif
#ifndef __DARWIN_OPAQUE_ARM_THREAD_STATE64
#define __DARWIN_OPAQUE_ARM_THREAD_STATE64 0
#endif

#define _STRUCT_ARM_THREAD_STATE struct __darwin_arm_thread_state
_STRUCT_ARM_THREAD_STATE
{
    uint32_t __r[13];
    uint32_t __sp;
    uint32_t __lr;
    uint32_t __pc;
    uint32_t __cpsr;
};
#define _STRUCT_ARM_EXCEPTION_STATE struct __darwin_arm_exception_state
_STRUCT_ARM_EXCEPTION_STATE
{
    uint32_t __exception;
    uint32_t __fsr;
    uint32_t __far;
};
#define _STRUCT_ARM_VFP_STATE struct __darwin_arm_vfp_state
_STRUCT_ARM_VFP_STATE
{
    uint32_t __r[64];
    uint32_t __fpscr;
};

#define _STRUCT_ARM_THREAD_STATE64 struct __darwin_arm_thread_state64
#if __DARWIN_OPAQUE_ARM_THREAD_STATE64
_STRUCT_ARM_THREAD_STATE64
{
    uint64_t __x[29];
    void *__opaque_fp;
    void *__opaque_lr;
    void *__opaque_sp;
    void *__opaque_pc;
    uint32_t __cpsr;
    uint32_t __opaque_flags;
};
#else
_STRUCT_ARM_THREAD_STATE64
{
    uint64_t __x[29];
    uint64_t __fp;
    uint64_t __lr;
    uint64_t __sp;
    uint64_t __pc;
    uint32_t __cpsr;
    uint32_t __pad;
};
#endif
#define _STRUCT_ARM_EXCEPTION_STATE64 struct __darwin_arm_exception_state64
_STRUCT_ARM_EXCEPTION_STATE64
{
    uint64_t __far;
    uint32_t __esr;
    uint32_t __exception;
};
#define _STRUCT_ARM_NEON_STATE64 struct __darwin_arm_neon_state64
_STRUCT_ARM_NEON_STATE64
{
#if defined(__SIZEOF_INT128__)
    __extension__ unsigned __int128 __v[32];
#else
    struct {
        uint64_t half[2];
    } __attribute__((aligned(16))) __v[32];
#endif
    uint32_t __fpsr;
    uint32_t __fpcr;
};

#define __DARWIN_ARM_THREAD_STATE64_FLAGS_NO_PTRAUTH   0x1
#define __DARWIN_ARM_THREAD_STATE64_FLAGS_IB_SIGNED_LR 0x2

#if __DARWIN_OPAQUE_ARM_THREAD_STATE64
#include <ptrauth.h>
#define __machhost_auth(ts, field, key, text)                                                      \
    __extension__({                                                                                \
        const _STRUCT_ARM_THREAD_STATE64 *machhost_ts = &(ts);                                     \
        (uintptr_t)((machhost_ts->field && !(machhost_ts->__opaque_flags &                         \
                                             __DARWIN_ARM_THREAD_STATE64_FLAGS_NO_PTRAUTH))        \
                        ? ptrauth_auth_data(machhost_ts->field, key,                               \
                                            ptrauth_string_discriminator(text))                    \
                        : machhost_ts->field);                                                     \
    })
#define arm_thread_state64_get_pc(ts)                                                              \
    __machhost_auth(ts, __opaque_pc, ptrauth_key_process_independent_code, "pc")
#define arm_thread_state64_get_lr(ts)                                                              \
    (((ts).__opaque_flags & __DARWIN_ARM_THREAD_STATE64_FLAGS_IB_SIGNED_LR)                        \
         ? (uintptr_t)(ts).__opaque_lr                                                             \
         : __machhost_auth(ts, __opaque_lr, ptrauth_key_process_independent_code, "lr"))
#define arm_thread_state64_get_sp(ts)                                                              \
    __machhost_auth(ts, __opaque_sp, ptrauth_key_process_independent_data, "sp")
#define arm_thread_state64_get_fp(ts)                                                              \
    __machhost_auth(ts, __opaque_fp, ptrauth_key_process_independent_data, "fp")
#define __machhost_strip(ts, field, key) ((ts)->field = ptrauth_strip((ts)->field, key))
#define arm_thread_state64_ptrauth_strip(ts)                                                       \
    __extension__({                                                                                \
        _STRUCT_ARM_THREAD_STATE64 *machhost_ts = &(ts);                                           \
        if (!(machhost_ts->__opaque_flags & __DARWIN_ARM_THREAD_STATE64_FLAGS_NO_PTRAUTH)) {       \
            __machhost_strip(machhost_ts, __opaque_pc, ptrauth_key_process_independent_code);      \
            __machhost_strip(machhost_ts, __opaque_sp, ptrauth_key_process_independent_data);      \
            __machhost_strip(machhost_ts, __opaque_fp, ptrauth_key_process_independent_data);      \
            if (!(machhost_ts->__opaque_flags & __DARWIN_ARM_THREAD_STATE64_FLAGS_IB_SIGNED_LR))   \
                __machhost_strip(machhost_ts, __opaque_lr, ptrauth_key_process_independent_code);  \
        }                                                                                          \
        machhost_ts->__opaque_flags |= __DARWIN_ARM_THREAD_STATE64_FLAGS_NO_PTRAUTH;               \
    })
#elif !defined(__arm__)
#define arm_thread_state64_ptrauth_strip(ts) (void)(ts)
#define arm_thread_state64_get_pc(ts)        ((uintptr_t)(ts).__pc)
#define arm_thread_state64_get_lr(ts)        ((uintptr_t)(ts).__lr)
#define arm_thread_state64_get_sp(ts)        ((uintptr_t)(ts).__sp)
#define arm_thread_state64_get_fp(ts)        ((uintptr_t)(ts).__fp)
#endif
#define __darwin_arm_thread_state64_get_pc(ts) arm_thread_state64_get_pc(ts)
#define __darwin_arm_thread_state64_get_lr(ts) arm_thread_state64_get_lr(ts)
#define __darwin_arm_thread_state64_get_sp(ts) arm_thread_state64_get_sp(ts)
#define __darwin_arm_thread_state64_get_fp(ts) arm_thread_state64_get_fp(ts)

#endif
#endif
