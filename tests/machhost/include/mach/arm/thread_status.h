#ifndef MACHHOST_MACH_ARM_THREAD_STATUS_H
#define MACHHOST_MACH_ARM_THREAD_STATUS_H
#include <mach/arm/_structs.h>
#include <mach/arm/thread_state.h>
#include <mach/message.h>
#define ARM_THREAD_STATE         1
#define ARM_UNIFIED_THREAD_STATE ARM_THREAD_STATE
#define ARM_VFP_STATE            2
#define ARM_EXCEPTION_STATE      3
#define ARM_THREAD_STATE64       6
#define ARM_EXCEPTION_STATE64    7
#define ARM_THREAD_STATE32       9
#define ARM_NEON_STATE64         17
typedef _STRUCT_ARM_THREAD_STATE arm_thread_state_t;
typedef _STRUCT_ARM_THREAD_STATE arm_thread_state32_t;
typedef _STRUCT_ARM_THREAD_STATE64 arm_thread_state64_t;
typedef _STRUCT_ARM_EXCEPTION_STATE arm_exception_state_t;
typedef _STRUCT_ARM_EXCEPTION_STATE64 arm_exception_state64_t;
typedef _STRUCT_ARM_NEON_STATE64 arm_neon_state64_t;
struct arm_state_hdr {
    uint32_t flavor;
    uint32_t count;
};
typedef struct arm_state_hdr arm_state_hdr_t;
struct arm_unified_thread_state {
    arm_state_hdr_t ash;
    union {
        arm_thread_state32_t ts_32;
        arm_thread_state64_t ts_64;
    } uts;
};
#define ts_32 uts.ts_32
#define ts_64 uts.ts_64
typedef struct arm_unified_thread_state arm_unified_thread_state_t;
#define MACHHOST_COUNT(type)           ((mach_msg_type_number_t)(sizeof(type) / sizeof(uint32_t)))
#define ARM_THREAD_STATE_COUNT         MACHHOST_COUNT(arm_thread_state_t)
#define ARM_THREAD_STATE32_COUNT       MACHHOST_COUNT(arm_thread_state32_t)
#define ARM_THREAD_STATE64_COUNT       MACHHOST_COUNT(arm_thread_state64_t)
#define ARM_UNIFIED_THREAD_STATE_COUNT MACHHOST_COUNT(arm_unified_thread_state_t)
#define ARM_EXCEPTION_STATE64_COUNT    MACHHOST_COUNT(arm_exception_state64_t)
#define ARM_NEON_STATE64_COUNT         MACHHOST_COUNT(arm_neon_state64_t)
#define MACHINE_THREAD_STATE           ARM_THREAD_STATE
#define MACHINE_THREAD_STATE_COUNT     ARM_UNIFIED_THREAD_STATE_COUNT
#endif
