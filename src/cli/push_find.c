/*
 * The search. Files are told by their first bytes, as in the collector; archives are taken only
 * when they are named, for in a folder they may be anything.
 *
 * Symbolic links are not followed: what they lead to is found where it is, or is another's.
 */
#include "cli/push_find.h"

#include "base/array.h"
#include "symmap/symmap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 32, ENTRIES = 1000000 };

const char *const push_fate_words[] = {"wanted",   "no id",
                                       "stripped", "has a debug file",
                                       "twin",     "there already",
                                       "sent",     "of no use",
                                       "failed",   "without the files that have its names"};

static bool is_archive(const uint8_t *start, size_t size)
{
    static const struct {
        const char *magic;
        size_t size, at;
    } known[] = {{"PK\3\4", 4, 0},
                 {"\x1f\x8b", 2, 0},
                 {"\xfd"
                  "7zXZ",
                  5, 0},
                 {"\x28\xb5\x2f\xfd", 4, 0},
                 {"ustar", 5, 257}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size >= known[i].at + known[i].size &&
            memcmp(start + known[i].at, known[i].magic, known[i].size) == 0)
            return true;
    return false;
}

/* ---- one file ---- */

struct look {
    struct push_found *found;
    struct push_file *file;
    size_t capacity;
    bool linked; /* a slice that is not to be linked first, or a core */
};

static bool take_slice(void *context, struct object *object, const struct fw_failure *why)
{
    struct look *l = context;
    struct debug_slice slice;
    (void)why;
    if (!object || debug_file_look(object, &slice, NULL) != FW_OK) {
        l->found->core |= object && object_type(object) == OBJECT_CORE;
        return true;
    }
    l->linked = true;
    if (!array_room(&l->file->slices, &l->capacity, l->file->slice_count, sizeof slice)) {
        l->found->no_memory = true;
        return false;
    }
    l->file->slices[l->file->slice_count++] = slice;
    return true;
}

static void look_at_map(struct look *l)
{
    struct symmap *map;
    struct debug_slice slice = {.kind = DEBUG_FILE_SYMBOLS,
                                .features = DEBUG_FILE_SYMTAB | DEBUG_FILE_LINES};
    if (symmap_open(l->file->path, &map, NULL) != FW_OK)
        return;
    const struct symmap_identity *identity = symmap_identity(map);
    slice.id_size = identity->id_size;
    memcpy(slice.id, identity->id, identity->id_size);
    memcpy(slice.arch, identity->arch, sizeof slice.arch);
    symmap_close(map);
    l->linked = true;
    l->file->slices = malloc(sizeof slice);
    if (l->file->slices)
        l->file->slices[l->file->slice_count++] = slice;
}

static void look_inside(struct look *l, int fd, enum debug_file_form form)
{
    if (form == DEBUG_FILE_MAP) {
        look_at_map(l);
        return;
    }
    void *at = mmap(NULL, (size_t)l->file->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return;
    debug_file_slices((struct span){at, (size_t)l->file->size}, l->file->path, take_slice, l, NULL);
    munmap(at, (size_t)l->file->size);
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* False when it is no file for the collector. */
static bool look_at(struct push_found *found, const char *path, bool named)
{
    uint8_t start[512];
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t got = fd >= 0 ? pread(fd, start, sizeof start, 0) : -1;
    if (got < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        found->unreadable += !named;
        if (fd >= 0)
            close(fd);
        return false;
    }
    enum debug_file_form form = debug_file_form((struct span){start, (size_t)got});
    bool foreign = form == DEBUG_FILE_GSYM ||
                   (form == DEBUG_FILE_BREAKPAD && (named || ends_with(path, ".sym")));
    bool object = form == DEBUG_FILE_ELF || form == DEBUG_FILE_MACHO || form == DEBUG_FILE_MAP;
    bool archive = named && !foreign && !object && is_archive(start, (size_t)got);
    struct push_file file = {.size = (uint64_t)about.st_size,
                             .device = about.st_dev,
                             .inode = about.st_ino,
                             .whole = foreign || archive};
    if (!foreign && !object && !archive) {
        close(fd);
        return false;
    }
    file.path = strdup(path);
    struct look l = {.found = found, .file = &file, .linked = file.whole};
    if (file.path && !file.whole)
        look_inside(&l, fd, form);
    close(fd);
    if (!l.linked && (!named || found->core)) { /* object files, cores, what is damaged */
        free(file.path);
        return false;
    }
    if (!file.path || !array_room(&found->files, &found->capacity, found->count, sizeof file)) {
        found->no_memory = true;
        free(file.path);
        free(file.slices);
        return true;
    }
    found->files[found->count++] = file;
    return true;
}

bool push_find_file(struct push_found *found, const char *path)
{
    found->core = false;
    return look_at(found, path, true);
}

/* ---- folders ---- */

static void walk(struct push_found *found, const char *path, unsigned depth);

static void look_at_entry(struct push_found *found, const char *folder, const struct dirent *entry,
                          unsigned depth)
{
    struct stat about;
    char *path;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return;
    if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) {
        found->no_memory = true;
        return;
    }
    if (++found->entries > ENTRIES)
        found->cut = true;
    else if (strcmp(entry->d_name, "BCSymbolMaps") == 0)
        found->bitcode_maps++;
    else if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode))
        walk(found, path, depth + 1);
    else if (S_ISREG(about.st_mode) && about.st_size > 0)
        look_at(found, path, false);
    free(path);
}

static void walk(struct push_found *found, const char *path, unsigned depth)
{
    struct dirent **list = NULL;
    int count = depth < DEPTH ? scandir(path, &list, NULL, alphasort) : 0;
    found->cut |= depth == DEPTH;
    found->unreadable += count < 0;
    for (int i = 0; i < count; i++) {
        if (!found->cut && !found->no_memory)
            look_at_entry(found, path, list[i], depth);
        free(list[i]);
    }
    free(list);
}

void push_find_folder(struct push_found *found, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    char *trimmed = strndup(path, length);
    if (trimmed)
        walk(found, trimmed, 0);
    else
        found->no_memory = true;
    free(trimmed);
}

/* ---- choosing ---- */

struct ref { /* a slice of a file */
    const struct debug_slice *slice;
    size_t file;
};

static int by_identity(const void *a, const void *b)
{
    const struct ref *x = a, *y = b;
    int order = memcmp(x->slice->id, y->slice->id, sizeof x->slice->id);
    if (!order)
        order = strcmp(x->slice->arch, y->slice->arch);
    if (!order)
        order = (x->slice->kind > y->slice->kind) - (x->slice->kind < y->slice->kind);
    return order ? order : (x->file > y->file) - (x->file < y->file);
}

static bool has_names(const struct debug_slice *slice)
{
    return slice->features & (DEBUG_FILE_SYMTAB | DEBUG_FILE_DEBUG_INFO);
}

/* Refs of one identity and architecture: which of them add something. */
static void choose_among(const struct ref *refs, size_t count, bool stripped_too, bool *adds,
                         enum push_fate *why)
{
    bool debug = false;
    for (size_t i = 0; i < count; i++)
        debug |= refs[i].slice->kind != DEBUG_FILE_EXECUTABLE &&
                 refs[i].slice->features & DEBUG_FILE_DEBUG_INFO;
    for (size_t i = 0; i < count; i++) {
        const struct debug_slice *slice = refs[i].slice;
        bool bare = slice->kind == DEBUG_FILE_EXECUTABLE && !stripped_too;
        enum push_fate fate = PUSH_WANTED;
        if (i && refs[i - 1].slice->kind == slice->kind)
            fate = PUSH_TWIN;
        else if (bare && debug)
            fate = PUSH_HAS_BETTER;
        else if (bare && !has_names(slice))
            fate = PUSH_STRIPPED;
        adds[refs[i].file] |= fate == PUSH_WANTED;
        if (why[refs[i].file] == PUSH_WANTED)
            why[refs[i].file] = fate;
    }
}

static size_t list_refs(const struct push_found *found, struct ref *refs)
{
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++)
        for (size_t k = 0; k < found->files[i].slice_count; k++)
            if (found->files[i].slices[k].id_size)
                refs[count++] = (struct ref){&found->files[i].slices[k], i};
    qsort(refs, count, sizeof *refs, by_identity);
    return count;
}

void push_find_choose(struct push_found *found, bool stripped_too)
{
    size_t total = 0;
    for (size_t i = 0; i < found->count; i++)
        total += found->files[i].slice_count;
    struct ref *refs = malloc((total + 1) * sizeof *refs);
    bool *adds = calloc(found->count + 1, sizeof *adds);
    enum push_fate *why = calloc(found->count + 1, sizeof *why);
    found->no_memory |= !refs || !adds || !why;
    size_t count = found->no_memory ? 0 : list_refs(found, refs);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count; to++)
            if (memcmp(refs[to].slice->id, refs[from].slice->id, sizeof refs[to].slice->id) != 0 ||
                strcmp(refs[to].slice->arch, refs[from].slice->arch) != 0)
                break;
        choose_among(refs + from, to - from, stripped_too, adds, why);
    }
    for (size_t i = 0; i < found->count && !found->no_memory; i++) {
        struct push_file *file = &found->files[i];
        if (!file->whole && !adds[i])
            file->fate = why[i] == PUSH_WANTED ? PUSH_NO_ID : why[i];
    }
    free(refs);
    free(adds);
    free(why);
}

void push_find_free(struct push_found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        free(found->files[i].path);
        free(found->files[i].source);
        free(found->files[i].made);
        free(found->files[i].slices);
        if (found->files[i].bundle.size)
            munmap((void *)(uintptr_t)found->files[i].bundle.data, found->files[i].bundle.size);
    }
    free(found->files);
    *found = (struct push_found){0};
}
