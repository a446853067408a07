/*
 * System calls of Linux without libc in between: no errno, no cancellation point, no lazily bound
 * symbol. What a signal handler and the code around it may use whatever lock the thread holds.
 *
 * Each returns what the kernel returns: a value, or -errno. Calling conventions: syscall(2),
 * "Architecture calling conventions". Unwindable at the instruction: the stack pointer does not
 * move, except in the six-argument form of i386, which serves no call that sleeps.
 */
#ifndef OS_LINUX_SYS_H
#define OS_LINUX_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#if defined(__x86_64__)

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long sys_call4(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}

static inline long sys_call4(long number, long a, long b, long c, long d)
{
    return sys_call6(number, a, b, c, d, 0, 0);
}

#elif defined(__arm__)

/* r7 carries the number; it may be the frame pointer (Thumb), so it is put aside in a register. */
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    long aside;
    __asm__ volatile("mov %[aside], r7\n\tmov r7, %[number]\n\tsvc 0\n\tmov r7, %[aside]"
                     : "+r"(r0), [aside] "=&r"(aside)
                     : [number] "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "memory", "cc");
    return r0;
}

static inline long sys_call4(long number, long a, long b, long c, long d)
{
    return sys_call6(number, a, b, c, d, 0, 0);
}

#elif defined(__i386__)

/* The sixth argument goes in ebp, which no constraint can name: it is loaded from memory. */
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    const long argument[7] = {number, a, b, c, d, e, f};
    long result;
    __asm__ volatile("pushl %%ebp\n\tpushl %%ebx\n\t"
                     "movl 4(%%eax), %%ebx\n\tmovl 8(%%eax), %%ecx\n\tmovl 12(%%eax), %%edx\n\t"
                     "movl 16(%%eax), %%esi\n\tmovl 20(%%eax), %%edi\n\tmovl 24(%%eax), %%ebp\n\t"
                     "movl (%%eax), %%eax\n\tint $0x80\n\t"
                     "popl %%ebx\n\tpopl %%ebp"
                     : "=a"(result)
                     : "a"(argument)
                     : "ecx", "edx", "esi", "edi", "memory", "cc");
    return result;
}

static inline long sys_call4(long number, long a, long b, long c, long d)
{
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d)
                     : "memory", "cc");
    return result;
}

#else
#error "Framewalk does not know the system calls of this architecture"
#endif

static inline int32_t sys_getpid(void)
{
    return (int32_t)sys_call4(SYS_getpid, 0, 0, 0, 0);
}

static inline int32_t sys_gettid(void)
{
    return (int32_t)sys_call4(SYS_gettid, 0, 0, 0, 0);
}

static inline long sys_open(const char *path, int flags)
{
    return sys_call4(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, 0);
}

static inline long sys_read(int fd, void *to, size_t size)
{
    return sys_call4(SYS_read, fd, (long)to, (long)size, 0);
}

static inline long sys_close(int fd)
{
    return sys_call4(SYS_close, fd, 0, 0, 0);
}

static inline long sys_getdents64(int fd, void *to, size_t size)
{
    return sys_call4(SYS_getdents64, fd, (long)to, (long)size, 0);
}

/* Signal 0 only asks whether the thread is there. */
static inline long sys_tgkill(int32_t pid, int32_t tid, int signal)
{
    return sys_call4(SYS_tgkill, pid, tid, signal, 0);
}

static inline long sys_rt_tgsigqueueinfo(int32_t pid, int32_t tid, int signal, siginfo_t *info)
{
    return sys_call4(SYS_rt_tgsigqueueinfo, pid, tid, signal, (long)info);
}

enum {
    SYS_FUTEX_WAIT_PRIVATE = 0 | 128, /* FUTEX_WAIT, FUTEX_WAKE with FUTEX_PRIVATE_FLAG */
    SYS_FUTEX_WAKE_PRIVATE = 1 | 128,
};

/* Sleeps while *word == expected, at most `ns` nanoseconds. */
static inline long sys_futex_wait(const void *word, uint32_t expected, uint64_t ns)
{
    const struct {
        long seconds, nanoseconds; /* SYS_futex takes the kernel's long-sized timespec */
    } timeout = {(long)(ns / 1000000000), (long)(ns % 1000000000)};
    return sys_call4(SYS_futex, (long)word, SYS_FUTEX_WAIT_PRIVATE, (long)expected, (long)&timeout);
}

static inline long sys_futex_wake(const void *word, uint32_t waiters)
{
    return sys_call4(SYS_futex, (long)word, SYS_FUTEX_WAKE_PRIVATE, (long)waiters, 0);
}

/* Copies memory of the process that has the living thread `tid`; stops at the first unreadable page
 * instead of faulting. */
static inline long sys_read_memory(int32_t tid, uint64_t address, void *to, size_t size)
{
    const struct iovec local = {to, size};
    const struct iovec remote = {(void *)(uintptr_t)address, size};
    return sys_call6(SYS_process_vm_readv, tid, (long)&local, 1, (long)&remote, 1, 0);
}

static inline uint64_t sys_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
