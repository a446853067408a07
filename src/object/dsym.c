/*
 * The dSYM of an image. A file is taken only when it proves to belong to the image: one of its
 * slices has the image's UUID, and that slice holds debug information. Names only say where to look
 * first.
 *
 * Folder trees are walked in the order of names, without following links to folders, to a bounded
 * depth, and up to a bounded number of entries and of files opened.
 */
#include "object/dsym.h"

#include "object/bundle.h"
#include "object/looked.h"
#include "object/macho_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TREE_DEPTH = 16,
    TREE_ENTRIES = 200000, /* of one search */
    TREE_FILES = 20000,    /* Mach-O files opened in one search */
    PARENTS = 16,          /* bundles around the image */
};

struct search {
    const struct object *object;
    const char *name; /* the image's file name; "" when not known */
    object_place_call place;
    void *context;
    size_t entries, files;
    struct object *found;
    bool over; /* nothing more is to be looked at: found, too much, or out of memory */
    bool no_memory;
};

static void tell(const struct search *s, const char *path, const char *outcome)
{
    if (s->place)
        s->place(s->context, path, outcome);
}

static void stop(struct search *s, const char *path)
{
    tell(s, path, "too many files to look at all");
    s->over = true;
}

static bool join(char *to, const char *folder, const char *name)
{
    int n = snprintf(to, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

struct first_uuid {
    char text[64]; /* "UUID 0123..." */
    size_t count;
};

static bool take_slice(void *context, const struct object_slice *slice)
{
    struct first_uuid *first = context;
    if (first->count++ == 0) {
        int used = snprintf(first->text, sizeof first->text,
                            slice->uuid.size ? "UUID " : "without a UUID");
        for (size_t i = 0; i < slice->uuid.size && i < 20; i++)
            used += snprintf(first->text + used, sizeof first->text - (size_t)used, "%02x",
                             slice->uuid.data[i]);
    }
    return true;
}

/* Says why a file that was expected to be the dSYM is not. */
static void refuse(struct search *s, const char *path, fw_error error)
{
    struct first_uuid first = {.count = 0};
    const char *reason = fw_error_text(error);
    if (error == FW_ERR_NOT_FOUND && object_slices(path, take_slice, &first, NULL) == FW_OK &&
        first.count == 1)
        reason = first.text;
    else if (first.count > 1)
        reason = "slices of other UUIDs";
    tell(s, path, reason);
}

/* Opens a file that may be the dSYM. `expected`: its name says that it is. */
static void try_file(struct search *s, const char *path, bool expected)
{
    struct object *candidate;
    struct object_choice choice = {.uuid = s->object->build_id};
    fw_error error = object_open_choice(path, &choice, &candidate, NULL);
    if (error == FW_ERR_MEMORY) {
        s->no_memory = s->over = true;
        return;
    }
    if (error != FW_OK) {
        if (expected)
            refuse(s, path, error);
        return;
    }
    bool self = candidate->has_inode && s->object->has_inode &&
                candidate->device == s->object->device && candidate->inode == s->object->inode;
    if (!self && object_section_named(candidate, "__debug_info") == NULL &&
        object_section_named(candidate, "__zdebug_info") == NULL) {
        if (expected)
            tell(s, path, "no debug information");
    } else if (!self) {
        tell(s, path, NULL);
        s->found = candidate;
        s->over = true;
        return;
    }
    object_close(candidate);
}

static void try_bundle(struct search *s, const char *path)
{
    if (s->over)
        return;
    struct bundle_files files;
    struct stat status;
    if (stat(path, &status) != 0) {
        tell(s, path, OBJECT_NO_FILE);
        return;
    }
    fw_error error = bundle_dsym_files(path, &files, NULL);
    if (error == FW_ERR_MEMORY)
        s->no_memory = s->over = true;
    else if (error != FW_OK)
        tell(s, path, "no debug files in it");
    for (size_t i = 0; error == FW_OK && i < files.count && !s->over; i++)
        try_file(s, files.paths[i], true);
    if (error == FW_OK)
        bundle_files_free(&files);
}

static bool has_object_magic(const char *path)
{
    uint8_t magic[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool good = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic;
    if (fd >= 0)
        close(fd);
    static const uint8_t fat[] = {0xca, 0xfe, 0xba};
    return good &&
           (macho_is((struct span){magic, sizeof magic}) || memcmp(magic, fat, sizeof fat) == 0);
}

/* One entry of a tree: folders go into the walk, links only to files. */
static void walk(struct search *s, const char *folder, unsigned depth, bool bundles_only);

static void visit(struct search *s, const char *path, unsigned depth, bool bundles_only)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return;
    if (S_ISDIR(status.st_mode)) {
        if (!bundles_only || ends_with(path, ".dSYM"))
            walk(s, path, depth + 1, false);
        return;
    }
    if (S_ISLNK(status.st_mode) && stat(path, &status) != 0)
        return;
    if (bundles_only || !S_ISREG(status.st_mode) || !has_object_magic(path))
        return;
    if (++s->files > TREE_FILES)
        stop(s, path);
    else
        try_file(s, path, strcmp(bundle_base(path), s->name) == 0);
}

/* Everything below a folder; with `bundles_only`, of its own entries only dSYM bundles. */
static void walk(struct search *s, const char *folder, unsigned depth, bool bundles_only)
{
    struct dirent **list;
    if (depth > TREE_DEPTH) {
        tell(s, folder, "too deep");
        return;
    }
    int count = scandir(folder, &list, NULL, alphasort);
    if (count < 0) {
        if (errno == ENOMEM)
            s->no_memory = s->over = true;
        return;
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        const char *name = list[i]->d_name;
        if (!s->over && ++s->entries > TREE_ENTRIES)
            stop(s, folder);
        if (!s->over && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            join(path, folder, name))
            visit(s, path, depth, bundles_only);
        free(list[i]);
    }
    free(list);
}

static void try_named(struct search *s, const char *folder, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s.dSYM", folder, name);
    if (n > 0 && (size_t)n < sizeof path)
        try_bundle(s, path);
}

/* Cuts the last part off; false when nothing is left. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = 0;
    return true;
}

/* My.app/Contents/MacOS/My has its dSYM at My.app.dSYM; in an archive of Xcode (.xcarchive) all
 * are in dSYMs. */
static void around(struct search *s, const char *path)
{
    char parent[PATH_MAX], other[PATH_MAX];
    if (snprintf(parent, sizeof parent, "%s", path) >= (int)sizeof parent)
        return;
    for (int i = 0; i < PARENTS && !s->over && go_up(parent); i++) {
        const char *dot = strrchr(bundle_base(parent), '.');
        if (!dot || dot == bundle_base(parent) || dot[1] == 0)
            continue;
        int n = snprintf(other, sizeof other, "%s.dSYM", parent);
        if (n > 0 && (size_t)n < sizeof other)
            try_bundle(s, other);
        if (!s->over && ends_with(parent, ".xcarchive") && join(other, parent, "dSYMs"))
            walk(s, other, 0, false);
    }
}

static void beside(struct search *s, const char *path)
{
    char folder[PATH_MAX], real[PATH_MAX];
    if (!realpath(path, real))
        snprintf(real, sizeof real, "%s", path);
    snprintf(folder, sizeof folder, "%s", path);
    if (!strchr(folder, '/'))
        snprintf(folder, sizeof folder, ".");
    else if (!go_up(folder))
        folder[1] = 0;
    try_named(s, folder, bundle_base(path));
    const char *installed = s->object->macho->install_name;
    if (installed && strcmp(bundle_base(installed), bundle_base(path)) != 0 &&
        strlen(bundle_base(installed)) <= NAME_MAX)
        try_named(s, folder, bundle_base(installed));
    if (!s->over)
        around(s, real);
    if (!s->over)
        walk(s, folder, 0, true);
}

static void below(struct search *s, const char *folder)
{
    struct stat status;
    if (stat(folder, &status) != 0)
        tell(s, folder, OBJECT_NO_FILE);
    else if (!S_ISDIR(status.st_mode))
        try_file(s, folder, true);
    else if (bundle_is_dsym(folder))
        try_bundle(s, folder);
    else {
        walk(s, folder, 0, false);
        if (!s->over)
            tell(s, folder, "no file of this UUID");
    }
}

fw_error object_find_dsym_told(const struct object *object, const char *path,
                               const char *const *folders, object_place_call place, void *context,
                               struct object **dsym)
{
    *dsym = NULL;
    if (!object->macho || object->build_id.size == 0)
        return FW_ERR_NOT_FOUND;
    struct search s = {.object = object,
                       .name = path ? bundle_base(path) : "",
                       .place = place,
                       .context = context};
    if (path)
        beside(&s, path);
    for (; folders && *folders && !s.over; folders++)
        below(&s, *folders);
    *dsym = s.found;
    return s.found ? FW_OK : s.no_memory ? FW_ERR_MEMORY : FW_ERR_NOT_FOUND;
}

fw_error object_find_dsym(const struct object *object, const char *path, const char *const *folders,
                          struct object **dsym, struct fw_failure *why)
{
    struct looked looked = {{0}, {0}};
    fw_error error = object_find_dsym_told(object, path, folders, looked_place, &looked, dsym);
    if (error == FW_OK)
        return FW_OK;
    if (error == FW_ERR_MEMORY)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    if (!object->macho || object->build_id.size == 0)
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label,
                           "has no UUID, by which its dSYM could be told");
    return looked_fail(&looked, "no dSYM", why);
}
