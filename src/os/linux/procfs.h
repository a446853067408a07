/*
 * /proc of one process: what the kernel says about its threads. Format: proc(5).
 *
 * Everything here reads text that another process influences (names, paths), into buffers of a
 * fixed size or of a size that is capped. Nothing needs the process to be stopped.
 */
#ifndef OS_LINUX_PROCFS_H
#define OS_LINUX_PROCFS_H

#include "framewalk/threads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What /proc/PID/task/TID/stat tells. */
struct procfs_stat {
    char state;     /* as in struct fw_thread */
    bool exiting;   /* on its way out */
    bool kernel;    /* a kernel thread: it has no user stack */
    uint64_t start; /* clock ticks after boot */
    char name[FW_THREAD_NAME_SIZE];
};

/* How /proc/PID/task/TID/syscall describes a thread. */
enum procfs_place {
    PROCFS_RUNNING, /* on a processor or ready: nothing known */
    PROCFS_ASLEEP,  /* in the kernel: the registers are those it will return with */
    PROCFS_DENIED,
    PROCFS_GONE,
};

struct procfs_syscall {
    uint64_t sp, pc;
    uint64_t argument[6]; /* registers of the call's arguments, as they still are */
    bool in_call;         /* else it sleeps in a fault or the like, and `argument` is not filled */
};

struct tid_list {
    pid_t *list;
    size_t count, capacity;
};

/* The descriptor of /proc/PID/task, or -1 with errno. */
int procfs_open_tasks(pid_t pid);

/* Lists the threads in kernel order. False with errno when the folder cannot be read or memory is
 * short; a process that ended gives ESRCH or ENOENT. Free with free(list->list). */
bool procfs_list_tasks(int tasks, struct tid_list *list);
bool tid_list_add(struct tid_list *list, pid_t tid);

/* Reads a small file below `dir` (or absolute) whole or its first size - 1 bytes; the text ends
 * with NUL. Returns its length or -1 with errno. */
ssize_t procfs_read(int dir, const char *path, char *text, size_t size);

/* Reads a file of any length up to `limit`, as malloc'ed text that ends with NUL. NULL with errno.
 */
char *procfs_read_all(int dir, const char *path, size_t limit, size_t *size);

bool procfs_parse_stat(const char *text, struct procfs_stat *stat);
bool procfs_thread_stat(int tasks, pid_t tid, struct procfs_stat *stat);
/* Is the thread there, and neither dead nor about to die (exiting, or SIGKILL waits for it)? */
bool procfs_is_alive(int tasks, pid_t tid);

/* The kernel function that the thread waits in, "" when it runs or nobody tells. */
void procfs_wait_channel(int tasks, pid_t tid, char *text, size_t size);

enum procfs_place procfs_parse_syscall(const char *text, struct procfs_syscall *syscall);
enum procfs_place procfs_thread_syscall(int tasks, pid_t tid, struct procfs_syscall *syscall);

/* How often the thread was switched off its processor: unchanged means that it did not run between
 * two looks at it while it was asleep. False when nobody tells. */
bool procfs_switches(int tasks, pid_t tid, uint64_t *count);

/* First number of the line `key` ("TracerPid") of a status file; `base` 10 or 16. */
bool procfs_parse_status(const char *text, const char *key, int base, uint64_t *value);
bool procfs_status(pid_t tid, const char *key, int base, uint64_t *value);

/* The target of a link like /proc/PID/exe into `text`, or false. */
bool procfs_link(pid_t tid, const char *name, char *text, size_t size);

/* One line on why ptrace of thread `tid` of `pid` was refused and what to change. */
void procfs_explain_denial(pid_t pid, pid_t tid, char *text, size_t size);

#endif
