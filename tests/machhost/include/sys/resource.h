#ifndef MACHHOST_SYS_RESOURCE_H
#define MACHHOST_SYS_RESOURCE_H
#include <sys/types.h>
typedef uint64_t rlim_t;
struct rlimit {
    rlim_t rlim_cur;
    rlim_t rlim_max;
};
#define RLIMIT_FSIZE  1
#define RLIMIT_NOFILE 8
#define RLIM_INFINITY (((uint64_t)1 << 63) - 1)
int getrlimit(int which, struct rlimit *limit);
int setrlimit(int which, const struct rlimit *limit);
#endif
