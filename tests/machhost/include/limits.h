#ifndef MACHHOST_LIMITS_H
#define MACHHOST_LIMITS_H
#include_next <limits.h>
#define PATH_MAX 1024
#define NAME_MAX 255
#endif
