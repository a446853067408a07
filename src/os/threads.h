/*
 * The threads of this process as the system lists and describes them: linux/tasks.c,
 * darwin/threads.c. Stopping them and taking their stacks is the capture's part.
 *
 * No function here allocates or takes a lock of malloc or of the loader; on Apple describing a
 * thread takes libpthread's list lock for a moment, so nothing here may be called while a thread is
 * suspended.
 */
#ifndef OS_THREADS_H
#define OS_THREADS_H

#include "framewalk/threads.h"

/* Calls `each` with every id, in the system's order, at least once; a list that changed while it
 * was read is read again (`pass` counts up), so ids may come twice. When `each` returns true it
 * keeps the id, to be given back by os_thread_release. FW_ERR_UNSUPPORTED when the system does not
 * tell. */
typedef bool os_thread_call(void *context, unsigned pass, fw_thread_id id);
fw_error os_threads_each(os_thread_call *each, void *context);

/* Keeps an id that came from elsewhere: on Apple it then names this thread, dead or alive, and no
 * other, until it is released. False when there is no such thread. */
bool os_thread_keep(fw_thread_id id);
void os_thread_release(fw_thread_id id);

/* Fills system_id of the thread `thread->id`, and with `names` its state, name and queue, as far as
 * they can be had; the rest stays as it is. */
void os_thread_describe(struct fw_thread *thread, bool names);

#endif
