#ifndef MACHHOST_EXECINFO_H
#define MACHHOST_EXECINFO_H
#include <stddef.h>
#include <stdint.h>
int backtrace(void **frames, int limit);
char **backtrace_symbols(void *const *frames, int count);
#endif
