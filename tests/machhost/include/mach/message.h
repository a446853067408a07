#ifndef MACHHOST_MACH_MESSAGE_H
#define MACHHOST_MACH_MESSAGE_H
#include <mach/kern_return.h>
#include <mach/port.h>
typedef natural_t mach_msg_type_number_t;
typedef natural_t mach_msg_timeout_t;
typedef integer_t mach_msg_return_t;
#define MACH_MSG_SUCCESS       0
#define MACH_SEND_INVALID_DEST 0x10000003
#define MIG_ARRAY_TOO_LARGE    (-307)
#endif
