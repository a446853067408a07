/* The monitor's thread. */
#ifndef WATCH_HANG_THREAD_H
#define WATCH_HANG_THREAD_H

#include "watch/hang_core.h"

#include <pthread.h>

struct hang_thread {
    pthread_t thread;
    pthread_mutex_t registrations; /* watches are added and removed one at a time; the monitor's
                                      thread never takes it */
};

/* Starts it; false when the system has no thread for us. */
bool hang_thread_start(struct fw_hang_monitor *monitor);
/* Ends it and waits for it. */
void hang_thread_stop(struct fw_hang_monitor *monitor);
/* Has it end hangs that last and look no more, and waits at most `ms` for that. From any thread,
 * its own too (in on_hang), which then waits for nothing; hang_thread_stop is still due. */
void hang_thread_finish(struct fw_hang_monitor *monitor, unsigned ms);

#endif
