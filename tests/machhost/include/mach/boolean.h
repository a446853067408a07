#ifndef MACHHOST_MACH_BOOLEAN_H
#define MACHHOST_MACH_BOOLEAN_H
#if defined(__x86_64__)
typedef unsigned int boolean_t;
#else
typedef int boolean_t;
#endif
#ifndef TRUE
#define TRUE  1
#define FALSE 0
#endif
#endif
