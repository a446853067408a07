#ifndef MACHHOST_MACH_VM_INHERIT_H
#define MACHHOST_MACH_VM_INHERIT_H
typedef unsigned int vm_inherit_t;
#endif
