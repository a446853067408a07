/*
 * The watch's own threads, which must not keep a program alive.
 *
 * A process lives as long as it has a thread, and libc's exit(0) at the end of the last one counts
 * threads (pthread_exit(3): "after the last thread in a process terminates, the process terminates
 * as by calling exit(3) with an exit status of zero"). Threads of ours are none of the program's:
 *
 *  - glibc is told not to count them. So the program's last thread, when it ends by returning or by
 *    pthread_exit(), ends the process as if we were not there: in that thread, with its files.
 *  - Who leaves by the system call _exit(2) alone, or is killed alone by seccomp(2), is seen by the
 *    kernel only. Then only ours are left, which own_threads_alone() tells, and they leave as well.
 *    The process then ends as it would have: with the status of its last thread, or before Linux
 *    5.17 of its first, or by the signal that killed that thread.
 *
 * Apple's main threads are the application's: they do not leave, and nothing is done there.
 */
#ifndef WATCH_OWN_THREADS_H
#define WATCH_OWN_THREADS_H

#include <stdbool.h>

/* What one of them has seen of the program's end; zeroed. */
struct own_threads_end {
    unsigned looks; /* at a process without its first thread */
    bool others;    /* others of the program's lived then */
};

#if defined(__APPLE__)
static inline void own_thread_announce(int more)
{
    (void)more;
}
static inline bool own_thread_begin(void)
{
    return true;
}
static inline void own_thread_end(void)
{
}
static inline bool own_threads_alone(struct own_threads_end *end, unsigned *again_ms)
{
    (void)end;
    *again_ms = 0;
    return false;
}
static inline void own_thread_leave(const struct own_threads_end *end)
{
    (void)end;
}
#else
/* +1 before one is created, and -1 when it could not be: one that has not begun yet cannot be told
 * from the program's. */
void own_thread_announce(int more);
/* The first thing that a thread of ours does. False: the program's last thread has ended meanwhile;
 * then the caller returns from its start function at once. */
bool own_thread_begin(void);
/* The last thing that it does before it returns from its start function. */
void own_thread_end(void);
/* Has the process's first thread ended, and lives no other of the program's? When the first has
 * ended and others live, *again_ms is when to look again, else 0. False also where the system does
 * not tell. A few system calls, no allocation, no lock. */
bool own_threads_alone(struct own_threads_end *end, unsigned *again_ms);
/* How many threads of ours and of the program's there are now. A thread of ours that is about to
 * end counts as the program's. False where the system does not tell. Any thread. */
bool own_threads_count(unsigned *own, unsigned *others);
/* Instead of own_thread_end(), when they are alone. */
void own_thread_leave(const struct own_threads_end *end);
#endif

#endif
