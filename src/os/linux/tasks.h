/*
 * The tasks (kernel's word for threads) of this process, as /proc/self/task tells: who is there,
 * name, state, and where a sleeping one left user space.
 *
 * Everything here uses raw system calls and memory of the caller: no allocation, stdio or lock.
 * What all systems have in common is declared in os/threads.h, and defined here for Linux.
 */
#ifndef OS_LINUX_TASKS_H
#define OS_LINUX_TASKS_H

#include "os/threads.h"

/* What bears on whether a task can answer a signal. */
struct task_status {
    char state;        /* letter, as in fw_thread */
    uint64_t blocked;  /* its signal mask: bit n - 1 for signal n */
    uint64_t pending;  /* directed signals that wait for it */
    uint64_t switches; /* times it left a processor; unchanged means that it did not run and stop */
};

/* FW_ERR_NOT_FOUND when the task is gone; FW_ERR_UNSUPPORTED when this kernel does not say all of
 * it, or there is no /proc. */
fw_error tasks_status(fw_thread_id id, struct task_status *status);

/* Where a task that is off the processor entered the kernel. */
struct task_registers {
    uint64_t pc, sp;
    uint64_t argument[6]; /* the system call's, in the order of syscall(2) */
    bool in_call;         /* it is in a system call; else `argument` is not filled */
};

/* FW_ERR_NOT_FOUND: the task is gone. FW_ERR_VANISHED: it runs. FW_ERR_UNSUPPORTED: this kernel
 * does not say. */
fw_error tasks_registers(fw_thread_id id, struct task_registers *registers);

/* How long a task has been on a processor, in nanoseconds, up to now; 0: not known. */
uint64_t tasks_cpu_ns(fw_thread_id id);

/* The status of a task that has ended and is still in the list, as wait(2) tells it; 0 when it is
 * not known. */
int tasks_exit_status(fw_thread_id id);

#endif
