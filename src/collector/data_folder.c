/* data_folder.h. */
#include "collector/data_folder.h"

#include "base/failure.h"
#include "collector/files.h"
#include "collector/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OTHERS = 077 };

/* Empty, or with a server's database. Takes the descriptor over. */
static bool is_ours(int fd)
{
    bool ours = faccessat(fd, "db/main.sqlite", F_OK, 0) == 0, any = false;
    DIR *dir = fdopendir(fd);
    for (const struct dirent *entry; dir && !any && (entry = readdir(dir)) != NULL;)
        any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    else
        close(fd);
    return dir && (ours || !any);
}

static fw_error close_to_others(const char *path, int fd, struct fw_failure *why)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return files_say(why, errno, "%.200s cannot be looked at", path);
    if (!(about.st_mode & OTHERS))
        return FW_OK;
    if (about.st_uid != geteuid())
        return failure_say(why, FW_ERR_PERMISSION, 0,
                           "%.200s can be read by others and is not this user's: name a folder "
                           "inside of it, or chown it to the user who runs the server",
                           path);
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return files_say(why, errno, "%.200s cannot be read", path);
    if (!is_ours(copy))
        return failure_say(why, FW_ERR_PERMISSION, 0,
                           "%.200s can be read by others and has other files in it: name a folder "
                           "inside of it, or chmod 700 it",
                           path);
    if (fchmod(fd, about.st_mode & 0700) != 0)
        return files_say(why, errno, "%.200s can be read by others and cannot be closed", path);
    log_line("%s could be read by other users: now it cannot (0700)", path);
    return FW_OK;
}

fw_error data_folder_open(const char *path, struct fw_failure *why)
{
    if (mkdir(path, 0700) == 0)
        return FW_OK;
    if (errno != EEXIST)
        return failure_say(why, FW_ERR_SYSTEM, errno, "%.200s: cannot make the folder", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failure_say(why, FW_ERR_SYSTEM, errno, "%.200s: cannot open the folder", path);
    fw_error error = close_to_others(path, fd, why);
    close(fd);
    return error;
}
