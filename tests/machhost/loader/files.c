/*
 * Files, folders and what the kernel says of the process: where Darwin's flags, structures or
 * numbers differ from Linux's.
 */
#include "internal.h"
#include "shims.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int open_flags(int flags)
{
    static const struct {
        int darwin, linux_flag;
    } map[] = {{0x4, O_NONBLOCK}, {0x8, O_APPEND}, {0x100, O_NOFOLLOW},    {0x200, O_CREAT},
               {0x400, O_TRUNC},  {0x800, O_EXCL}, {0x1000000, O_CLOEXEC}, {0x100000, O_DIRECTORY}};
    int own = flags & 3;
    for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
        own |= flags & map[i].darwin ? map[i].linux_flag : 0;
    return own;
}

static int folder_fd(int fd)
{
    return fd == -2 ? AT_FDCWD : fd;
}

static int at_flags(int flags)
{
    return (flags & 0x20 ? AT_SYMLINK_NOFOLLOW : 0) | (flags & 0x80 ? AT_REMOVEDIR : 0);
}

int shim_open(const char *path, int flags, DOTS)
{
    int mode = 0;
    if (open_flags(flags) & O_CREAT) {
        DOTS_START(args, flags);
        mode = DOTS_INT(args);
        DOTS_END(args);
    }
    return open(path, open_flags(flags), mode);
}

int shim_openat(int folder, const char *path, int flags, DOTS)
{
    int mode = 0;
    if (open_flags(flags) & O_CREAT) {
        DOTS_START(args, flags);
        mode = DOTS_INT(args);
        DOTS_END(args);
    }
    return openat(folder_fd(folder), path, open_flags(flags), mode);
}

int shim_fcntl(int fd, int command, DOTS)
{
    DOTS_START(args, command);
    const int argument = DOTS_INT(args);
    DOTS_END(args);
    switch (command) {
    case 1: return fcntl(fd, F_GETFD);
    case 2: return fcntl(fd, F_SETFD, argument);
    case 3: return fcntl(fd, F_GETFL);
    case 51: return fsync(fd);
    case 67: return fcntl(fd, F_DUPFD_CLOEXEC, argument);
    default: errno = EINVAL; return -1;
    }
}

struct darwin_stat {
    int32_t dev;
    uint16_t mode, nlink;
    uint64_t ino;
    uint32_t uid, gid;
    int32_t rdev;
    struct timespec atime, mtime, ctime, birthtime;
    int64_t size, blocks;
    int32_t blksize;
    uint32_t flags, gen;
    int32_t spare;
    int64_t spares[2];
};

static int give_stat(const struct stat *own, struct darwin_stat *info)
{
    *info = (struct darwin_stat){
        .dev = (int32_t)own->st_dev,
        .mode = (uint16_t)own->st_mode,
        .nlink = (uint16_t)own->st_nlink,
        .ino = own->st_ino,
        .uid = own->st_uid,
        .gid = own->st_gid,
        .mtime = own->st_mtim,
        .size = own->st_size,
        .blocks = own->st_blocks,
        .blksize = (int32_t)own->st_blksize,
    };
    return 0;
}

int shim_stat(const char *path, struct darwin_stat *info)
{
    struct stat own;
    return stat(path, &own) == 0 ? give_stat(&own, info) : -1;
}

int shim_lstat(const char *path, struct darwin_stat *info)
{
    struct stat own;
    return lstat(path, &own) == 0 ? give_stat(&own, info) : -1;
}

int shim_fstat(int fd, struct darwin_stat *info)
{
    struct stat own;
    return fstat(fd, &own) == 0 ? give_stat(&own, info) : -1;
}

int shim_fstatat(int folder, const char *path, struct darwin_stat *info, int flags)
{
    struct stat own;
    return fstatat(folder_fd(folder), path, &own, at_flags(flags)) == 0 ? give_stat(&own, info)
                                                                        : -1;
}

int shim_unlinkat(int folder, const char *path, int flags)
{
    return unlinkat(folder_fd(folder), path, at_flags(flags));
}

int shim_renameat(int from, const char *name, int to, const char *other)
{
    return renameat(folder_fd(from), name, folder_fd(to), other);
}

static int limit_number(int which)
{
    return which == 1 ? RLIMIT_FSIZE : which == 8 ? RLIMIT_NOFILE : -1;
}

#define DARWIN_INFINITY ((UINT64_C(1) << 63) - 1)

int shim_getrlimit(int which, uint64_t limit[2])
{
    struct rlimit own;
    if (getrlimit((__rlimit_resource_t)limit_number(which), &own) != 0)
        return -1;
    limit[0] = own.rlim_cur == RLIM_INFINITY ? DARWIN_INFINITY : own.rlim_cur;
    limit[1] = own.rlim_max == RLIM_INFINITY ? DARWIN_INFINITY : own.rlim_max;
    return 0;
}

int shim_setrlimit(int which, const uint64_t limit[2])
{
    const struct rlimit own = {limit[0] == DARWIN_INFINITY ? RLIM_INFINITY : limit[0],
                               limit[1] == DARWIN_INFINITY ? RLIM_INFINITY : limit[1]};
    return setrlimit((__rlimit_resource_t)limit_number(which), &own);
}

/* Folders. */

struct machhost_dir {
    DIR *own;
    struct {
        uint64_t ino, seekoff;
        uint16_t reclen, namlen;
        uint8_t type;
        char name[1024];
    } entry;
};

static struct machhost_dir *give_folder(DIR *own)
{
    struct machhost_dir *folder = own ? calloc(1, sizeof(*folder)) : NULL;
    if (folder)
        folder->own = own;
    return folder;
}

struct machhost_dir *shim_opendir(const char *path)
{
    return give_folder(opendir(path));
}

struct machhost_dir *shim_fdopendir(int fd)
{
    return give_folder(fdopendir(fd));
}

int shim_closedir(struct machhost_dir *folder)
{
    const int result = closedir(folder->own);
    free(folder);
    return result;
}

void shim_rewinddir(struct machhost_dir *folder)
{
    rewinddir(folder->own);
}

void *shim_readdir(struct machhost_dir *folder)
{
    const struct dirent *own = readdir(folder->own);
    if (!own)
        return NULL;
    folder->entry.ino = own->d_ino;
    folder->entry.type = own->d_type;
    folder->entry.namlen = (uint16_t)strlen(own->d_name);
    memcpy(folder->entry.name, own->d_name, strlen(own->d_name) + 1u);
    return &folder->entry;
}

/* What is called gets the path alone. */
static void *nftw_each;

static int call_each(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return (int)callback(nftw_each, (uint64_t)(uintptr_t)path, 0, 0);
}

int shim_nftw(const char *path, void *each, int depth, int flags)
{
    nftw_each = each;
    return nftw(path, call_each, depth, (flags & 1 ? FTW_PHYS : 0) | (flags & 4 ? FTW_DEPTH : 0));
}

/* The kernel's answers. */

static int give(const void *value, size_t value_size, void *old, size_t *size)
{
    if (old && *size < value_size) {
        errno = ENOMEM;
        return -1;
    }
    if (old)
        memcpy(old, value, value_size);
    *size = value_size;
    return 0;
}

static bool is_traced(void)
{
    char line[256];
    int tracer = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "TracerPid: %d", &tracer) != 1)
        ;
    if (file)
        fclose(file);
    return tracer != 0;
}

/* kern.proc.pid of this process: since when it runs, and P_TRACED. */
static int give_process(void *old, size_t *size)
{
    struct {
        struct timeval start;
        void *unused[2];
        int flags;
        char status;
        int pid;
        char more[648 - 16 - 16 - 12];
    } process = {.flags = is_traced() ? 0x800 : 0, .pid = getpid()};
    _Static_assert(sizeof(process) == 648, "the size of struct kinfo_proc");
    struct stat started;
    if (stat("/proc/self", &started) == 0) {
        process.start.tv_sec = started.st_ctim.tv_sec;
        process.start.tv_usec = started.st_ctim.tv_nsec / 1000;
    }
    return give(&process, sizeof(process), old, size);
}

int shim_sysctl(const int *name, unsigned count, void *old, size_t *old_size, void *value,
                size_t size)
{
    (void)value, (void)size;
    if (count == 4 && name[0] == 1 && name[1] == 14 && name[2] == 1 && name[3] == getpid())
        return give_process(old, old_size);
    errno = ENOENT;
    return -1;
}

int shim_sysctlbyname(const char *name, void *old, size_t *old_size, void *value, size_t size)
{
    (void)value, (void)size;
    if (strcmp(name, "kern.osproductversion") == 0)
        return give("11.0", 5, old, old_size);
    if (strcmp(name, "kern.osversion") == 0)
        return give("20A373", 7, old, old_size);
    errno = ENOENT;
    return -1;
}
