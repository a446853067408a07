#include "symmap/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static fw_error fail(struct fw_failure *why, const char *path, const char *what, int number)
{
    fw_error code = number == EACCES || number == EPERM || number == EROFS ? FW_ERR_PERMISSION
                    : number == ENOMEM                                     ? FW_ERR_MEMORY
                                                                           : FW_ERR_SYSTEM;
    if (why) {
        *why = (struct fw_failure){.code = code, .os_error = number};
        snprintf(why->message, sizeof why->message, "%s: %s: %s", path, what, strerror(number));
    }
    return code;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* A device or a pipe (/dev/stdout) cannot be replaced: it is written to. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static fw_error write_special(const char *path, const void *bytes, size_t size,
                              struct fw_failure *why)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(why, path, "cannot write", errno);
    bool good = write_all(fd, bytes, size);
    int number = errno;
    close(fd);
    return good ? FW_OK : fail(why, path, "cannot write", number);
}

/* A new file beside `path`, with the rights that the user's umask gives (which mkstemp's files have
 * not, and which cannot be asked for without changing it for other threads). The caller frees
 * *name.
 */
static int open_temporary(const char *path, char **name)
{
    static _Atomic unsigned serial;
    *name = NULL;
    for (int attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        free(*name);
        if (asprintf(name, "%s.%lx-%lx-%x", path, (unsigned long)getpid(),
                     (unsigned long)now.tv_nsec, atomic_fetch_add(&serial, 1)) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

fw_error symmap_save(const char *path, const void *bytes, size_t size, struct fw_failure *why)
{
    if (is_special(path))
        return write_special(path, bytes, size, why);
    char *temporary;
    int fd = open_temporary(path, &temporary);
    if (fd < 0) {
        fw_error error = fail(why, path, "cannot write", errno);
        free(temporary);
        return error;
    }
    bool good = write_all(fd, bytes, size);
    int number = errno;
    if (close(fd) != 0 && good) {
        good = false;
        number = errno;
    }
    if (good && rename(temporary, path) != 0) {
        good = false;
        number = errno;
    }
    if (!good)
        unlink(temporary);
    free(temporary);
    return good ? FW_OK : fail(why, path, "cannot write", number);
}
