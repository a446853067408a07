#ifndef MACHHOST_MACH_VM_BEHAVIOR_H
#define MACHHOST_MACH_VM_BEHAVIOR_H
typedef int vm_behavior_t;
#endif
