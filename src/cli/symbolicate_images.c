/*
 * The files of a report's images.
 *
 * In this order: a symbol map that --debug names or holds; the image itself where the report says
 * it lay, on this machine or under --sysroot (the library then finds its debug file, in the folders
 * of --debug as well); any other file of --debug with the image's identity. Only when the report
 * gives no identity (perf script, most sanitizers) is a file taken by its path or name.
 *
 * The folders are walked once and all that is in them is listed by identity: a report may have a
 * thousand images. Paths in reports are anybody's: only regular files are opened.
 */
#include "cli/symbolicate_images.h"

#include "base/array.h"
#include "object/object.h"
#include "symmap/symmap.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH = 16, FILES = 50000 };

struct entry { /* one image or debug file: a slice of a file, or a symbol map */
    char *path;
    uint8_t id[64];
    uint32_t id_size;
    bool map;
};

struct image_files {
    const struct symbolicate_options *options;
    struct fw_symbolicator *symbolicator;
    struct entry *entries; /* sorted by identity, maps first */
    size_t count, capacity, looked_at;
    bool no_memory, too_many;
};

/* ---- listing what --debug names ---- */

static void add(struct image_files *files, const char *path, struct span id, bool map)
{
    struct entry entry = {.path = strdup(path), .map = map};
    entry.id_size = (uint32_t)(id.size < sizeof entry.id ? id.size : 0);
    if (entry.id_size)
        memcpy(entry.id, id.data, entry.id_size);
    if (!entry.path || !array_room(&files->entries, &files->capacity, files->count, sizeof entry)) {
        free(entry.path);
        files->no_memory = true;
        return;
    }
    files->entries[files->count++] = entry;
}

struct slices {
    struct image_files *files;
    const char *path;
};

static bool take_slice(void *context, const struct object_slice *slice)
{
    struct slices *s = context;
    add(s->files, s->path, slice->uuid, false);
    return !s->files->no_memory;
}

static bool is_map(const char *path)
{
    char magic[sizeof SYMMAP_MAGIC - 1] = "";
    FILE *file = fopen(path, "rbe");
    size_t got = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof magic && memcmp(magic, SYMMAP_MAGIC, sizeof magic) == 0;
}

static void look_at(struct image_files *files, const char *path)
{
    struct symmap *map;
    files->looked_at++;
    if (!is_map(path)) {
        object_slices(path, take_slice, &(struct slices){files, path}, NULL);
    } else if (symmap_open(path, &map, NULL) == FW_OK) {
        const struct symmap_identity *identity = symmap_identity(map);
        add(files, path, (struct span){identity->id, identity->id_size}, true);
        symmap_close(map);
    }
}

static void search(struct image_files *files, const char *path, unsigned depth)
{
    struct stat status;
    /* Links are followed where they are named, not in folders: there they may lead in circles. */
    if ((depth ? lstat(path, &status) : stat(path, &status)) != 0)
        return;
    if (S_ISREG(status.st_mode)) {
        if (files->looked_at < FILES)
            look_at(files, path);
        else
            files->too_many = true;
        return;
    }
    DIR *dir = S_ISDIR(status.st_mode) && depth < DEPTH ? opendir(path) : NULL;
    const struct dirent *item;
    while (dir && !files->no_memory && !files->too_many && (item = readdir(dir)) != NULL) {
        char *inner;
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        if (asprintf(&inner, "%s/%s", path, item->d_name) < 0) {
            files->no_memory = true;
            break;
        }
        search(files, inner, depth + 1);
        free(inner);
    }
    if (dir)
        closedir(dir);
}

/* By identity; maps first; then by path, so that the same folder gives the same choice. */
static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = memcmp(x->id, y->id, sizeof x->id);
    if (order)
        return order;
    if (x->map != y->map)
        return x->map ? -1 : 1;
    return strcmp(x->path, y->path);
}

struct image_files *image_files_open(const struct symbolicate_options *options,
                                     struct fw_symbolicator *symbolicator)
{
    struct image_files *files = calloc(1, sizeof *files);
    if (!files)
        return NULL;
    files->options = options;
    files->symbolicator = symbolicator;
    for (size_t i = 0; i < options->folder_count; i++)
        search(files, options->folders[i], 0);
    if (files->count > 1)
        qsort(files->entries, files->count, sizeof *files->entries, compare);
    if (!files->no_memory)
        return files;
    image_files_close(files);
    return NULL;
}

void image_files_close(struct image_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++)
        free(files->entries[i].path);
    free(files->entries);
    free(files);
}

/* ---- one image ---- */

struct hunt {
    struct image_files *files;
    const struct report *report;
    const struct report_image *image;
    FILE *looked; /* "A (no such file), B (...)" */
    bool any;     /* something stands there */
    struct fw_source *source;
};

__attribute__((format(printf, 2, 3))) static void note(struct hunt *h, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(h->any ? ", " : "", h->looked);
    vfprintf(h->looked, format, arguments);
    va_end(arguments);
    h->any = true;
}

/* `id` may be empty: then what lies there is taken. */
static bool try(struct hunt *h, const char *path, struct span id)
{
    struct fw_source_request request = {.size = sizeof request,
                                        .path = path,
                                        .arch = id.size ? NULL : h->files->options->arch,
                                        .id = id.data,
                                        .id_size = id.size};
    struct fw_failure why = {0};
    fw_error error = fw_source_open(h->files->symbolicator, &request, &h->source, &why);
    if (error == FW_OK)
        return true;
    h->source = NULL;
    size_t size = strlen(path);
    bool named = strncmp(why.message, path, size) == 0 && why.message[size] == ':';
    note(h, "%s (%s)", path, named ? why.message + size + 2 : why.message);
    return false;
}

/* Breakpad's ids are GUIDs made of the first 16 bytes: of a build id their numbers are read as
 * little-endian ones, so their bytes change places; a UUID stays. */
static bool has_breakpad_id(const struct entry *entry, const struct report_image *image)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    bool same = true;
    for (size_t i = 0; i < 16; i++) /* short build ids are filled up with zeros */
        same &= image->id[i] == entry->id[order[i]];
    return same;
}

static bool has_id(const struct entry *entry, const struct report_image *image)
{
    if (!image->id_size || !entry->id_size)
        return false;
    if (image->breakpad && image->id_size == 16 && has_breakpad_id(entry, image))
        return true;
    return entry->id_size == image->id_size && memcmp(entry->id, image->id, image->id_size) == 0;
}

static bool try_entries(struct hunt *h, bool maps)
{
    for (size_t i = 0; i < h->files->count; i++) {
        const struct entry *entry = &h->files->entries[i];
        if (entry->map == maps && has_id(entry, h->image) &&
            try(h, entry->path, (struct span){entry->id, entry->id_size}))
            return true;
    }
    return false;
}

/* NAME, NAME.debug, NAME.symmap. */
static bool has_name(const struct entry *entry, const char *name)
{
    const char *last = symbolicate_last_part(entry->path);
    size_t size = strlen(name);
    return size && strncmp(last, name, size) == 0 &&
           (!last[size] || strcmp(last + size, ".debug") == 0 ||
            strcmp(last + size, ".symmap") == 0);
}

/* For an image of which no identity is known: the only one of that name. */
static bool try_name(struct hunt *h)
{
    const struct entry *found = NULL;
    if (h->image->id_size)
        return false;
    for (size_t i = 0; i < h->files->count; i++) {
        const struct entry *entry = &h->files->entries[i];
        if (!has_name(entry, h->image->name))
            continue;
        if (found && (found->id_size != entry->id_size ||
                      memcmp(found->id, entry->id, found->id_size) != 0)) {
            note(h, "%s and %s (both are called so)", found->path, entry->path);
            return false;
        }
        found = found ? found : entry;
    }
    return found && try(h, found->path, (struct span){0});
}

/* Where the report says that it lay. */
static bool try_path(struct hunt *h)
{
    const char *path = h->image->path, *root = h->files->options->sysroot;
    bool relative = h->report->kind == REPORT_LIST || h->report->kind == REPORT_SANITIZER;
    if (!path || (path[0] != '/' && !relative))
        return false;
    char *whole;
    if (asprintf(&whole, "%s%s%s", root ? root : "", root && path[0] != '/' ? "/" : "", path) < 0)
        return false;
    struct stat status;
    bool regular = stat(whole, &status) == 0 && S_ISREG(status.st_mode);
    if (!regular)
        note(h, "%s (no such file)", whole);
    struct span id = {h->image->id_size ? h->image->id : NULL, h->image->id_size};
    bool found = regular && try(h, whole, id);
    free(whole);
    return found;
}

struct image_file image_files_find(struct image_files *files, const struct report *report,
                                   const struct report_image *image)
{
    struct image_file result = {0};
    size_t size;
    struct hunt h = {.files = files, .report = report, .image = image};
    h.looked = open_memstream(&result.looked, &size);
    if (!h.looked)
        return result;
    if (image->whole_cache)
        note(&h, "the report knows only the whole shared cache");
    else if (!try_entries(&h, true) && !try_path(&h) && !try_entries(&h, false) && !try_name(&h))
        for (size_t i = 0; i < files->options->folder_count; i++)
            note(&h, "%s (none of %zu files%s)", files->options->folders[i], files->looked_at,
                 files->too_many ? ", where the search ended" : "");
    if (fclose(h.looked) != 0) {
        free(result.looked);
        result.looked = NULL;
    }
    result.source = h.source;
    return result;
}

/* ---- what is said of images ---- */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool image_is_system(const struct report *report, const struct report_image *image)
{
    static const char *const places[] = {
        "/System/",          "/usr/lib", "/lib",   "/Library/Apple", "/Developer",
        "/private/preboot/", "[",        "/apex/", "/system/",       "???"};
    const char *path = image->path ? image->path : "";
    if (image->whole_cache)
        return true;
    if (report->info.path && strcmp(report->info.path, path) == 0)
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (begins(path, places[i]))
            return true;
    /* Without a path only the program itself is known to be somebody's own. */
    bool program = report->info.process && strcmp(image->name, report->info.process) == 0;
    return !strchr(path, '/') && !program && report->kind != REPORT_LIST &&
           report->kind != REPORT_SANITIZER;
}

void image_id_text(const struct report_image *image, char text[IMAGE_ID_TEXT])
{
    bool uuid = image->id_size == 16;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < image->id_size && used + 4 < IMAGE_ID_TEXT; i++) {
        if (i == 0)
            used = (size_t)snprintf(text, IMAGE_ID_TEXT, uuid ? "UUID " : "build id ");
        bool dash = uuid && (i == 4 || i == 6 || i == 8 || i == 10);
        used += (size_t)snprintf(text + used, IMAGE_ID_TEXT - used, uuid ? "%s%02X" : "%s%02x",
                                 dash ? "-" : "", image->id[i]);
    }
}
