/*
 * Bundles. A dSYM has its files in Contents/Resources/DWARF. An application or framework names its
 * program in Info.plist (CFBundleExecutable); here that is one bounded look at the text form, and
 * where it tells nothing (binary form, no such file), the program is called as the bundle.
 *
 * "Bundle Programming Guide" of Apple's documentation archive: bundle structures.
 */
#include "object/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLIST_LIMIT = 64 << 10 };

static const char dwarf_folder[] = "Contents/Resources/DWARF";

const char *bundle_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void bundle_name(const char *path, char *name, size_t size)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start && path[start - 1] != '/')
        start--;
    size_t length = end - start < size ? end - start : size - 1;
    memcpy(name, path + start, length);
    name[length] = 0;
    char *dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = 0;
}

static bool join(char *to, size_t size, const char *folder, const char *name)
{
    int n = snprintf(to, size, "%s/%s", folder, name);
    return n > 0 && (size_t)n < size;
}

static bool is_regular(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool bundle_is_dsym(const char *path)
{
    char folder[PATH_MAX];
    struct stat status;
    return join(folder, sizeof folder, path, dwarf_folder) && stat(folder, &status) == 0 &&
           S_ISDIR(status.st_mode);
}

void bundle_files_free(struct bundle_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct bundle_files){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* False when memory ran out. */
static bool list_files(const char *folder, DIR *dir, struct bundle_files *files)
{
    const struct dirent *entry;
    while (files->count < BUNDLE_FILES && (entry = readdir(dir))) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.' || !join(path, sizeof path, folder, entry->d_name) ||
            !is_regular(path))
            continue;
        char *copy = strdup(path);
        if (!copy)
            return false;
        files->paths[files->count++] = copy;
    }
    qsort(files->paths, files->count, sizeof *files->paths, by_text);
    return true;
}

fw_error bundle_dsym_files(const char *path, struct bundle_files *files, struct fw_failure *why)
{
    *files = (struct bundle_files){0};
    char folder[PATH_MAX];
    DIR *dir = join(folder, sizeof folder, path, dwarf_folder) ? opendir(folder) : NULL;
    if (!dir)
        return object_fail_system(why, path, "cannot list its debug files", errno);
    files->paths = calloc(BUNDLE_FILES, sizeof *files->paths);
    bool good = files->paths && list_files(folder, dir, files);
    closedir(dir);
    if (good && files->count)
        return FW_OK;
    bundle_files_free(files);
    return good ? object_fail(why, FW_ERR_NOT_FOUND, 0, 0, path, "the bundle has no debug files")
                : object_fail(why, FW_ERR_MEMORY, 0, 0, path, "out of memory");
}

/* The value of CFBundleExecutable in the text form of a property list, where it is a plain file
 * name. */
static bool plist_program(const char *text, char *name, size_t size)
{
    static const char key[] = "<key>CFBundleExecutable</key>";
    const char *at = strstr(text, key);
    if (!at)
        return false;
    at += sizeof key - 1;
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "<string>", 8) != 0)
        return false;
    at += 8;
    size_t length = strcspn(at, "<&/");
    if (strncmp(at + length, "</string>", 9) != 0 || length == 0 || length >= size || at[0] == '.')
        return false;
    memcpy(name, at, length);
    name[length] = 0;
    return true;
}

static bool named_by_plist(const char *path, char *name, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    bool found = false;
    char *text = fd >= 0 ? calloc(1, PLIST_LIMIT + 1) : NULL;
    if (text && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        read(fd, text, PLIST_LIMIT) > 0)
        found = plist_program(text, name, size);
    free(text);
    if (fd >= 0)
        close(fd);
    return found;
}

bool bundle_program(const char *path, char *program, size_t size)
{
    static const struct {
        const char *plist, *folder; /* below the bundle */
    } layouts[] = {
        {"Contents/Info.plist", "Contents/MacOS"},
        {"Info.plist", "."},
        {"Resources/Info.plist", "."},
        {"Versions/Current/Resources/Info.plist", "Versions/Current"},
    };
    char own[NAME_MAX + 1], folder[PATH_MAX], name[NAME_MAX + 1], plist[PATH_MAX];
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (join(plist, sizeof plist, path, layouts[i].plist) &&
            named_by_plist(plist, name, sizeof name) &&
            join(folder, sizeof folder, path, layouts[i].folder) &&
            join(program, size, folder, name) && is_regular(program))
            return true;
    bundle_name(path, own, sizeof own);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (join(folder, sizeof folder, path, layouts[i].folder) &&
            join(program, size, folder, own) && is_regular(program))
            return true;
    return false;
}
