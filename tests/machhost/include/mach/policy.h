#ifndef MACHHOST_MACH_POLICY_H
#define MACHHOST_MACH_POLICY_H
typedef int policy_t;
#endif
