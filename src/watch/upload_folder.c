/*
 * The folder as the sender sees it: one lock, one line of state, and files ID.fwr.
 *
 * `upload.state` is locked with flock while somebody sends, and holds when the next try is due
 * (upload_backoff.c). The system releases the lock of a process that ends, however it ends. A child
 * made by fork has the parent's descriptors; it closes those of locks at once, so that it cannot
 * hold one on after the parent's end.
 *
 * Files may vanish at any time (limits of the folder), and what is in them is hostile: they are
 * opened without following links, and only whole records of a Framewalk report are taken.
 */
#include "watch/upload_internal.h"

#include "report/fwr_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char state_name[] = "upload.state";
static const char suffix[] = ".fwr";

/* --- locks that are held --- */

enum {
    HELD_MAX = 16
}; /* at the same time in one process; further ones are not closed in children */

static pthread_mutex_t held_guard = PTHREAD_MUTEX_INITIALIZER;
static int held[HELD_MAX]; /* descriptors + 1; 0: free */

static void before_fork(void)
{
    pthread_mutex_lock(&held_guard);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&held_guard);
}

static void in_child(void)
{
    for (size_t i = 0; i < HELD_MAX; i++) {
        if (held[i])
            close(held[i] - 1);
        held[i] = 0;
    }
    pthread_mutex_unlock(&held_guard);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

static int open_state(int folder)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&held_guard);
    int fd = openat(folder, state_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                    S_IRUSR | S_IWUSR);
    for (size_t i = 0; fd >= 0 && i < HELD_MAX; i++) {
        if (!held[i]) {
            held[i] = fd + 1;
            break;
        }
    }
    pthread_mutex_unlock(&held_guard);
    return fd;
}

static void close_state(int fd)
{
    pthread_mutex_lock(&held_guard);
    for (size_t i = 0; i < HELD_MAX; i++) {
        if (held[i] == fd + 1)
            held[i] = 0;
    }
    flock(fd, LOCK_UN); /* for a child too that was made in between */
    close(fd);
    pthread_mutex_unlock(&held_guard);
}

/* --- the folder --- */

static fw_error failed_open(const char *path, int code, struct fw_failure *why)
{
    fw_error error = FW_ERR_SYSTEM;
    if (code == ENOENT || code == ENOTDIR)
        error = FW_ERR_NOT_FOUND;
    else if (code == EACCES || code == EPERM)
        error = FW_ERR_PERMISSION;
    return failure_say(why, error, code, "%.160s: %s", path, strerror(code));
}

fw_error upload_folder_open(const char *path, bool read_only, struct upload_folder *folder,
                            struct fw_failure *why)
{
    folder->state = -1;
    folder->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->folder < 0)
        return failed_open(path, errno, why);
    if (read_only)
        return FW_OK;
    folder->state = open_state(folder->folder);
    int code = errno;
    fw_error error = FW_OK;
    if (folder->state < 0) {
        error = failure_say(why, code == EACCES ? FW_ERR_PERMISSION : FW_ERR_SYSTEM, code,
                            "%.140s/%s, the lock of those who send: %s", path, state_name,
                            strerror(code));
    } else if (flock(folder->state, LOCK_EX | LOCK_NB) != 0) {
        code = errno;
        error = code == EWOULDBLOCK
                    ? failure_say(why, FW_ERR_TIMEOUT, code,
                                  "%.160s: another process is sending from here", path)
                    : failed_open(path, code, why);
    }
    if (error)
        upload_folder_close(folder);
    return error;
}

void upload_folder_close(struct upload_folder *folder)
{
    if (folder->state >= 0)
        close_state(folder->state);
    if (folder->folder >= 0)
        close(folder->folder);
    folder->folder = folder->state = -1;
}

void upload_folder_read(const struct upload_folder *folder, struct upload_backoff *backoff)
{
    char text[UPLOAD_BACKOFF_TEXT + 1];
    ssize_t size = pread(folder->state, text, sizeof text, 0);
    upload_backoff_parse(text, size > 0 ? (size_t)size : 0, backoff);
}

/* On a full disk the state may be lost: then the next process tries earlier than it should. The
 * bytes are overwritten in place, so only the first time needs room. */
void upload_folder_write(const struct upload_folder *folder, const struct upload_backoff *backoff)
{
    char text[UPLOAD_BACKOFF_TEXT];
    struct stat about;
    upload_backoff_print(backoff, text);
    bool good = pwrite(folder->state, text, sizeof text, 0) == (ssize_t)sizeof text;
    if (good && fstat(folder->state, &about) == 0 && about.st_size > (off_t)sizeof text)
        good = ftruncate(folder->state, sizeof text) == 0; /* somebody else's bytes */
    if (!good && ftruncate(folder->state, 0) != 0)
        return; /* a torn line is read as none anyway */
}

/* --- which reports are there --- */

static bool is_report_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == UPLOAD_ID_SIZE - 1 &&
           strcmp(name + UPLOAD_ID_SIZE - 1, suffix) == 0;
}

static int older(const void *a, const void *b)
{
    const struct upload_item *x = a, *y = b;
    if (x->modified_ns != y->modified_ns)
        return x->modified_ns < y->modified_ns ? -1 : 1;
    return strcmp(x->id, y->id);
}

static uint64_t modified(const struct stat *about)
{
#ifdef __APPLE__
    const struct timespec *time = &about->st_mtimespec;
#else
    const struct timespec *time = &about->st_mtim;
#endif
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

static DIR *open_listing(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    if (!listing && fd >= 0)
        close(fd);
    return listing;
}

static bool add_item(struct upload_list *list, size_t *room, const char *name,
                     const struct stat *about)
{
    if (list->count == *room) {
        size_t more = *room ? *room * 2 : 32;
        struct upload_item *items = realloc(list->items, more * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        *room = more;
    }
    struct upload_item *item = &list->items[list->count++];
    *item = (struct upload_item){.size = (uint64_t)about->st_size, .modified_ns = modified(about)};
    memcpy(item->id, name, UPLOAD_ID_SIZE - 1);
    return true;
}

fw_error upload_folder_list(int folder, struct upload_list *list, struct fw_failure *why)
{
    *list = (struct upload_list){.folder = folder};
    DIR *listing = open_listing(folder);
    if (!listing)
        return failure_say(why, FW_ERR_SYSTEM, errno, "the folder of reports: %s", strerror(errno));
    size_t room = 0;
    bool enough = true;
    struct dirent *entry;
    while (enough && list->count < UPLOAD_LIST_MAX && (entry = readdir(listing)) != NULL) {
        struct stat about;
        if (is_report_name(entry->d_name) &&
            fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode))
            enough = add_item(list, &room, entry->d_name, &about);
    }
    closedir(listing);
    if (!enough) {
        upload_list_free(list);
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    }
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, older);
    return FW_OK;
}

uint64_t upload_folder_count(const char *path)
{
    DIR *listing = opendir(path);
    uint64_t count = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing)) != NULL;)
        count += is_report_name(entry->d_name);
    if (listing)
        closedir(listing);
    return count;
}

void upload_list_free(struct upload_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        upload_item_drop(&list->items[i]);
        free(list->items[i].path);
    }
    free(list->items);
    list->items = NULL;
    list->count = 0;
}

/* --- one report --- */

struct bytes {
    const uint8_t *at;
    size_t size;
};

static long read_bytes(void *context, uint64_t offset, void *to, size_t size)
{
    const struct bytes *b = context;
    if (offset >= b->size)
        return 0;
    size = size < b->size - offset ? size : (size_t)(b->size - offset);
    memcpy(to, b->at + offset, size);
    return (long)size;
}

static const char *item_name(const struct upload_item *item, char room[UPLOAD_ID_SIZE + 4])
{
    if (item->path)
        return item->path;
    snprintf(room, UPLOAD_ID_SIZE + 4, "%.32s%s", item->id, suffix);
    return room;
}

/* Takes the id from the report itself, and leaves off what follows its last whole record. */
static fw_error survey(struct upload_item *item, size_t size)
{
    struct bytes bytes = {item->bytes, size};
    struct fwr_state state;
    if (fwr_survey(read_bytes, &bytes, &state) != FW_OK || !state.is_report || state.whole > size)
        return FW_ERR_FORMAT;
    item->size = state.whole;
    for (size_t i = 0; i < FWR_ID_BYTES; i++)
        snprintf(item->id + 2 * i, 3, "%02x", state.id[i]);
    return FW_OK;
}

static fw_error read_file(int fd, struct upload_item *item, size_t *size)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return FW_ERR_UNSUPPORTED;
    if (about.st_size > UPLOAD_REPORT_MAX)
        return FW_ERR_FULL;
    size_t wanted = (size_t)about.st_size;
    uint8_t *bytes = malloc(wanted ? wanted : 1);
    if (!bytes)
        return FW_ERR_MEMORY;
    for (*size = 0; *size < wanted;) {
        ssize_t got = pread(fd, bytes + *size, wanted - *size, (off_t)*size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(bytes);
            return FW_ERR_SYSTEM;
        }
        if (got == 0)
            break;
        *size += (size_t)got;
    }
    item->bytes = bytes;
    return FW_OK;
}

fw_error upload_item_read(const struct upload_list *list, struct upload_item *item)
{
    char room[UPLOAD_ID_SIZE + 4];
    /* A file that people name may be a link; one in the folder may not. */
    int fd = openat(list->folder, item_name(item, room),
                    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (item->path ? 0 : O_NOFOLLOW));
    if (fd < 0) {
        if (errno == ENOENT)
            return FW_ERR_NOT_FOUND;
        return errno == EACCES ? FW_ERR_PERMISSION : FW_ERR_SYSTEM;
    }
    size_t size;
    fw_error error = read_file(fd, item, &size);
    close(fd);
    if (!error && item->path == NULL && (item->path = strdup(room)) == NULL)
        error = FW_ERR_MEMORY; /* from here on the id is the report's, not the file's */
    if (!error)
        error = survey(item, size);
    if (error)
        upload_item_drop(item);
    return error;
}

void upload_item_drop(struct upload_item *item)
{
    free((void *)(uintptr_t)item->bytes);
    item->bytes = NULL;
}

bool upload_item_remove(const struct upload_list *list, const struct upload_item *item)
{
    char room[UPLOAD_ID_SIZE + 4];
    return list->keep || unlinkat(list->folder, item_name(item, room), 0) == 0 || errno == ENOENT;
}
