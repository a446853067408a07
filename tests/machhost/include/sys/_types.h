/* The basic types of Darwin that several headers share. */
#ifndef MACHHOST_SYS__TYPES_H
#define MACHHOST_SYS__TYPES_H
#include <stddef.h>
#include <stdint.h>
typedef long long off_t;
typedef __PTRDIFF_TYPE__ ssize_t;
typedef int pid_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef unsigned short mode_t;
typedef int dev_t;
typedef unsigned short nlink_t;
typedef unsigned long long ino_t;
typedef int blksize_t;
typedef long long blkcnt_t;
typedef long time_t;
typedef unsigned long clock_t;
typedef int suseconds_t;
typedef unsigned int useconds_t;
typedef unsigned int sigset_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
struct timeval {
    time_t tv_sec;
    suseconds_t tv_usec;
};
#endif
