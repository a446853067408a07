/* Sleeping while a lock is held, dyld's too: no cancellation point, unlike nanosleep() and
 * usleep(), so a thread that is to be cancelled does not end with it. mach_wait_until() is a trap
 * and no more
 * (<mach/mach_time.h>). */
#ifndef OS_DARWIN_NAP_H
#define OS_DARWIN_NAP_H

#include <mach/mach_time.h>

static inline mach_timebase_info_data_t nap_timebase(void)
{
    mach_timebase_info_data_t base;
    if (mach_timebase_info(&base) != KERN_SUCCESS || !base.denom || !base.numer)
        base = (mach_timebase_info_data_t){1, 1};
    return base;
}

/* About as long; shorter when the thread is aborted. */
static inline void nap_ns(uint64_t ns)
{
    const mach_timebase_info_data_t base = nap_timebase();
    mach_wait_until(mach_absolute_time() + ns * base.denom / base.numer);
}

#endif
