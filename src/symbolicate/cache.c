/*
 * The cache of symbol maps: FOLDER/ID-ARCH-vN.symmap, one file for each identity, way of making and
 * version of the format.
 *
 * Files appear whole (symmap_save) and are checked before use: a damaged one is made again, and any
 * number of processes share a folder without a lock. Use is remembered by the modification time;
 * over the limit the longest unused go first. A map still open elsewhere stays usable after its
 * name is gone. What a killed process left half written goes after an hour.
 */
#include "symbolicate/internal.h"

#include "base/array.h"
#include "symmap/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char suffix[] = ".symmap";

enum { LEFTOVER_SECONDS = 3600 };

char *cache_path(const struct fw_source *source)
{
    const struct fw_symbolicator *s = source->symbolicator;
    /* What is kept may know more than the file alone. */
    if (s->options.no_separate || source->id_size == 0 || source->kind != FW_SOURCE_DWARF ||
        !s->cache_folder || !s->cache_folder[0])
        return NULL;
    char id[2 * sizeof source->id + 1] = "";
    for (size_t i = 0; i < source->id_size; i++)
        snprintf(id + 2 * i, 3, "%02x", source->id[i]);
    char *path;
    if (asprintf(&path, "%s/%s%s%s%s-v%u%s", s->cache_folder, id, source->arch[0] ? "-" : "",
                 source->arch, s->options.columns ? "-columns" : "", SYMMAP_VERSION, suffix) < 0)
        return NULL;
    return path;
}

struct symmap *cache_open(const struct fw_source *source, const char *path)
{
    struct symmap *map;
    if (symmap_open(path, &map, NULL) != FW_OK)
        return NULL;
    const struct symmap_identity *identity = symmap_identity(map);
    if (identity->id_size != source->id_size || identity->base != source->base ||
        memcmp(identity->id, source->id, source->id_size) != 0) {
        symmap_close(map);
        return NULL;
    }
    utimensat(AT_FDCWD, path, NULL, 0); /* used now; a read-only cache forgets, no harm */
    return map;
}

struct cached {
    char name[256];
    uint64_t size;
    struct timespec used;
};

static int oldest_first(const void *a, const void *b)
{
    const struct cached *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static bool is_cached_map(const char *name)
{
    size_t size = strlen(name);
    return size > sizeof suffix - 1 && size < sizeof(((struct cached *)0)->name) &&
           strcmp(name + size - (sizeof suffix - 1), suffix) == 0;
}

static bool is_leftover(const char *name, const struct stat *status)
{
    const char *end = strstr(name, suffix);
    return end && end[sizeof suffix - 1] == '.' &&
           time(NULL) - status->st_mtim.tv_sec > LEFTOVER_SECONDS;
}

/* Takes leftovers away, and maps, the longest unused first, until the rest fits. */
static void trim(const char *folder, uint64_t limit)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    struct cached *list = NULL;
    size_t count = 0, capacity = 0;
    uint64_t total = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat status;
        if (fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        if (is_leftover(entry->d_name, &status))
            unlinkat(dirfd(dir), entry->d_name, 0);
        if (!is_cached_map(entry->d_name))
            continue;
        if (!array_room(&list, &capacity, count, sizeof *list))
            break;
        struct cached *one = &list[count++];
        memcpy(one->name, entry->d_name, strlen(entry->d_name) + 1);
        one->size = (uint64_t)status.st_size;
        one->used = status.st_mtim;
        total += one->size;
    }
    if (total > limit)
        qsort(list, count, sizeof *list, oldest_first);
    for (size_t i = 0; i < count && total > limit; i++)
        if (unlinkat(dirfd(dir), list[i].name, 0) == 0)
            total -= list[i].size;
    free(list);
    closedir(dir);
}

/* The folder and those above it, for the user alone. */
static bool make_folder(const char *folder)
{
    char path[4096];
    size_t size = strlen(folder);
    if (size >= sizeof path)
        return false;
    memcpy(path, folder, size + 1);
    for (size_t i = 1; i <= size; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        char kept = path[i];
        path[i] = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return false;
        path[i] = kept;
    }
    return true;
}

void cache_keep(const struct fw_symbolicator *symbolicator, const char *path, const void *bytes,
                size_t size)
{
    uint64_t limit = symbolicator->options.cache_limit;
    if (size > limit || !make_folder(symbolicator->cache_folder))
        return;
    if (symmap_save(path, bytes, size, NULL) == FW_OK)
        trim(symbolicator->cache_folder, limit);
}
