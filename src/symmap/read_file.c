#include "symmap/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static fw_error fail(struct fw_failure *why, const char *path, fw_error code, int number)
{
    if (!why)
        return code;
    *why = (struct fw_failure){.code = code, .os_error = number};
    snprintf(why->message, sizeof why->message, "%s: %s", path,
             number ? strerror(number) : fw_error_text(code));
    return code;
}

static fw_error read_all(int fd, const char *path, uint8_t **bytes, size_t *size,
                         struct fw_failure *why)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail(why, path, FW_ERR_SYSTEM, errno);
    if (!S_ISREG(status.st_mode))
        return fail(why, path, FW_ERR_FORMAT, 0);
    size_t want = (size_t)status.st_size, have = 0;
    uint8_t *to = malloc(want + 1);
    if (!to)
        return fail(why, path, FW_ERR_MEMORY, 0);
    while (have < want) {
        ssize_t got = read(fd, to + have, want - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(to);
            return fail(why, path, FW_ERR_SYSTEM, errno);
        }
        if (got == 0)
            break;
        have += (size_t)got;
    }
    *bytes = to;
    *size = have;
    return FW_OK;
}

fw_error symmap_read_file(const char *path, uint8_t **bytes, size_t *size, struct fw_failure *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(why, path,
                    errno == ENOENT                     ? FW_ERR_NOT_FOUND
                    : errno == EACCES || errno == EPERM ? FW_ERR_PERMISSION
                                                        : FW_ERR_SYSTEM,
                    errno);
    fw_error error = read_all(fd, path, bytes, size, why);
    close(fd);
    return error;
}
