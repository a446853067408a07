/* Only macOS has these: elsewhere Apple's header refuses to be included, and so does this one. */
#ifndef MACHHOST_MACH_MACH_VM_H
#define MACHHOST_MACH_MACH_VM_H
#include <TargetConditionals.h>
#if !TARGET_OS_OSX && !TARGET_OS_SIMULATOR
#error mach_vm.h is for macOS alone
#endif
#include <mach/mach_types.h>
kern_return_t mach_vm_allocate(vm_map_t task, mach_vm_address_t *address, mach_vm_size_t size,
                               int flags);
kern_return_t mach_vm_deallocate(vm_map_t task, mach_vm_address_t address, mach_vm_size_t size);
kern_return_t mach_vm_read_overwrite(vm_map_read_t task, mach_vm_address_t address,
                                     mach_vm_size_t size, mach_vm_address_t data,
                                     mach_vm_size_t *out_size);
kern_return_t mach_vm_region(vm_map_read_t task, mach_vm_address_t *address, mach_vm_size_t *size,
                             vm_region_flavor_t flavor, vm_region_info_t info,
                             mach_msg_type_number_t *count, mach_port_t *object_name);
#endif
