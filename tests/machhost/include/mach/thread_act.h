#ifndef MACHHOST_MACH_THREAD_ACT_H
#define MACHHOST_MACH_THREAD_ACT_H
#include <Availability.h>
#include <mach/mach_types.h>
kern_return_t thread_get_state(thread_act_t thread, thread_state_flavor_t flavor,
                               thread_state_t state,
                               mach_msg_type_number_t *count) __WATCHOS_PROHIBITED;
kern_return_t thread_suspend(thread_act_t thread) __WATCHOS_PROHIBITED;
kern_return_t thread_resume(thread_act_t thread) __WATCHOS_PROHIBITED;
kern_return_t thread_info(thread_inspect_t thread, thread_flavor_t flavor, thread_info_t info,
                          mach_msg_type_number_t *count);
#endif
