/* libpthread's objects: a signature and room; the sizes are part of Darwin's ABI. */
#ifndef MACHHOST_SYS__PTHREAD_TYPES_H
#define MACHHOST_SYS__PTHREAD_TYPES_H
#if defined(__LP64__)
#define __MACHHOST_SIZES(lp64, ilp32) lp64
#else
#define __MACHHOST_SIZES(lp64, ilp32) ilp32
#endif
#define __MACHHOST_OPAQUE(name, lp64, ilp32)                                                       \
    struct _opaque_##name##_t {                                                                    \
        long __sig;                                                                                \
        char __opaque[__MACHHOST_SIZES(lp64, ilp32)];                                              \
    };                                                                                             \
    typedef struct _opaque_##name##_t name##_t
__MACHHOST_OPAQUE(pthread_attr, 56, 36);
__MACHHOST_OPAQUE(pthread_cond, 40, 24);
__MACHHOST_OPAQUE(pthread_condattr, 8, 4);
__MACHHOST_OPAQUE(pthread_mutex, 56, 40);
__MACHHOST_OPAQUE(pthread_mutexattr, 8, 8);
__MACHHOST_OPAQUE(pthread_once, 8, 4);
__MACHHOST_OPAQUE(pthread_rwlock, 192, 124);
__MACHHOST_OPAQUE(pthread_rwlockattr, 16, 12);
struct _opaque_pthread_t {
    long __sig;
    void *__cleanup_stack;
    char __opaque[__MACHHOST_SIZES(8176, 4088)];
};
typedef struct _opaque_pthread_t *pthread_t;
typedef unsigned long pthread_key_t;
#endif
