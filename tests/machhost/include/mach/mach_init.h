#ifndef MACHHOST_MACH_MACH_INIT_H
#define MACHHOST_MACH_MACH_INIT_H
#include <mach/mach_types.h>
extern mach_port_t mach_task_self_;
#define mach_task_self() mach_task_self_
#define current_task()   mach_task_self()
mach_port_t mach_thread_self(void);
mach_port_t mach_host_self(void);
extern vm_size_t vm_page_size;
extern vm_size_t vm_page_mask;
extern int vm_page_shift;
#endif
