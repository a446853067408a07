#ifndef MACHHOST_MACH_CLOCK_TYPES_H
#define MACHHOST_MACH_CLOCK_TYPES_H
typedef int clock_res_t;
struct mach_timespec {
    unsigned int tv_sec;
    clock_res_t tv_nsec;
};
typedef struct mach_timespec mach_timespec_t;
#endif
