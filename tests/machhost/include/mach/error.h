#ifndef MACHHOST_MACH_ERROR_TYPES_H
#define MACHHOST_MACH_ERROR_TYPES_H
#include <mach/kern_return.h>
typedef kern_return_t mach_error_t;
#define ERR_SUCCESS ((mach_error_t)0)
#endif
