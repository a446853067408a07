#ifndef MACHHOST_MACH_SEMAPHORE_H
#define MACHHOST_MACH_SEMAPHORE_H
#include <mach/mach_types.h>
#include <mach/sync_policy.h>
kern_return_t semaphore_signal(semaphore_t semaphore);
kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t wait_time);
kern_return_t semaphore_wait(semaphore_t semaphore);
#endif
