#ifndef MACHHOST_STRINGS_H
#define MACHHOST_STRINGS_H
#include <stddef.h>
int bcmp(const void *a, const void *b, size_t size);
void bzero(void *memory, size_t size);
int strcasecmp(const char *a, const char *b);
int strncasecmp(const char *a, const char *b, size_t size);
#endif
