#ifndef MACHHOST_STRING_H
#define MACHHOST_STRING_H
#include <stddef.h>
#include <strings.h>
void *memchr(const void *memory, int c, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memcpy(void *to, const void *from, size_t size);
void *memmem(const void *in, size_t in_size, const void *what, size_t what_size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *memory, int c, size_t size);
char *stpcpy(char *to, const char *from);
char *strcat(char *to, const char *from);
char *strchr(const char *text, int c);
int strcmp(const char *a, const char *b);
char *strcpy(char *to, const char *from);
size_t strcspn(const char *text, const char *set);
char *strdup(const char *text);
char *strerror(int error);
int strerror_r(int error, char *text, size_t size);
size_t strlcat(char *to, const char *from, size_t size);
size_t strlcpy(char *to, const char *from, size_t size);
size_t strlen(const char *text);
int strncmp(const char *a, const char *b, size_t size);
char *strncpy(char *to, const char *from, size_t size);
char *strndup(const char *text, size_t size);
size_t strnlen(const char *text, size_t size);
char *strrchr(const char *text, int c);
size_t strspn(const char *text, const char *set);
char *strstr(const char *text, const char *part);
char *strtok_r(char *text, const char *set, char **rest);
#endif
