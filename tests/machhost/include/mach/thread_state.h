#ifndef MACHHOST_MACH_THREAD_STATE_H
#define MACHHOST_MACH_THREAD_STATE_H
#include <mach/thread_status.h>
#endif
