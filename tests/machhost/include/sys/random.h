#ifndef MACHHOST_SYS_RANDOM_H
#define MACHHOST_SYS_RANDOM_H
#include <stddef.h>
int getentropy(void *bytes, size_t size);
#endif
