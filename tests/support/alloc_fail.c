/* The linker's --wrap gives every reference of the objects under test to __wrap_*; the library
 * behind them (libc) is not touched. */
#include "support/alloc_fail.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

static _Atomic long requests, fail_at, live;
static _Atomic bool all_later, paused, refused;

static bool refuse(void)
{
    if (paused)
        return false;
    long n = ++requests;
    bool no = fail_at && (n == fail_at || (all_later && n > fail_at));
    if (no) {
        refused = true;
        errno = ENOMEM;
    }
    return no;
}

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_vasprintf(char **text, const char *format, va_list arguments);
char *__real_realpath(const char *path, char *to);
FILE *__real_open_memstream(char **text, size_t *size);
#if defined(__USE_FILE_OFFSET64) &&                                                                \
    UINTPTR_MAX == UINT32_MAX /* mmap() is called by this name there */
#define __real_mmap __real_mmap64
#define __wrap_mmap __wrap_mmap64
#endif
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __real_munmap(void *at, size_t size);
DIR *__real_fdopendir(int directory);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_vasprintf(char **text, const char *format, va_list arguments);
char *__wrap_realpath(const char *path, char *to);
FILE *__wrap_open_memstream(char **text, size_t *size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *at, size_t size);
DIR *__wrap_fdopendir(int directory);

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (refuse())
        return NULL;
    live += old == NULL;
    return __real_realloc(old, size);
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

char *__wrap_strdup(const char *text)
{
    return refuse() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t size)
{
    return refuse() ? NULL : counted(__real_strndup(text, size));
}

int __wrap_vasprintf(char **text, const char *format, va_list arguments)
{
    int length = refuse() ? -1 : __real_vasprintf(text, format, arguments);
    live += length >= 0;
    return length;
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = __wrap_vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

char *__wrap_realpath(const char *path, char *to)
{
    if (to)
        return __real_realpath(path, to);
    return refuse() ? NULL : counted(__real_realpath(path, to));
}

/* The text, which is the caller's once the stream is closed. */
FILE *__wrap_open_memstream(char **text, size_t *size)
{
    return refuse() ? NULL : counted(__real_open_memstream(text, size));
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (refuse())
        return MAP_FAILED;
    live++;
    return __real_mmap(at, size, protection, flags, file, offset);
}

int __wrap_munmap(void *at, size_t size)
{
    live--;
    return __real_munmap(at, size);
}

DIR *__wrap_fdopendir(int directory)
{
    return refuse() ? NULL : __real_fdopendir(directory);
}

void alloc_fail_pause(void)
{
    paused = true;
}

void alloc_fail_resume(void)
{
    paused = false;
}

/* True when the attempt went through without a refusal. */
static bool run(alloc_attempt attempt, void *context, long at, bool later)
{
    long before = live;
    requests = 0;
    refused = false;
    all_later = later;
    fail_at = at;
    bool success = attempt(context);
    fail_at = 0;
    if (live != before || (!success && !refused)) {
        fprintf(stderr, "allocation %ld refused%s: %ld blocks not given back, success %d\n", at,
                later ? " and all later ones" : "", live - before, success);
        abort();
    }
    return !refused;
}

unsigned alloc_fail_each(alloc_attempt attempt, void *context)
{
    long n = 1;
    while (!run(attempt, context, n, false)) {
        run(attempt, context, n, true);
        n++;
    }
    return (unsigned)n - 1;
}
