/* Files of a folder of reports: the system calls, in one place. spool_folder.h has the rules. */
#include "watch/spool_folder.h"

#include "base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = SPOOL_DIGITS + sizeof ".part" };

static const char *const suffixes[] = {[SPOOL_PART] = ".part", [SPOOL_WHOLE] = ".fwr"};

static void name_of(const char *id, enum spool_kind kind, char name[NAME_SIZE])
{
    memcpy(name, id, SPOOL_DIGITS);
    strcpy(name + SPOOL_DIGITS, suffixes[kind]);
}

void spool_id_text(const uint8_t id[SPOOL_DIGITS / 2], char text[SPOOL_ID_SIZE])
{
    hex_text(text, id, SPOOL_DIGITS / 2);
}

bool spool_id_bytes(const char *text, uint8_t id[SPOOL_DIGITS / 2])
{
    for (size_t i = 0; i < SPOOL_DIGITS; i++) {
        int value = hex_lower_digit(text[i]);
        if (value < 0)
            return false;
        id[i / 2] = (uint8_t)(i % 2 ? id[i / 2] | value : value << 4);
    }
    return true;
}

static enum spool_kind kind_of(const char *name)
{
    uint8_t id[SPOOL_DIGITS / 2];
    if (!spool_id_bytes(name, id))
        return SPOOL_FOREIGN;
    if (!strcmp(name + SPOOL_DIGITS, suffixes[SPOOL_PART]))
        return SPOOL_PART;
    return strcmp(name + SPOOL_DIGITS, suffixes[SPOOL_WHOLE]) ? SPOOL_FOREIGN : SPOOL_WHOLE;
}

static bool identify(int fd, struct spool_file *file)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return false;
    *file = (struct spool_file){fd, stat.st_dev, stat.st_ino};
    return true;
}

static bool is_same(const struct spool_file *a, const struct spool_file *b)
{
    return a->device == b->device && a->inode == b->inode;
}

bool spool_file_holds(const struct spool_file *file)
{
    struct spool_file now;
    return file->fd >= 0 && identify(file->fd, &now) && is_same(file, &now);
}

/* Whether the number may be closed: not when it is known to be another file's, or none. */
static bool can_close(const struct spool_file *file)
{
    struct spool_file now;
    return file->fd >= 0 && (identify(file->fd, &now) ? is_same(file, &now) : errno != EBADF);
}

void spool_file_close(struct spool_file *file)
{
    if (can_close(file))
        close(file->fd);
    file->fd = -1;
}

int spool_folder_open(struct spool_folder *folder, const char *path)
{
    *folder = (struct spool_folder){.file.fd = -1};
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    folder->list = identify(fd, &folder->file) ? fdopendir(fd) : NULL;
    if (folder->list)
        return 0;
    int why = errno;
    close(fd);
    return why;
}

void spool_folder_close(struct spool_folder *folder)
{
    if (folder->list && can_close(&folder->file))
        closedir(folder->list);
    folder->list = NULL;
}

void spool_folder_each(struct spool_folder *folder,
                       void (*each)(void *context, const struct spool_entry *entry), void *context)
{
    if (!spool_file_holds(&folder->file))
        return; /* rewinddir would move the position in a file of the program's */
    rewinddir(folder->list);
    for (const struct dirent *found; (found = readdir(folder->list));) {
        struct spool_entry entry = {.kind = kind_of(found->d_name)};
        struct stat stat;
        if (entry.kind == SPOOL_FOREIGN ||
            fstatat(folder->file.fd, found->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(stat.st_mode))
            continue;
        memcpy(entry.id, found->d_name, SPOOL_DIGITS);
        entry.bytes = (uint64_t)stat.st_size;
        each(context, &entry);
    }
}

/* The disk, not the drive's own memory, in which fsync leaves it on Apple's systems. */
static int until_on_disk(int file, bool contents_alone)
{
#ifdef __APPLE__
    (void)contents_alone;
    return fcntl(file, F_FULLFSYNC) == 0 ? 0 : fsync(file);
#else
    return contents_alone ? fdatasync(file) : fsync(file);
#endif
}

/* Some file systems know no fsync of a folder (EINVAL): their names are as durable as they get. */
bool spool_folder_sync(const struct spool_folder *folder)
{
    while (until_on_disk(folder->file.fd, false) != 0) {
        if (errno == EINVAL)
            return true;
        if (errno != EINTR)
            return false;
    }
    return true;
}

/* Whether the open file still has that name, and no other: a recoverer or evictor that was faster
 * may have taken it between our open and our lock. */
static bool has_name(const struct spool_folder *folder, const char *name, int file)
{
    struct stat named, opened;
    return fstat(file, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_nlink == 1 &&
           fstatat(folder->file.fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

static int lock_or_close(const struct spool_folder *folder, const char *name, int file)
{
    if (file >= 0 && (flock(file, LOCK_EX | LOCK_NB) != 0 || !has_name(folder, name, file))) {
        close(file);
        return -1;
    }
    return file;
}

bool spool_file_create(const struct spool_folder *folder, const char *id, struct spool_file *file)
{
    char name[NAME_SIZE];
    name_of(id, SPOOL_PART, name);
    if (!spool_file_holds(&folder->file))
        return false;
    int fd =
        openat(folder->file.fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    fd = lock_or_close(folder, name, fd);
    if (fd >= 0 && identify(fd, file))
        return true;
    if (fd >= 0)
        close(fd);
    /* A recoverer that was faster removes it as well: nothing is in it. */
    unlinkat(folder->file.fd, name, 0);
    return false;
}

int spool_file_take(const struct spool_folder *folder, const char *id, enum spool_kind kind)
{
    char name[NAME_SIZE];
    name_of(id, kind, name);
    int file = openat(folder->file.fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return lock_or_close(folder, name, file);
}

int spool_file_read(const struct spool_folder *folder, const char *id, enum spool_kind kind)
{
    char name[NAME_SIZE];
    name_of(id, kind, name);
    return openat(folder->file.fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool within_limit(uint64_t end)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        end <= limit.rlim_cur)
        return true;
    errno = EFBIG;
    return false;
}

bool spool_file_write(int file, const void *bytes, size_t size, uint64_t offset)
{
    const char *at = bytes;
    if (!within_limit(offset + size))
        return false;
    while (size) {
        ssize_t n = pwrite(file, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

bool spool_file_sync(int file)
{
    while (until_on_disk(file, true) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

bool spool_file_publish(const struct spool_folder *folder, const char *id)
{
    char from[NAME_SIZE], to[NAME_SIZE];
    name_of(id, SPOOL_PART, from);
    name_of(id, SPOOL_WHOLE, to);
    return renameat(folder->file.fd, from, folder->file.fd, to) == 0;
}

bool spool_file_remove(const struct spool_folder *folder, const char *id, enum spool_kind kind)
{
    char name[NAME_SIZE];
    name_of(id, kind, name);
    return unlinkat(folder->file.fd, name, 0) == 0;
}
