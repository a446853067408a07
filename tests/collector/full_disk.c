/*
 * Preloaded into a server by faults_test.py: as long as the file that FW_FAULT_FILE names is there,
 * writes to regular files fail with the error whose number it holds (28 ENOSPC: the disk is full,
 * 30 EROFS, 5 EIO).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int fault(int fd)
{
    const char *path = getenv("FW_FAULT_FILE");
    struct stat status;
    if (!path || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char text[16] = "";
    if (file < 0)
        return 0;
    long got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 ? atoi(text) : 0;
}

#define WRAP(type, name, parameters, arguments)                                                    \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*real) parameters;                                                             \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        int error = fault(fd);                                                                     \
        if (error) {                                                                               \
            errno = error;                                                                         \
            return -1;                                                                             \
        }                                                                                          \
        return real arguments;                                                                     \
    }

WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
