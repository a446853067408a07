#ifndef MACHHOST_MACH_MACH_ERROR_H
#define MACHHOST_MACH_MACH_ERROR_H
#include <mach/error.h>
char *mach_error_string(mach_error_t error);
void mach_error(const char *text, mach_error_t error);
#endif
