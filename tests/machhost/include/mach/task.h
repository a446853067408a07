#ifndef MACHHOST_MACH_TASK_H
#define MACHHOST_MACH_TASK_H
#include <Availability.h>
#include <mach/mach_types.h>
kern_return_t task_threads(task_inspect_t task, thread_act_array_t *threads,
                           mach_msg_type_number_t *count);
kern_return_t task_info(task_name_t task, task_flavor_t flavor, task_info_t info,
                        mach_msg_type_number_t *count);
kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value);
kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore);
#endif
