#ifndef MACHHOST_MACH_MACH_TYPES_H
#define MACHHOST_MACH_MACH_TYPES_H
#include <mach/boolean.h>
#include <mach/clock_types.h>
#include <mach/kern_return.h>
#include <mach/machine.h>
#include <mach/message.h>
#include <mach/port.h>
#include <mach/task_info.h>
#include <mach/thread_info.h>
#include <mach/thread_status.h>
#include <mach/vm_behavior.h>
#include <mach/vm_inherit.h>
#include <mach/vm_prot.h>
#include <mach/vm_region.h>
#include <mach/vm_statistics.h>
#include <mach/vm_types.h>
typedef mach_port_t task_t;
typedef mach_port_t task_name_t;
typedef mach_port_t task_inspect_t;
typedef mach_port_t thread_t;
typedef mach_port_t thread_act_t;
typedef mach_port_t thread_inspect_t;
typedef mach_port_t host_t;
typedef mach_port_t semaphore_t;
typedef mach_port_t vm_map_t;
typedef mach_port_t vm_map_read_t;
typedef mach_port_t mem_entry_name_port_t;
typedef mach_port_t ipc_space_t;
typedef mach_port_t *task_array_t;
typedef mach_port_t *thread_array_t;
typedef thread_act_t *thread_act_array_t;
typedef thread_act_t *thread_act_port_array_t;
#define TASK_NULL   ((task_t)0)
#define THREAD_NULL ((thread_t)0)
#endif
