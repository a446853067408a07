/* The linker's --wrap, as in alloc_fail.c. */
#include "support/sys_fail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where off_t has 64 bits and a pointer has not, the functions that know of it have another name.
 */
#if __SIZEOF_POINTER__ == 4
#define REAL(name) __real_##name##64
#define WRAP(name) __wrap_##name##64
#else
#define REAL(name) __real_##name
#define WRAP(name) __wrap_##name
#endif

static long calls, fault_call;
static enum sys_fault fault_kind;
static int fault_error;
static const char *faulted;
static const char *made[512]; /* names of the calls, from 1 on */

void sys_fault_at(long n, enum sys_fault fault, int error)
{
    calls = 0;
    fault_call = n;
    fault_kind = fault;
    fault_error = error;
    faulted = NULL;
}

const char *sys_call(long n)
{
    return n <= calls && n < (long)(sizeof made / sizeof *made) ? made[n] : NULL;
}

const char *sys_faulted(void)
{
    return faulted;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
}

/* Whether this call fails; *half: it is a write that stops in its middle. */
static bool fails(const char *name, bool *half)
{
    const bool now = ++calls == fault_call,
               later = fault_kind == SYS_FAIL_LATER && faulted && !strcmp(faulted, name);
    *half = false;
    if (calls < (long)(sizeof made / sizeof *made))
        made[calls] = name;
    if (!now && !later)
        return false;
    faulted = name;
    if (fault_kind == SYS_DIE)
        die();
    *half = fault_kind == SYS_SHORT || fault_kind == SYS_DIE_HALF;
    errno = fault_error;
    return true;
}

/* The call `real`, or its fault: `bad` is what it returns then. */
#define CALL(name, type, bad, real)                                                                \
    bool half;                                                                                     \
    if (!fails(name, &half))                                                                       \
        return real;                                                                               \
    if (fault_kind != SYS_DIE_HALF)                                                                \
        return bad;                                                                                \
    type result = real;                                                                            \
    (void)result;                                                                                  \
    die();                                                                                         \
    return bad

int __real_mkdir(const char *path, mode_t mode);
int REAL(open)(const char *path, int flags, ...);
int REAL(openat)(int folder, const char *path, int flags, ...);
DIR *__real_fdopendir(int folder);
struct dirent *REAL(readdir)(DIR *list);
int REAL(fstat)(int file, struct stat *stat);
int REAL(fstatat)(int folder, const char *path, struct stat *stat, int flags);
int __real_flock(int file, int how);
int __real_getentropy(void *to, size_t size);
ssize_t REAL(pread)(int file, void *to, size_t size, off_t offset);
ssize_t REAL(pwrite)(int file, const void *from, size_t size, off_t offset);
int REAL(ftruncate)(int file, off_t size);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __real_unlinkat(int folder, const char *path, int flags);
int __real_close(int file);
void *REAL(mmap)(void *at, size_t size, int protection, int flags, int file, off_t offset);

int __wrap_mkdir(const char *path, mode_t mode);
int WRAP(open)(const char *path, int flags, ...);
int WRAP(openat)(int folder, const char *path, int flags, ...);
DIR *__wrap_fdopendir(int folder);
struct dirent *WRAP(readdir)(DIR *list);
int WRAP(fstat)(int file, struct stat *stat);
int WRAP(fstatat)(int folder, const char *path, struct stat *stat, int flags);
int __wrap_flock(int file, int how);
int __wrap_getentropy(void *to, size_t size);
ssize_t WRAP(pread)(int file, void *to, size_t size, off_t offset);
ssize_t WRAP(pwrite)(int file, const void *from, size_t size, off_t offset);
int WRAP(ftruncate)(int file, off_t size);
int __wrap_fdatasync(int file);
int __wrap_fsync(int file);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __wrap_unlinkat(int folder, const char *path, int flags);
int __wrap_close(int file);
void *WRAP(mmap)(void *at, size_t size, int protection, int flags, int file, off_t offset);

int __wrap_mkdir(const char *path, mode_t mode)
{
    CALL("mkdir", int, -1, __real_mkdir(path, mode));
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

int WRAP(open)(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    CALL("open", int, -1, REAL(open)(path, flags, mode));
}

int WRAP(openat)(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    CALL("openat", int, -1, REAL(openat)(folder, path, flags, mode));
}

DIR *__wrap_fdopendir(int folder)
{
    CALL("fdopendir", DIR *, NULL, __real_fdopendir(folder));
}

struct dirent *WRAP(readdir)(DIR *list)
{
    CALL("readdir", struct dirent *, NULL, REAL(readdir)(list));
}

int WRAP(fstat)(int file, struct stat *stat)
{
    CALL("fstat", int, -1, REAL(fstat)(file, stat));
}

int WRAP(fstatat)(int folder, const char *path, struct stat *stat, int flags)
{
    CALL("fstatat", int, -1, REAL(fstatat)(folder, path, stat, flags));
}

int __wrap_flock(int file, int how)
{
    CALL("flock", int, -1, __real_flock(file, how));
}

int __wrap_getentropy(void *to, size_t size)
{
    CALL("getentropy", int, -1, __real_getentropy(to, size));
}

ssize_t WRAP(pread)(int file, void *to, size_t size, off_t offset)
{
    CALL("pread", ssize_t, -1, REAL(pread)(file, to, size, offset));
}

ssize_t WRAP(pwrite)(int file, const void *from, size_t size, off_t offset)
{
    static bool rest;
    bool half;
    if (rest) { /* of a write that was cut short */
        rest = false;
        errno = fault_error;
        return -1;
    }
    if (!fails("pwrite", &half))
        return REAL(pwrite)(file, from, size, offset);
    if (!half)
        return -1;
    ssize_t done = REAL(pwrite)(file, from, size / 2, offset);
    if (fault_kind == SYS_DIE_HALF)
        die();
    rest = true;
    return done;
}

int WRAP(ftruncate)(int file, off_t size)
{
    CALL("ftruncate", int, -1, REAL(ftruncate)(file, size));
}

/* Counted, but not made: thousands of them would take minutes, and only a crash of the machine
 * tells the difference. */
int __wrap_fdatasync(int file)
{
    (void)file;
    CALL("fdatasync", int, -1, 0);
}

int __wrap_fsync(int file)
{
    (void)file;
    CALL("fsync", int, -1, 0);
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    CALL("renameat", int, -1, __real_renameat(from_folder, from, to_folder, to));
}

int __wrap_unlinkat(int folder, const char *path, int flags)
{
    CALL("unlinkat", int, -1, __real_unlinkat(folder, path, flags));
}

/* A failed close has closed all the same. */
int __wrap_close(int file)
{
    bool half;
    if (!fails("close", &half))
        return __real_close(file);
    const int error = errno;
    __real_close(file);
    if (half && fault_kind == SYS_DIE_HALF)
        die();
    errno = error;
    return -1;
}

void *WRAP(mmap)(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    CALL("mmap", void *, MAP_FAILED, REAL(mmap)(at, size, protection, flags, file, offset));
}
