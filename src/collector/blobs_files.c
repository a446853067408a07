/*
 * Blobs as files below a folder, each under its key.
 *
 * Invariant: a file under its key is whole and on the disk. What is being written lies in .new/,
 * from where a rename takes it; what a killed process left there is removed after an hour.
 */
#include "base/failure.h"
#include "collector/blobs_driver.h"
#include "collector/clock.h"
#include "collector/files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

struct files {
    struct blobs base;
    char *folder;
    _Atomic uint64_t count; /* makes names in .new different */
    uint64_t start;         /* so does the time of this start */
};

static struct files *mine(struct blobs *blobs)
{
    return (struct files *)blobs;
}

static fw_error path_of(struct files *f, const char *key, char *path, struct fw_failure *why)
{
    return snprintf(path, PATH_MAX, "%s/%s", f->folder, key) < PATH_MAX
               ? FW_OK
               : failure_say(why, FW_ERR_ARGUMENT, 0, "the store's path is too long");
}

static fw_error new_path(struct files *f, char *path, struct fw_failure *why)
{
    char name[80];
    snprintf(name, sizeof name, ".new/%ld-%llx-%llx", (long)getpid(), (unsigned long long)f->start,
             (unsigned long long)atomic_fetch_add(&f->count, 1));
    return path_of(f, name, path, why);
}

static uint64_t milliseconds(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- opening ---- */

static void remove_left_over(struct files *f)
{
    char path[PATH_MAX];
    if (clock_may_remove(NULL) || path_of(f, ".new", path, NULL))
        return;
    char *roots[] = {path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    time_t before = (time_t)(clock_real_ms() / 1000) - 60 * 60; /* since it was written to */
    for (FTSENT *e; walk && (e = fts_read(walk));)
        if (e->fts_info == FTS_F && e->fts_statp->st_mtime < before)
            unlink(e->fts_path);
    if (walk)
        fts_close(walk);
}

static void close_it(struct blobs *blobs)
{
    free(mine(blobs)->folder);
    free(blobs);
}

static const struct blobs_driver driver;

fw_error blobs_files_open(const char *folder, struct blobs **blobs, struct fw_failure *why)
{
    struct files *f = calloc(1, sizeof *f);
    if (f)
        f->folder = strdup(folder);
    if (!f || !f->folder) {
        free(f);
        return failure_memory(why);
    }
    f->base.driver = &driver;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    f->start = milliseconds(now);
    char path[PATH_MAX];
    fw_error error = path_of(f, ".new/x", path, why);
    if (!error)
        error = files_make_folders(path, why);
    if (error) {
        close_it(&f->base);
        return error;
    }
    *blobs = &f->base;
    return FW_OK;
}

/* ---- writing ---- */

/* A lock over all folders of the store, or -1. Who puts a file into a folder shares it; folders are
 * removed only while nobody has it, for else they could go as fast as others make them. */
static int lock_folders(struct files *f, int how)
{
    char path[PATH_MAX];
    int fd = path_of(f, ".new", path, NULL) ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, how) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void unlock_folders(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* Under its key. Where the file system has no locks, the folder may be removed meanwhile: again. */
static fw_error publish_locked(struct files *f, const char *from, const char *key,
                               struct fw_failure *why)
{
    char path[PATH_MAX];
    fw_error error = path_of(f, key, path, why);
    for (int attempt = 0; !error && attempt < 5; attempt++) {
        error = files_make_folders(path, why);
        if (!error)
            error = files_publish(from, path, why);
        if (error != FW_ERR_NOT_FOUND || access(from, F_OK) != 0)
            return error;
        error = FW_OK;
    }
    return error ? error
                 : failure_say(why, FW_ERR_TIMEOUT, 0, "the folder of %.100s comes and goes", key);
}

static fw_error publish(struct files *f, const char *from, const char *key, struct fw_failure *why)
{
    int lock = lock_folders(f, LOCK_SH);
    fw_error error = publish_locked(f, from, key, why);
    unlock_folders(lock);
    return error;
}

static fw_error open_new(const char *path, int *fd, struct fw_failure *why)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    return *fd >= 0 ? FW_OK : files_say(why, errno, "cannot make %.120s", path);
}

/* Ends what was begun with open_new: publishes it, or removes what failed. */
static fw_error finish(struct files *f, int fd, const char *path, const char *key, fw_error error,
                       struct fw_failure *why)
{
    if (close(fd) != 0 && !error)
        error = files_say(why, errno, "cannot write %.120s", path);
    if (!error)
        error = publish(f, path, key, why);
    if (error)
        unlink(path);
    return error;
}

static fw_error put(struct blobs *blobs, const char *key, struct span bytes, struct fw_failure *why)
{
    struct files *f = mine(blobs);
    char path[PATH_MAX];
    int fd;
    fw_error error = new_path(f, path, why);
    if (!error)
        error = open_new(path, &fd, why);
    if (error)
        return error;
    error = files_write(fd, bytes, key, why);
    return finish(f, fd, path, key, error, why);
}

static fw_error copy(int from, int to, const char *key, struct fw_failure *why)
{
    enum { PIECE = 1 << 20 };
    uint8_t *piece = malloc(PIECE);
    if (!piece)
        return failure_memory(why);
    fw_error error = FW_OK;
    ssize_t n = 1;
    while (!error && n != 0) {
        n = read(from, piece, PIECE);
        if (n > 0)
            error = files_write(to, (struct span){piece, (size_t)n}, key, why);
        else if (n < 0 && errno != EINTR)
            error = files_say(why, errno, "cannot read what becomes %.100s", key);
    }
    free(piece);
    return error;
}

static fw_error put_copy(struct files *f, const char *key, const char *from, struct fw_failure *why)
{
    char path[PATH_MAX];
    int fd;
    fw_error error = new_path(f, path, why);
    if (error)
        return error;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return files_say(why, errno, "cannot open %.120s", from);
    error = open_new(path, &fd, why);
    if (!error) {
        error = copy(in, fd, key, why);
        error = finish(f, fd, path, key, error, why);
    }
    close(in);
    if (!error)
        unlink(from);
    return error;
}

static fw_error put_file(struct blobs *blobs, const char *key, const char *path,
                         struct fw_failure *why)
{
    fw_error error = publish(mine(blobs), path, key, why);
    return error == FW_ERR_UNSUPPORTED ? put_copy(mine(blobs), key, path, why) : error;
}

static fw_error remove_now(struct files *f, const char *key, struct fw_failure *why)
{
    char path[PATH_MAX];
    fw_error error = path_of(f, key, path, why);
    if (error)
        return error;
    if (unlink(path) != 0)
        return errno == ENOENT || errno == ENOTDIR ? FW_OK
                                                   : files_say(why, errno, "cannot remove %s", key);
    int lock = lock_folders(f, LOCK_EX | LOCK_NB);
    size_t root = strlen(f->folder);
    for (char *slash; lock >= 0 && (slash = strrchr(path, '/')) && (size_t)(slash - path) > root;) {
        *slash = 0;
        if (rmdir(path) != 0) /* holds others */
            break;
    }
    unlock_folders(lock);
    return FW_OK;
}

/* ---- reading ---- */

static fw_error file(struct blobs *blobs, const char *key, int *fd, struct fw_failure *why)
{
    char path[PATH_MAX];
    fw_error error = path_of(mine(blobs), key, path, why);
    if (error)
        return error;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0)
        return files_say(why, errno, "cannot open blob %.120s", key);
    struct stat info;
    if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode))
        return FW_OK;
    close(*fd);
    *fd = -1;
    return failure_say(why, FW_ERR_NOT_FOUND, 0, "no blob %.120s", key);
}

static fw_error size_of(struct blobs *blobs, const char *key, uint64_t *size,
                        struct fw_failure *why)
{
    int fd;
    fw_error error = file(blobs, key, &fd, why);
    if (error)
        return error;
    struct stat info;
    if (fstat(fd, &info) == 0)
        *size = (uint64_t)info.st_size;
    else
        error = files_say(why, errno, "cannot look at blob %.120s", key);
    close(fd);
    return error;
}

static fw_error read_all(int fd, uint64_t offset, uint8_t *to, size_t size, const char *key,
                         struct fw_failure *why)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return files_say(why, errno, "cannot read blob %.120s", key);
        if (n == 0)
            return failure_say(why, FW_ERR_TRUNCATED, 0, "blob %.120s has become shorter", key);
        done += (size_t)n;
    }
    return FW_OK;
}

static fw_error get(struct blobs *blobs, const char *key, uint64_t offset, uint64_t size,
                    uint8_t **bytes, size_t *got, struct fw_failure *why)
{
    int fd;
    fw_error error = file(blobs, key, &fd, why);
    if (error)
        return error;
    struct stat info = {0};
    if (fstat(fd, &info) != 0)
        error = files_say(why, errno, "cannot look at blob %.120s", key);
    uint64_t whole = (uint64_t)info.st_size;
    if (!error && (offset > whole || size > whole - offset))
        error = failure_say(why, FW_ERR_TRUNCATED, 0, "blob %.120s has %llu bytes only", key,
                            (unsigned long long)whole);
    size_t wanted = error ? 0 : (size_t)(size ? size : whole - offset);
    uint8_t *to = error ? NULL : malloc(wanted ? wanted : 1);
    if (!error && !to)
        error = failure_say(why, FW_ERR_MEMORY, 0, "no memory for blob %.120s", key);
    if (!error)
        error = read_all(fd, offset, to, wanted, key, why);
    close(fd);
    if (error) {
        free(to);
        return error;
    }
    *bytes = to;
    *got = wanted;
    return FW_OK;
}

/* Walks the folder that the prefix ends in. */
static fw_error list(struct blobs *blobs, const char *prefix, blobs_each each, void *context,
                     struct fw_failure *why)
{
    struct files *f = mine(blobs);
    char path[PATH_MAX];
    fw_error error = path_of(f, prefix, path, why);
    if (error)
        return error;
    size_t root = strlen(f->folder);
    char *slash = strrchr(path, '/');
    slash[slash == path + root ? 1 : 0] = 0;
    char *roots[] = {path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return files_say(why, errno, "cannot list %.120s", prefix);
    bool more = true;
    errno = 0;
    for (FTSENT *e; more && !error && (e = fts_read(walk));) {
        if (e->fts_level > 0 && e->fts_name[0] == '.') {
            fts_set(walk, e, FTS_SKIP);
            continue;
        }
        if ((e->fts_info == FTS_DNR || e->fts_info == FTS_ERR) && e->fts_errno != ENOENT)
            error = files_say(why, e->fts_errno, "cannot list %.120s", prefix);
        if (e->fts_info != FTS_F)
            continue;
        const char *key = e->fts_path + root;
        while (*key == '/')
            key++;
        if (strncmp(key, prefix, strlen(prefix)) == 0)
            more = each(context, key, (uint64_t)e->fts_statp->st_size,
                        milliseconds(e->fts_statp->st_mtim));
    }
    fts_close(walk);
    return error;
}

static uint64_t free_bytes(struct blobs *blobs)
{
    struct statvfs info;
    if (statvfs(mine(blobs)->folder, &info) != 0)
        return UINT64_MAX;
    return (uint64_t)info.f_bavail * info.f_frsize;
}

static void tidy(struct blobs *blobs)
{
    remove_left_over(mine(blobs));
}

static double used(struct blobs *blobs)
{
    struct statvfs info;
    if (statvfs(mine(blobs)->folder, &info) != 0)
        return 0;
    uint64_t taken = (uint64_t)info.f_blocks - info.f_bfree, room = taken + info.f_bavail;
    return room ? (double)taken / (double)room : 0;
}

/* ---- nothing goes ---- */

/* Whoever removes holds .lock with others for that moment; who wants that nothing goes holds it
 * alone. The system gives it back for a process that ended. */
static fw_error hold(struct blobs *blobs, int *fd, struct fw_failure *why)
{
    enum { TRIES = 500 };
    char path[PATH_MAX];
    fw_error error = path_of(mine(blobs), ".lock", path, why);
    if (error)
        return error;
    *fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0640);
    if (*fd < 0)
        return files_say(why, errno, "cannot open %.120s", path);
    for (int i = 0; i < TRIES; i++) {
        if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
            return FW_OK;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    close(*fd);
    *fd = -1;
    return failure_say(why, FW_ERR_TIMEOUT, 0, "another backup is being made");
}

/* -1: nobody ever wanted that. */
static fw_error may_remove(struct files *f, int *fd, struct fw_failure *why)
{
    char path[PATH_MAX];
    fw_error error = path_of(f, ".lock", path, why);
    *fd = error ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || flock(*fd, LOCK_SH | LOCK_NB) == 0)
        return error;
    close(*fd);
    return failure_say(why, FW_ERR_TIMEOUT, 0, "a backup is being made: nothing goes meanwhile");
}

static fw_error remove_it(struct blobs *blobs, const char *key, struct fw_failure *why)
{
    int lock;
    fw_error error = may_remove(mine(blobs), &lock, why);
    if (error)
        return error;
    error = remove_now(mine(blobs), key, why);
    if (lock >= 0)
        close(lock);
    return error;
}

static const struct blobs_driver driver = {
    .close = close_it,
    .put = put,
    .put_file = put_file,
    .get = get,
    .file = file,
    .size = size_of,
    .remove = remove_it,
    .list = list,
    .free = free_bytes,
    .tidy = tidy,
    .used = used,
    .hold = hold,
};
