#ifndef MACHHOST_SYS_TIME_H
#define MACHHOST_SYS_TIME_H
#include <sys/_types.h>
#define ITIMER_REAL 0
#define ITIMER_PROF 2
struct itimerval {
    struct timeval it_interval;
    struct timeval it_value;
};
int gettimeofday(struct timeval *now, void *zone);
int setitimer(int which, const struct itimerval *value, struct itimerval *old);
#endif
