#ifndef MACHHOST_MACH_MACHINE_THREAD_STATUS_H
#define MACHHOST_MACH_MACHINE_THREAD_STATUS_H
#if defined(__i386__) || defined(__x86_64__)
#include <mach/i386/thread_status.h>
#else
#include <mach/arm/thread_status.h>
#endif
#endif
