#include "collector/blobs_cache.h"

#include "base/failure.h"
#include "base/hex.h"
#include "collector/clock.h"
#include "collector/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct fetching { /* on the stack of the thread that fetches */
    const char *key;
    struct fetching *next;
};

struct blobs_cache {
    char *folder;
    uint64_t bytes;        /* that are kept */
    pthread_mutex_t mutex; /* of the rest */
    pthread_cond_t fetched;
    struct fetching *fetching;
    uint64_t count; /* makes names of new files different */
};

enum { NAME_SIZE = 2 * 32 + 1, LEFT_OVER = 24 * 60 * 60 /* seconds: of a process that ended */ };

/* A key's file: as long for every key, and no foreign text in names of files. */
static bool name_of(const char *key, char name[NAME_SIZE])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!EVP_Digest(key, strlen(key), digest, &size, EVP_sha256(), NULL) || size != 32)
        return false;
    hex_text(name, digest, size);
    return true;
}

static bool path_of(const struct blobs_cache *cache, const char *key, char *path)
{
    char name[NAME_SIZE];
    return name_of(key, name) && snprintf(path, PATH_MAX, "%s/%s", cache->folder, name) < PATH_MAX;
}

/* ---- making room ---- */

struct copy {
    char name[NAME_SIZE];
    uint64_t size;
    struct timespec used;
};

static int by_use(const void *a, const void *b)
{
    const struct copy *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* All copies; what a process that was killed left is removed on the way. */
static size_t read_copies(DIR *folder, struct copy **copies)
{
    size_t count = 0, room = 0;
    for (struct dirent *e; (e = readdir(folder));) {
        struct stat info;
        if (e->d_name[0] == '.' && strncmp(e->d_name, ".new-", 5) != 0)
            continue;
        if (fstatat(dirfd(folder), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        if (e->d_name[0] == '.' && info.st_mtime < clock_real_ms() / 1000 - LEFT_OVER &&
            clock_may_remove(NULL) == FW_OK)
            unlinkat(dirfd(folder), e->d_name, 0);
        if (strlen(e->d_name) != NAME_SIZE - 1)
            continue;
        if (count == room) {
            size_t more = room ? room * 2 : 64;
            struct copy *larger = realloc(*copies, more * sizeof *larger);
            if (!larger)
                break;
            *copies = larger;
            room = more;
        }
        struct copy *c = &(*copies)[count++];
        memcpy(c->name, e->d_name, NAME_SIZE);
        c->size = (uint64_t)info.st_size;
        c->used = info.st_mtim;
    }
    return count;
}

static void make_room(struct blobs_cache *cache)
{
    DIR *folder = opendir(cache->folder);
    if (!folder)
        return;
    struct copy *copies = NULL;
    size_t count = read_copies(folder, &copies);
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += copies[i].size;
    if (count)
        qsort(copies, count, sizeof *copies, by_use);
    for (size_t i = 0; i < count && all > cache->bytes; i++) {
        unlinkat(dirfd(folder), copies[i].name, 0); /* who has it open keeps it */
        all -= copies[i].size;
    }
    free(copies);
    closedir(folder);
}

/* ---- opening ---- */

fw_error blobs_cache_open(const char *folder, uint64_t bytes, struct blobs_cache **cache,
                          struct fw_failure *why)
{
    *cache = NULL;
    struct blobs_cache *made = calloc(1, sizeof *made);
    if (made)
        made->folder = strdup(folder);
    if (!made || !made->folder) {
        free(made);
        return failure_memory(why);
    }
    made->bytes = bytes;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->fetched, NULL);
    char inside[PATH_MAX];
    snprintf(inside, sizeof inside, "%s/x", folder);
    fw_error error = files_make_folders(inside, why);
    if (!error && access(folder, W_OK | X_OK) != 0)
        error = files_say(why, errno, "cannot write into %.120s", folder);
    if (error) {
        blobs_cache_close(made);
        return error;
    }
    make_room(made);
    *cache = made;
    return FW_OK;
}

void blobs_cache_close(struct blobs_cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_destroy(&cache->mutex);
    pthread_cond_destroy(&cache->fetched);
    free(cache->folder);
    free(cache);
}

/* ---- files ---- */

static int open_copy(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        futimens(fd, NULL); /* used now; by its owner this always may */
    return fd;
}

static bool is_fetching(const struct blobs_cache *cache, const char *key)
{
    for (const struct fetching *f = cache->fetching; f; f = f->next)
        if (strcmp(f->key, key) == 0)
            return true;
    return false;
}

/* Into a new file, which takes its name when it is whole. The copy need not survive the machine:
 * its length would tell, but not its contents, so it is made durable all the same. */
static fw_error fetch_new(struct blobs_cache *cache, const char *key, const char *path,
                          blobs_fetch fetch, void *context, int *fd, struct fw_failure *why)
{
    char fresh[PATH_MAX];
    pthread_mutex_lock(&cache->mutex);
    uint64_t number = cache->count++;
    pthread_mutex_unlock(&cache->mutex);
    if (snprintf(fresh, sizeof fresh, "%s/.new-%ld-%p-%llu", cache->folder, (long)getpid(),
                 (void *)cache, (unsigned long long)number) >= PATH_MAX)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the cache's path is too long");
    int new_fd = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (new_fd < 0)
        return files_say(why, errno, "cannot make a file in the cache");
    fw_error error = fetch(context, key, new_fd, why);
    if (!error)
        error = files_publish(fresh, path, why);
    if (error) {
        unlink(fresh);
        close(new_fd);
        return error;
    }
    *fd = new_fd;
    make_room(cache);
    return FW_OK;
}

fw_error blobs_cache_file(struct blobs_cache *cache, const char *key, blobs_fetch fetch,
                          void *context, int *fd, struct fw_failure *why)
{
    char path[PATH_MAX];
    if (!path_of(cache, key, path))
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the cache's path is too long");
    struct fetching me = {.key = key};
    pthread_mutex_lock(&cache->mutex);
    while ((*fd = open_copy(path)) < 0 && is_fetching(cache, key))
        pthread_cond_wait(&cache->fetched, &cache->mutex);
    if (*fd < 0) {
        me.next = cache->fetching;
        cache->fetching = &me;
    }
    pthread_mutex_unlock(&cache->mutex);
    if (*fd >= 0)
        return FW_OK;

    fw_error error = fetch_new(cache, key, path, fetch, context, fd, why);
    pthread_mutex_lock(&cache->mutex);
    struct fetching **at = &cache->fetching;
    while (*at != &me)
        at = &(*at)->next;
    *at = me.next;
    pthread_cond_broadcast(&cache->fetched);
    pthread_mutex_unlock(&cache->mutex);
    return error;
}

void blobs_cache_drop(struct blobs_cache *cache, const char *key)
{
    char path[PATH_MAX];
    if (path_of(cache, key, path))
        unlink(path);
}
