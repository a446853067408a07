#ifndef MACHHOST_MACH_PORT_H
#define MACHHOST_MACH_PORT_H
#include <mach/boolean.h>
#include <mach/vm_types.h>
typedef natural_t mach_port_name_t;
typedef mach_port_name_t mach_port_t;
typedef natural_t mach_port_right_t;
typedef natural_t mach_port_type_t;
typedef natural_t mach_port_urefs_t;
typedef integer_t mach_port_delta_t;
typedef mach_port_t *mach_port_array_t;
#define MACH_PORT_NULL            ((mach_port_t)0)
#define MACH_PORT_DEAD            ((mach_port_t)~0)
#define MACH_PORT_VALID(name)     ((name) != MACH_PORT_NULL && (name) != MACH_PORT_DEAD)
#define MACH_PORT_RIGHT_SEND      ((mach_port_right_t)0)
#define MACH_PORT_RIGHT_RECEIVE   ((mach_port_right_t)1)
#define MACH_PORT_RIGHT_SEND_ONCE ((mach_port_right_t)2)
#define MACH_PORT_RIGHT_PORT_SET  ((mach_port_right_t)3)
#define MACH_PORT_RIGHT_DEAD_NAME ((mach_port_right_t)4)
#define MACH_PORT_TYPE(right)     ((mach_port_type_t)1 << ((right) + 16))
#define MACH_PORT_TYPE_SEND       MACH_PORT_TYPE(MACH_PORT_RIGHT_SEND)
#define MACH_PORT_TYPE_DEAD_NAME  MACH_PORT_TYPE(MACH_PORT_RIGHT_DEAD_NAME)
#endif
