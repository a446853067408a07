/* Reads GSYM and Breakpad files whole: they are turned into a map at once, and not looked at again.
 */
#include "symbolicate/imported.h"

#include "symmap/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static fw_error fail(struct fw_failure *why, const char *path, int number)
{
    fw_error code = number == ENOENT                      ? FW_ERR_NOT_FOUND
                    : number == EACCES || number == EPERM ? FW_ERR_PERMISSION
                    : number == ENOMEM                    ? FW_ERR_MEMORY
                                                          : FW_ERR_SYSTEM;
    if (why) {
        *why = (struct fw_failure){.code = code, .os_error = number};
        snprintf(why->message, sizeof why->message, "%s: %s", path, strerror(number));
    }
    return code;
}

/* All of a file, or what there is of one that shrinks meanwhile; NULL: see errno. */
static uint8_t *read_all(int fd, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return NULL;
    size_t wanted = (size_t)status.st_size;
    uint8_t *to = malloc(wanted + 1);
    if (!to) {
        errno = ENOMEM;
        return NULL;
    }
    *size = 0;
    while (*size < wanted) {
        ssize_t got = read(fd, to + *size, wanted - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int number = errno;
            free(to);
            errno = number;
            return NULL;
        }
        if (got == 0)
            break;
        *size += (size_t)got;
    }
    return to;
}

fw_error imported_read(const char *path, uint8_t **bytes, size_t *size, struct fw_failure *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(why, path, errno);
    size_t read_size;
    uint8_t *contents = read_all(fd, &read_size);
    int number = errno;
    close(fd);
    if (!contents)
        return fail(why, path, number);
    fw_error error = import_map((struct span){contents, read_size}, path, bytes, size, why);
    free(contents);
    return error;
}
