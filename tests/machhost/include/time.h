#ifndef MACHHOST_TIME_H
#define MACHHOST_TIME_H
#include <sys/_types.h>
typedef enum {
    CLOCK_REALTIME = 0,
    CLOCK_MONOTONIC_RAW = 4,
    CLOCK_MONOTONIC_RAW_APPROX = 5,
    CLOCK_MONOTONIC = 6,
    CLOCK_UPTIME_RAW = 8,
    CLOCK_UPTIME_RAW_APPROX = 9,
    CLOCK_PROCESS_CPUTIME_ID = 12,
    CLOCK_THREAD_CPUTIME_ID = 16
} clockid_t;
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    char *tm_zone;
};
time_t timegm(struct tm *broken_down);
int clock_gettime(clockid_t clock, struct timespec *now);
uint64_t clock_gettime_nsec_np(clockid_t clock);
int nanosleep(const struct timespec *span, struct timespec *left);
time_t time(time_t *now);
#endif
