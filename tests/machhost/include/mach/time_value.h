#ifndef MACHHOST_MACH_TIME_VALUE_H
#define MACHHOST_MACH_TIME_VALUE_H
#include <mach/vm_types.h>
struct time_value {
    integer_t seconds;
    integer_t microseconds;
};
typedef struct time_value time_value_t;
#endif
