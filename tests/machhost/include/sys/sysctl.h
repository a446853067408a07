#ifndef MACHHOST_SYS_SYSCTL_H
#define MACHHOST_SYS_SYSCTL_H
#include <sys/types.h>
#define CTL_KERN 1
#define CTL_HW   6
int sysctl(int *name, unsigned count, void *old, size_t *old_size, void *value, size_t value_size);
int sysctlbyname(const char *name, void *old, size_t *old_size, void *value, size_t value_size);
#endif
