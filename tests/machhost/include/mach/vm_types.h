#ifndef MACHHOST_MACH_VM_TYPES_H
#define MACHHOST_MACH_VM_TYPES_H
#include <stdint.h>
typedef unsigned int natural_t;
typedef int integer_t;
typedef uintptr_t vm_offset_t;
typedef uintptr_t vm_address_t;
typedef uintptr_t vm_size_t;
typedef uint64_t mach_vm_address_t;
typedef uint64_t mach_vm_offset_t;
typedef uint64_t mach_vm_size_t;
typedef uint64_t vm_map_offset_t;
typedef uint64_t vm_map_address_t;
typedef uint64_t vm_map_size_t;
typedef uint64_t memory_object_offset_t;
#endif
