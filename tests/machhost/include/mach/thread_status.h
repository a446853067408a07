#ifndef MACHHOST_MACH_THREAD_STATUS_H
#define MACHHOST_MACH_THREAD_STATUS_H
#include <mach/machine/thread_status.h>
#include <mach/vm_types.h>
typedef natural_t *thread_state_t;
typedef natural_t thread_state_data_t[THREAD_STATE_MAX];
typedef int thread_state_flavor_t;
#endif
