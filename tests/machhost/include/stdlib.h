#ifndef MACHHOST_STDLIB_H
#define MACHHOST_STDLIB_H
#include <sys/_types.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX     0x7fffffff
void abort(void) __attribute__((noreturn));
int abs(int value);
void *aligned_alloc(size_t alignment, size_t size);
uint32_t arc4random(void);
int atexit(void (*function)(void));
int atoi(const char *text);
void *bsearch(const void *key, const void *base, size_t count, size_t width,
              int (*compare)(const void *, const void *));
void *calloc(size_t count, size_t size);
void exit(int status) __attribute__((noreturn));
void _Exit(int status) __attribute__((noreturn));
void free(void *memory);
char *getenv(const char *name);
const char *getprogname(void);
void *malloc(size_t size);
char *mkdtemp(char *path);
int mkstemp(char *path);
int posix_memalign(void **memory, size_t alignment, size_t size);
void qsort(void *base, size_t count, size_t width, int (*compare)(const void *, const void *));
int rand(void);
void *realloc(void *memory, size_t size);
int setenv(const char *name, const char *value, int overwrite);
void srand(unsigned seed);
double strtod(const char *text, char **end);
long strtol(const char *text, char **end, int base);
long long strtoll(const char *text, char **end, int base);
unsigned long strtoul(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);
int unsetenv(const char *name);
#endif
