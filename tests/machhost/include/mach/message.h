#ifndef MACHHOST_MACH_MESSAGE_H
#define MACHHOST_MACH_MESSAGE_H
#include <Availability.h>
#include <mach/kern_return.h>
#include <mach/port.h>
typedef natural_t mach_msg_type_number_t;
typedef natural_t mach_msg_timeout_t;
typedef integer_t mach_msg_return_t;
#define MACH_MSG_SUCCESS       0
#define MACH_SEND_INVALID_DEST 0x10000003
#define MACH_RCV_MSG           0x00000002
#define MACH_RCV_TIMEOUT       0x00000100
#define MACH_RCV_TIMED_OUT     0x10004003
#define MACH_MSG_TIMEOUT_NONE  ((mach_msg_timeout_t)0)
typedef natural_t mach_msg_size_t;
typedef integer_t mach_msg_option_t;
typedef struct mach_msg_header mach_msg_header_t;
/* Of messages only that they come: a port is a semaphore here. */
mach_msg_return_t mach_msg(mach_msg_header_t *message, mach_msg_option_t option,
                           mach_msg_size_t send_size, mach_msg_size_t receive_size,
                           mach_port_t receive_name, mach_msg_timeout_t timeout,
                           mach_port_t notify) __WATCHOS_PROHIBITED __TVOS_PROHIBITED;
#define MIG_ARRAY_TOO_LARGE (-307)
#endif
