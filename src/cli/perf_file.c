/* See perf_file.h. */
#include "cli/perf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A process, as far as its map is concerned. */
struct owner {
    uint64_t number; /* its id in its own namespace */
    uint64_t user;   /* effective */
    double start;    /* seconds since 1970 */
};

static size_t read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Number `index` of a line of a status file, or its last one when it has not so many. */
static bool status_number(const char *text, const char *key, int index, uint64_t *value)
{
    const char *line = strstr(text, key);
    if (line == NULL)
        return false;
    line += strlen(key);
    for (int i = 0; i <= index; i++) {
        char *end;
        line += strspn(line, " \t");
        uint64_t number = strtoull(line, &end, 10);
        if (end == line)
            return i > 0;
        *value = number;
        line = end;
    }
    return true;
}

/* When the process began, by the clock on the wall as it goes now. */
static bool read_start(int32_t pid, double *start)
{
    enum { BEFORE_START = 19 }; /* fields between the state and the start */
    char path[64], text[1024];
    struct timespec wall, boot;
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/stat", pid);
    const char *at = read_text(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
    for (int i = 0; at != NULL && i <= BEFORE_START; i++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    double ticks = (double)strtoull(at + 1, NULL, 10);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_REALTIME, &wall);
    double age =
        (double)boot.tv_sec + (double)boot.tv_nsec / 1e9 - ticks / (double)sysconf(_SC_CLK_TCK);
    *start = (double)wall.tv_sec + (double)wall.tv_nsec / 1e9 - age;
    return true;
}

static bool read_owner(int32_t pid, struct owner *owner)
{
    enum { EFFECTIVE = 1, LAST = 64 };
    char path[64], text[8192];
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/status", pid);
    return read_text(path, text, sizeof(text)) > 0 &&
           status_number(text, "\nUid:", EFFECTIVE, &owner->user) &&
           status_number(text, "\nNSpid:", LAST, &owner->number) && read_start(pid, &owner->start);
}

/* Below the process's root, out of which no link leads. Kernels before 5.6 cannot be asked so:
 * there a process is looked after only where its root is ours. */
static int open_below(int32_t pid, const char *path)
{
    char root[64];
    struct stat own, theirs;
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    snprintf(root, sizeof(root), "/proc/%" PRId32 "/root", pid);
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM) && stat("/", &own) == 0 &&
        fstat(folder, &theirs) == 0 && own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino)
        fd = open(path, (int)how.flags);
    close(folder);
    return fd;
}

int perf_file_open(int32_t pid, uint64_t *size)
{
    const double grain = 1; /* seconds by which times of files and of processes may differ */
    char path[64];
    struct owner owner;
    struct stat status;
    if (!read_owner(pid, &owner))
        return -1;
    snprintf(path, sizeof(path), "/tmp/perf-%" PRIu64 ".map", owner.number);
    int fd = open_below(pid, path);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (status.st_uid == owner.user || status.st_uid == 0) &&
        (double)status.st_mtime + grain >= owner.start) {
        *size = (uint64_t)status.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}
