/*
 * Which threads are in the watch's own work, and how much stack they have left. Async-signal-safe;
 * no allocation.
 */
#ifndef WATCH_CALLS_BUSY_H
#define WATCH_CALLS_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* False: this thread is in it already (a call within the work, or a handler that interrupted it),
 * or it cannot be told. */
bool calls_busy_enter(void);
void calls_busy_leave(void);

/* Whether the stack that we run on has at least `bytes` left, as far as can be known. */
bool calls_has_room(uintptr_t bytes);

#endif
