#include "collector/files.h"

#include "base/failure.h"
#include "base/os_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

fw_error files_error(int os_error)
{
    switch (os_error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return FW_ERR_FULL;
    case EACCES:
    case EPERM:
    case EROFS: return FW_ERR_PERMISSION;
    case ENOENT:
    case ENOTDIR: return FW_ERR_NOT_FOUND;
    case ENOMEM: return FW_ERR_MEMORY;
    case ETIMEDOUT: return FW_ERR_TIMEOUT;
    default: return FW_ERR_SYSTEM;
    }
}

fw_error files_say(struct fw_failure *why, int os_error, const char *format, ...)
{
    char what[160], text[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return failure_say(why, files_error(os_error), os_error, "%s: %s", what,
                       os_error_text(os_error, text, sizeof text));
}

/* The folder that holds `path`, into `folder` of PATH_MAX. */
static void folder_of(const char *path, char *folder)
{
    snprintf(folder, PATH_MAX, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        strcpy(folder, ".");
    else if (slash == folder)
        folder[1] = 0;
    else
        *slash = 0;
}

static fw_error sync_folder(const char *folder, struct fw_failure *why)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return files_say(why, errno, "cannot open %s", folder);
    /* Some file systems cannot and need not. */
    bool fine = fsync(fd) == 0 || errno == EINVAL;
    int os_error = errno;
    close(fd);
    return fine ? FW_OK : files_say(why, os_error, "cannot make %s durable", folder);
}

fw_error files_make_folders(const char *path, struct fw_failure *why)
{
    char folder[PATH_MAX], parent[PATH_MAX];
    if (strlen(path) >= sizeof folder)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the path is too long");
    folder_of(path, folder);
    struct stat info;
    if (stat(folder, &info) == 0)
        return FW_OK;
    for (char *slash = strchr(folder + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = 0;
        bool made = mkdir(folder, 0750) == 0;
        if (!made && errno != EEXIST)
            return files_say(why, errno, "cannot make %s", folder);
        if (made) {
            folder_of(folder, parent);
            fw_error error = sync_folder(parent, why);
            if (error)
                return error;
        }
        if (!slash)
            break;
        *slash = '/';
    }
    return FW_OK;
}

fw_error files_write(int fd, struct span bytes, const char *path, struct fw_failure *why)
{
    while (bytes.size) {
        ssize_t n = write(fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return files_say(why, errno, "cannot write %s", path);
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return FW_OK;
}

fw_error files_publish(const char *from, const char *to, struct fw_failure *why)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return files_say(why, errno, "cannot open %s", from);
    bool fine = fsync(fd) == 0;
    int os_error = errno;
    close(fd);
    if (!fine)
        return files_say(why, os_error, "cannot make %s durable", from);
    if (rename(from, to) != 0) {
        if (errno == EXDEV)
            return failure_say(why, FW_ERR_UNSUPPORTED, EXDEV, "%s is on another file system",
                               from);
        return files_say(why, errno, "cannot rename %s to %s", from, to);
    }
    char folder[PATH_MAX];
    folder_of(to, folder);
    return sync_folder(folder, why);
}
