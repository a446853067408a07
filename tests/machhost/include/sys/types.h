#ifndef MACHHOST_SYS_TYPES_H
#define MACHHOST_SYS_TYPES_H
#include <sys/_types.h>
typedef unsigned char u_char;
typedef unsigned int u_int;
typedef unsigned long u_long;
#include <sys/_pthread_types.h>
#endif
