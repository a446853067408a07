/*
 * Stopping threads of this process for a copy: the work around the window (window.h) that may not
 * be done inside of it.
 */
#ifndef OS_DARWIN_STOP_H
#define OS_DARWIN_STOP_H

#include "framewalk/stack.h"
#include "os/darwin/window.h"

/* Fills in the bounds of the thread's own stack, as libpthread knows them. */
void stop_learn_stack(struct stopped_thread *thread);

/* Stops, copies and resumes `count` threads, none of them the caller, each with everything set that
 * window.h asks for. One caller at a time; false when the others have not come to an end at
 * `deadline` (stop_clock_ns), then nothing has happened. */
bool stop_threads(struct stopped_thread *threads, size_t count, uint64_t deadline);

/* Why there is no copy of the thread; FW_AVAILABLE when there is one. */
fw_unavailable stop_reason(const struct stopped_thread *thread);

/* How long the thread was held, and the clock for deadlines, which stands still while the machine
 * sleeps. */
uint64_t stop_held_ns(const struct stopped_thread *thread);
uint64_t stop_clock_ns(void);

#endif
