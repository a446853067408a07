#ifndef MACHHOST_MACH_I386_THREAD_STATUS_H
#define MACHHOST_MACH_I386_THREAD_STATUS_H
#include <mach/i386/_structs.h>
#include <mach/i386/thread_state.h>
#include <mach/message.h>
#define x86_THREAD_STATE32    1
#define x86_FLOAT_STATE32     2
#define x86_EXCEPTION_STATE32 3
#define x86_THREAD_STATE64    4
#define x86_FLOAT_STATE64     5
#define x86_EXCEPTION_STATE64 6
#define x86_THREAD_STATE      7
typedef _STRUCT_X86_THREAD_STATE32 x86_thread_state32_t;
typedef _STRUCT_X86_THREAD_STATE32 i386_thread_state_t;
typedef _STRUCT_X86_THREAD_STATE64 x86_thread_state64_t;
typedef _STRUCT_X86_EXCEPTION_STATE64 x86_exception_state64_t;
struct x86_state_hdr {
    uint32_t flavor;
    uint32_t count;
};
typedef struct x86_state_hdr x86_state_hdr_t;
struct x86_thread_state {
    x86_state_hdr_t tsh;
    union {
        x86_thread_state32_t ts32;
        x86_thread_state64_t ts64;
    } uts;
};
typedef struct x86_thread_state x86_thread_state_t;
#define MACHHOST_COUNT(type)        ((mach_msg_type_number_t)(sizeof(type) / sizeof(int)))
#define x86_THREAD_STATE32_COUNT    MACHHOST_COUNT(x86_thread_state32_t)
#define i386_THREAD_STATE           x86_THREAD_STATE32
#define i386_THREAD_STATE_COUNT     x86_THREAD_STATE32_COUNT
#define x86_THREAD_STATE64_COUNT    MACHHOST_COUNT(x86_thread_state64_t)
#define x86_EXCEPTION_STATE64_COUNT MACHHOST_COUNT(x86_exception_state64_t)
#define x86_THREAD_STATE_COUNT      MACHHOST_COUNT(x86_thread_state_t)
#define MACHINE_THREAD_STATE        x86_THREAD_STATE
#define MACHINE_THREAD_STATE_COUNT  x86_THREAD_STATE_COUNT
#endif
