#ifndef MACHHOST_LIBKERN_OSCACHECONTROL_H
#define MACHHOST_LIBKERN_OSCACHECONTROL_H
#include <stddef.h>
void sys_icache_invalidate(void *start, size_t size);
#endif
