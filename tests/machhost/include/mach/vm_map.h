#ifndef MACHHOST_MACH_VM_MAP_H
#define MACHHOST_MACH_VM_MAP_H
#include <mach/mach_types.h>
kern_return_t vm_allocate(vm_map_t task, vm_address_t *address, vm_size_t size, int flags);
kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size);
kern_return_t vm_protect(vm_map_t task, vm_address_t address, vm_size_t size, boolean_t maximum,
                         vm_prot_t protection);
kern_return_t vm_read_overwrite(vm_map_read_t task, vm_address_t address, vm_size_t size,
                                vm_address_t data, vm_size_t *out_size);
kern_return_t vm_region_64(vm_map_read_t task, vm_address_t *address, vm_size_t *size,
                           vm_region_flavor_t flavor, vm_region_info_t info,
                           mach_msg_type_number_t *count, mach_port_t *object_name);
kern_return_t vm_region_recurse_64(vm_map_read_t task, vm_address_t *address, vm_size_t *size,
                                   natural_t *nesting_depth, vm_region_recurse_info_t info,
                                   mach_msg_type_number_t *count);
#if !defined(__LP64__)
kern_return_t vm_region(vm_map_read_t task, vm_address_t *address, vm_size_t *size,
                        vm_region_flavor_t flavor, vm_region_info_t info,
                        mach_msg_type_number_t *count, mach_port_t *object_name);
#endif
#endif
