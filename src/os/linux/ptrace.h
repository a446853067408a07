/*
 * Stopping one thread of another process with ptrace(2), and letting it go as it was.
 *
 *     seize ──interrupt──> wait ──> stopped: registers, memory ──> release
 *
 * PTRACE_SEIZE never sends SIGSTOP, so the target cannot see the stop, and a thread that was
 * stopped by job control stays so after the release. A signal that the thread was about to take
 * when it stopped is handed back at the release.
 *
 * Invariant: ptrace belongs to the calling thread. A thread that does not stop in time cannot be
 * released by any request; only the end of the calling thread releases it. Therefore these are
 * called on a thread of their own that ends after each capture.
 */
#ifndef OS_LINUX_PTRACE_H
#define OS_LINUX_PTRACE_H

#include "arch/arch.h"

#include <sys/types.h>

enum trace_status {
    TRACE_OK,
    TRACE_GONE,    /* the thread ended */
    TRACE_DENIED,  /* not permitted, or traced by somebody else */
    TRACE_TIMEOUT, /* did not stop in time */
    TRACE_FAILED,  /* errno says why */
};

struct trace {
    pid_t tid;
    int signal; /* to hand back at the release */
};

/* To be called on the thread that traces, before anything else. */
void trace_begin_thread(void);

/* Leaves the processor to others for a moment. */
void trace_nap(void);

/* Nanoseconds of a clock that only goes forward. */
uint64_t trace_clock(void);

/* Takes the end of a thread that this program traces, from any of its threads; nothing happens when
 * it goes on or is somebody else's. An execve waits, with a lock that trace_seize wants, until all
 * other threads of its process have ended so. */
void trace_reap(pid_t tid);

enum trace_status trace_seize(struct trace *trace, pid_t tid);
/* Asks the seized thread to stop. */
enum trace_status trace_interrupt(struct trace *trace);
/* Waits until it has stopped, at the most until trace_clock() is `deadline`. */
enum trace_status trace_wait(struct trace *trace, uint64_t deadline);
/* The registers of the stopped thread, and its architecture (by the size of its register set);
 * *pac_mask gets the pointer-authentication bits of code addresses (aarch64), else 0. */
enum trace_status trace_registers(const struct trace *trace, const struct arch **arch,
                                  struct regs *regs, uint64_t *pac_mask);
/* Lets it go on, or stay stopped if job control had stopped it. */
void trace_release(struct trace *trace);
/* After a seized thread turned out to be gone: when it called execve it lives on under the
 * process's id and is still seized; lets that one go. */
void trace_abandon(pid_t pid, uint64_t deadline);

/* Copies what can be read of [address, address + size) from its beginning; returns how many bytes.
 */
size_t trace_read(pid_t tid, uint64_t address, void *to, size_t size);

#endif
