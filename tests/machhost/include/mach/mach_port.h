#ifndef MACHHOST_MACH_MACH_PORT_H
#define MACHHOST_MACH_MACH_PORT_H
#include <mach/mach_types.h>
kern_return_t mach_port_deallocate(ipc_space_t task, mach_port_name_t name);
kern_return_t mach_port_get_refs(ipc_space_t task, mach_port_name_t name, mach_port_right_t right,
                                 mach_port_urefs_t *refs);
kern_return_t mach_port_mod_refs(ipc_space_t task, mach_port_name_t name, mach_port_right_t right,
                                 mach_port_delta_t delta);
kern_return_t mach_port_type(ipc_space_t task, mach_port_name_t name, mach_port_type_t *type);
#endif
