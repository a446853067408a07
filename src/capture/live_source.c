/*
 * Files of a running process are opened the way that cannot be fooled first: /proc/PID/map_files
 * leads to the very file that is mapped, also when it was deleted or replaced, and in any mount
 * namespace, but only for the privileged. The owner may still open /proc/PID/exe, which leads to
 * the program's file the same way. Otherwise the path is followed below /proc/PID/root. Device and
 * inode are compared.
 */
#include "capture/live_source.h"

#include "os/linux/procfs.h"
#include "os/linux/ptrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MAPS_LIMIT = 256 * 1024 * 1024, SOURCE_PATH = 4352 };

static bool set_root(struct fw_process *process)
{
    struct stat own, theirs;
    snprintf(process->root, sizeof process->root, "/proc/%d/root", (int)process->view);
    process->images.source.root = process->root;
    if (!stat("/", &own) && !stat(process->root, &theirs) && own.st_dev == theirs.st_dev &&
        own.st_ino == theirs.st_ino)
        process->images.source.root = NULL;
    return true;
}

bool live_choose_view(struct fw_process *process)
{
    struct tid_list list = {0};
    int tasks = procfs_open_tasks(process->pid);
    if (tasks < 0)
        return false;
    bool found = false;
    if (procfs_is_alive(tasks, process->view))
        found = true;
    else if (procfs_list_tasks(tasks, &list))
        for (size_t i = 0; i < list.count && !found; i++)
            if (procfs_is_alive(tasks, list.list[i])) {
                process->view = list.list[i];
                found = true;
            }
    free(list.list);
    close(tasks);
    return found && set_root(process);
}

static bool read_maps(struct fw_process *process)
{
    char path[64];
    size_t size;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process->view);
    char *text = procfs_read_all(AT_FDCWD, path, MAPS_LIMIT, &size);
    if (!text)
        return false;
    if (!size) { /* a thread that has ended shows no mappings */
        free(text);
        errno = ESRCH;
        return false;
    }
    struct maps maps;
    bool stale;
    if (!maps_parse(&maps, text) || !images_set_maps(&process->images, &maps, &stale)) {
        errno = ENOMEM;
        return false;
    }
    if (stale)
        rule_cache_clear(process->cache);
    return true;
}

bool live_read_maps(struct fw_process *process)
{
    if (read_maps(process))
        return true;
    int error = errno;
    if ((error == ESRCH || error == ENOENT) && live_choose_view(process))
        return read_maps(process);
    errno = error;
    return false;
}

static void reload(void *context)
{
    struct fw_process *process = context;
    if (!live_read_maps(process) && errno == ENOMEM)
        images_note(&process->images, FW_ERR_MEMORY);
}

static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
    const struct fw_process *process = context;
    return trace_read(process->view, address, to, size) == size;
}

/* Opens a regular file and nothing else: opening a device can have effects. */
static int open_regular(const char *path, struct stat *status)
{
    if (stat(path, status) || !S_ISREG(status->st_mode))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool is_mapped(const struct mapping *mapping, const struct stat *status)
{
    uint64_t device = (uint64_t)major(status->st_dev) << 32 | minor(status->st_dev);
    return device == mapping->device && status->st_ino == mapping->inode;
}

/* Opens the program's file when the mapping shows it. Where the file system counts devices its own
 * way (btrfs, overlayfs), the path has to do, and its build id is to be looked at. */
static int open_program(const struct fw_process *process, const struct mapping *mapping,
                        bool *proven)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process->view);
    int fd = open_regular(path, &status);
    *proven = fd >= 0 && is_mapped(mapping, &status);
    if (*proven || (fd >= 0 && process->executable && !strcmp(process->executable, mapping->path)))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int open_below_root(const struct fw_process *process, const struct mapping *mapping,
                           bool *proven)
{
    char path[SOURCE_PATH];
    struct stat status;
    int n = snprintf(path, sizeof path, "/proc/%d/root%s", (int)process->view, mapping->path);
    int fd = n > 0 && (size_t)n < sizeof path ? open_regular(path, &status) : -1;
    *proven = fd >= 0 && is_mapped(mapping, &status);
    return fd;
}

static struct object *open_file(void *context, const struct mapping *mapping, bool *proven)
{
    struct fw_process *process = context;
    char path[SOURCE_PATH];
    struct stat status;
    *proven = true;
    snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", (int)process->view,
             (unsigned long long)mapping->lo, (unsigned long long)mapping->hi);
    int fd = open_regular(path, &status);
    if (fd < 0)
        fd = open_program(process, mapping, proven);
    if (fd < 0 && !mapping->deleted)
        fd = open_below_root(process, mapping, proven);
    if (fd < 0)
        return NULL;
    struct object *object;
    images_note(&process->images, object_open_fd(fd, mapping->path, &object, NULL));
    close(fd);
    return object;
}

struct image_source live_source(struct fw_process *process)
{
    return (struct image_source){
        .open = open_file,
        .read = read_memory,
        .reload = reload,
        .context = process,
        .root = process->images.source.root,
    };
}
