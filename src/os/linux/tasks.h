/*
 * The tasks (kernel's word for threads) of this process, as /proc/self/task tells: who is there,
 * name, state, and where a sleeping one left user space.
 *
 * Everything here uses raw system calls and memory of the caller: no allocation, stdio or lock.
 */
#ifndef OS_LINUX_TASKS_H
#define OS_LINUX_TASKS_H

#include "framewalk/threads.h"

/* Calls `each` with every id, in the kernel's order, at least once; a list that changed while it
 * was read is read again, so ids may come twice. FW_ERR_UNSUPPORTED when /proc belongs to another
 * pid namespace: its ids would mean other threads. */
fw_error tasks_each(void (*each)(void *context, unsigned pass, fw_thread_id id), void *context);

/* Name (terminated) and state letter from one read of `stat`; false when the task is gone. */
bool tasks_describe(fw_thread_id id, char name[FW_THREAD_NAME_SIZE], char *state);

/* What bears on whether a task can answer a signal. */
struct task_status {
    char state;        /* letter, as in fw_thread */
    uint64_t blocked;  /* its signal mask: bit n - 1 for signal n */
    uint64_t pending;  /* directed signals that wait for it */
    uint64_t switches; /* times it left a processor; unchanged means that it did not run and stop */
};

/* FW_ERR_NOT_FOUND when the task is gone; FW_ERR_UNSUPPORTED when this kernel does not say all of
 * it. */
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

#endif
