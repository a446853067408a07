#include "os/linux/ptrace.h"

#include "os/linux/procfs.h"
#include "os/linux/regset.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif

/* How to wait for a stop: there is no waitpid with a bound. A thread that runs elsewhere stops
 * within microseconds, so it is looked for at once. One that sleeps is woken on the waker's own
 * processor and needs it to stop: only a real nap frees that. Yielding hands it to whoever
 * computes, for a whole time slice, and a nap of a few microseconds is over before it began.
 * Measured on two processors: looking longer, and napping less than 20 us, made pauses longer.
 * trace_begin_thread makes naps exact. */
enum {
    LOOK_NS = 2 * 1000,
    SHORT_NAP_NS = 20 * 1000,
    SHORT_NAPS_NS = 2 * 1000 * 1000,
    LONG_NAP_NS = 50 * 1000,
};

uint64_t trace_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void trace_begin_thread(void)
{
    prctl(PR_SET_TIMERSLACK, 1);
}

void trace_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = SHORT_NAP_NS}, NULL);
}

static enum trace_status status_of_errno(void)
{
    switch (errno) {
    case ESRCH: return TRACE_GONE;
    case EPERM:
    case EACCES: return TRACE_DENIED;
    default: return TRACE_FAILED;
    }
}

enum trace_status trace_seize(struct trace *trace, pid_t tid)
{
    *trace = (struct trace){.tid = tid};
    return ptrace(PTRACE_SEIZE, tid, 0, 0) ? status_of_errno() : TRACE_OK;
}

enum trace_status trace_interrupt(struct trace *trace)
{
    return ptrace(PTRACE_INTERRUPT, trace->tid, 0, 0) ? status_of_errno() : TRACE_OK;
}

/* Remembers the signal that a stop in the middle of its delivery holds back. A stop that our
 * request or job control caused (PTRACE_EVENT_STOP) holds none. */
static void note_stop(struct trace *trace, int signal, int event)
{
    trace->signal = event ? 0 : signal;
}

/* Takes what a stop left for us, but not what an end did: that may be for somebody else. */
static bool has_stopped(struct trace *trace)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)trace->tid, &info, WSTOPPED | WNOHANG | __WALL) || !info.si_pid)
        return false;
    note_stop(trace, info.si_status & 0x7f, info.si_status >> 8);
    return true;
}

/* Takes the end of a thread, without which it would stay as a zombie and hold up an execve of the
 * others. Not that of our own child: its status belongs to the part of this program that began it.
 */
static bool has_ended(const struct trace *trace)
{
    siginfo_t info = {.si_pid = 0};
    uint64_t leader, parent;
    const int look = WEXITED | WNOHANG | __WALL;
    if (waitid(P_PID, (id_t)trace->tid, &info, look | WNOWAIT))
        return errno != EINTR;
    if (!info.si_pid || info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
        return false; /* stops of traced threads are told whatever is asked for */
    bool own = procfs_status(trace->tid, "Tgid", 10, &leader) && (pid_t)leader == trace->tid &&
               procfs_status(trace->tid, "PPid", 10, &parent) && (pid_t)parent == getpid();
    if (!own)
        waitid(P_PID, (id_t)trace->tid, &info, look);
    return true;
}

/* Somebody else in this program may have taken the stop from under us with waitpid(-1): then ptrace
 * requests work although waitpid never told. */
static bool stopped_unnoticed(struct trace *trace)
{
    siginfo_t info;
    if (ptrace(PTRACE_GETSIGINFO, trace->tid, 0, &info))
        return false;
    note_stop(trace, info.si_signo, info.si_code >> 8 == PTRACE_EVENT_STOP);
    return true;
}

void trace_reap(pid_t tid)
{
    const struct trace trace = {.tid = tid};
    has_ended(&trace);
}

enum trace_status trace_wait(struct trace *trace, uint64_t deadline)
{
    uint64_t start = trace_clock();
    for (;;) {
        if (has_stopped(trace))
            return TRACE_OK;
        uint64_t now = trace_clock();
        if ((now >= deadline || now - start >= LOOK_NS) && has_ended(trace))
            return TRACE_GONE;
        if (now >= deadline)
            return stopped_unnoticed(trace) ? TRACE_OK : TRACE_TIMEOUT;
        if (now - start < LOOK_NS)
            continue;
        bool late = now - start > SHORT_NAPS_NS;
        if (late && stopped_unnoticed(trace))
            return TRACE_OK;
        nanosleep(&(struct timespec){.tv_nsec = late ? LONG_NAP_NS : SHORT_NAP_NS}, NULL);
    }
}

static uint64_t pac_mask_of(const struct trace *trace, const struct arch *arch)
{
    if (arch->id != ARCH_AARCH64)
        return 0;
    uint64_t masks[2] = {0}; /* data, instruction */
    struct iovec iov = {masks, sizeof masks};
    if (ptrace(PTRACE_GETREGSET, trace->tid, NT_ARM_PAC_MASK, &iov) || iov.iov_len < sizeof masks)
        return 0;
    return masks[1];
}

enum trace_status trace_registers(const struct trace *trace, const struct arch **arch,
                                  struct regs *regs, uint64_t *pac_mask)
{
    uint8_t bytes[REGSET_MAX_SIZE];
    struct iovec iov = {bytes, sizeof bytes};
    if (ptrace(PTRACE_GETREGSET, trace->tid, NT_PRSTATUS, &iov))
        return status_of_errno();
    *arch = regset_arch(iov.iov_len);
    if (!*arch || !regset_decode(*arch, reader_over(bytes, iov.iov_len), regs)) {
        errno = ENOTSUP;
        return TRACE_FAILED;
    }
    *pac_mask = pac_mask_of(trace, *arch);
    return TRACE_OK;
}

void trace_release(struct trace *trace)
{
    ptrace(PTRACE_DETACH, trace->tid, 0, (void *)(intptr_t)trace->signal);
    trace->signal = 0;
}

void trace_abandon(pid_t pid, uint64_t deadline)
{
    uint64_t tracer;
    if (!procfs_status(pid, "TracerPid", 10, &tracer) ||
        (pid_t)tracer != (pid_t)syscall(SYS_gettid))
        return;
    struct trace heir = {.tid = pid};
    if (trace_interrupt(&heir) == TRACE_OK && trace_wait(&heir, deadline) == TRACE_OK)
        trace_release(&heir);
}

size_t trace_read(pid_t tid, uint64_t address, void *to, size_t size)
{
    if (address > UINTPTR_MAX || !size)
        return 0;
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    ssize_t n = process_vm_readv(tid, &local, 1, &remote, 1, 0);
    return n < 0 ? 0 : (size_t)n;
}
