/*
 * The doorbell: the real-time signal that asks one thread of this process to run a function of
 * ours.
 *
 * State: `number` is 0, or a signal whose handler is ours as far as we know. The handler is never
 * uninstalled, so a signal that arrives late, after another number was chosen, is still harmless.
 * A ring carries a hint and no more: what to do is looked up by the handler, so a late or repeated
 * ring does nothing, and one that still waits in a thread's queue serves the next question too.
 */
#ifndef OS_LINUX_DOORBELL_H
#define OS_LINUX_DOORBELL_H

#include "framewalk/threads.h"

/* Runs in the rung thread, inside the signal handler: async-signal-safe, waits for nobody. */
typedef void doorbell_answer(uint32_t hint, void *ucontext);

/* The number in use, or 0. */
int doorbell_number(void);

/* Makes sure that a signal leads to `answer` and gives its number; chooses another one when
 * somebody replaced the handler. `answer` is the same at every call. FW_ERR_UNSUPPORTED when no
 * real-time signal is free. Thread-safe, lock-free. */
fw_error doorbell_ensure(doorbell_answer *answer, int *number);

/* Asks for a certain one. FW_ERR_ARGUMENT when it is none of SIGRTMIN..SIGRTMAX or is in use. */
fw_error doorbell_choose(doorbell_answer *answer, int number);

/* Is the handler of `number` still ours? */
bool doorbell_is_ours(int number);

/* This process's id, as the handler checks it; to be called before ringing, for a forked child has
 * another one. */
void doorbell_set_process(int32_t pid);

/* Rings. Returns 0 or -errno: -ESRCH no such thread, -EAGAIN too many signals queued, -EPERM. */
long doorbell_ring(int32_t pid, fw_thread_id id, int number, uint32_t hint);

/* A thread that blocks the signal keeps every ring in its queue, which is limited for all programs
 * of the user. So who may still have one waiting is remembered (a fixed table; the newest win). */
void doorbell_note_waiting(fw_thread_id id, bool waiting);
bool doorbell_may_wait(fw_thread_id id);

#endif
