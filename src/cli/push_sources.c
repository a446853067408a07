#include "cli/push_sources.h"

#include "base/arena.h"
#include "base/array.h"
#include "cli/push_bundle.h"
#include "cli/push_pack.h"
#include "symbolicate/source_path.h"
#include "symmap/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SOURCES_FILES = 50000,      /* of one bundle */
    SOURCES_BYTES = 512 << 20,  /* together */
    SOURCE_FILE_BYTES = 8 << 20 /* what a collector takes of one */
};

struct collecting { /* for one slice of a debug file */
    struct push_debug *debug;
    const struct push_file *file;
    const struct symmap_identity *identity;
    struct arena arena;
    struct push_source *list;
    size_t count, capacity;
    char **missing; /* folders of files that are not there, once for each file */
    size_t missing_count, missing_capacity;
    size_t system, others, large; /* left out: the system's, not named as sources, too large */
    uint64_t bytes;
    bool cut, no_memory;
};

/* ---- which ---- */

static bool is_system(const char *path)
{
    static const char *const starts[] = {"/usr/include/", "/usr/lib/", "/usr/lib64/",
                                         "/usr/local/include/", "/rustc/"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return true;
    return strstr(path, ".sdk/") || strstr(path, ".xctoolchain/");
}

/* By the end of its name. The system's headers may have none. */
static bool is_source(const char *path)
{
    static const char *const ends[] = {
        "c",   "cc",    "cpp", "cxx", "c++", "h",   "hh",  "hpp", "hxx", "h++",   "inc",
        "inl", "ipp",   "tcc", "tpp", "txx", "def", "m",   "mm",  "s",   "asm",   "rs",
        "go",  "swift", "d",   "zig", "nim", "f",   "for", "f90", "f95", "f03",   "f08",
        "ads", "adb",   "pas", "cu",  "cuh", "y",   "yy",  "l",   "ll",  "metal", "kt",
        "hs",  "ml",    "v",   "cr",  "jl",  "td",  "re",  "rl",  "pyx", "vala",  "proto"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(dot + 1, ends[i]) == 0)
            return true;
    return false;
}

/* Where a path of the debug file lies on this machine, as --source-map says. */
static bool local_path(const struct push_command *c, const char *path, char *local, size_t size)
{
    for (size_t i = 0; i < c->source_map_count; i++) {
        const char *from = c->source_maps[i], *to = strchr(from, '=') + 1;
        size_t length = (size_t)(to - from) - 1;
        while (length > 1 && from[length - 1] == '/')
            length--;
        if (strncmp(path, from, length) != 0 || (path[length] != '/' && from[length - 1] != '/'))
            continue;
        const char *rest = path + length + (path[length] == '/');
        return (size_t)snprintf(local, size, "%s/%s", to, rest) < size;
    }
    return (size_t)snprintf(local, size, "%s", path) < size;
}

static void note_missing(struct collecting *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    char *folder = arena_take(&c->arena, length + 2);
    if (!folder ||
        !array_room(&c->missing, &c->missing_capacity, c->missing_count, sizeof *c->missing)) {
        c->no_memory = true;
        return;
    }
    memcpy(folder, slash ? path : ".", length);
    folder[length] = 0;
    c->missing[c->missing_count++] = folder;
}

static const char *copy_text(struct collecting *c, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(&c->arena, size);
    c->no_memory |= !copy;
    return copy ? memcpy(copy, text, size) : NULL;
}

/* `path` is clean. */
static void take_path(struct collecting *c, const char *path)
{
    char local[SOURCE_PATH_MAX];
    struct stat about;
    bool system = is_system(path);
    if (system && !c->debug->command->system_sources) {
        c->system++;
    } else if (!system && !is_source(path)) {
        c->others++;
    } else if (!local_path(c->debug->command, path, local, sizeof local) ||
               stat(local, &about) != 0 || !S_ISREG(about.st_mode)) {
        note_missing(c, path);
    } else if (about.st_size > SOURCE_FILE_BYTES) {
        c->large++;
    } else if (c->count == SOURCES_FILES || c->bytes + (uint64_t)about.st_size > SOURCES_BYTES) {
        c->cut = true;
    } else if (!array_room(&c->list, &c->capacity, c->count, sizeof *c->list)) {
        c->no_memory = true;
    } else {
        c->list[c->count++] =
            (struct push_source){.path = copy_text(c, path), .local = copy_text(c, local)};
        c->bytes += (uint64_t)about.st_size;
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_paths(struct collecting *c, const struct symmap *map)
{
    char joined[SOURCE_PATH_MAX], clean[SOURCE_PATH_MAX];
    const char *directory, *file;
    char **paths = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; symmap_file(map, i, &directory, &file) && !c->no_memory; i++) {
        if (!file || !file[0] ||
            (size_t)snprintf(joined, sizeof joined, "%s%s%s", directory, directory[0] ? "/" : "",
                             file) >= sizeof joined ||
            !source_path_clean(joined, clean, sizeof clean))
            continue;
        if (!strchr(clean, '/'))
            continue; /* a name of the symbol table (crtstuff.c): it says no place */
        const char *copy = copy_text(c, clean);
        if (!copy || !array_room(&paths, &capacity, count, sizeof *paths))
            c->no_memory = true;
        else
            paths[count++] = (char *)(uintptr_t)copy;
    }
    if (count)
        qsort(paths, count, sizeof *paths, by_text);
    for (size_t i = 0; i < count && !c->no_memory; i++)
        if (i == 0 || strcmp(paths[i], paths[i - 1]) != 0)
            take_path(c, paths[i]);
    free(paths);
}

/* ---- telling ---- */

/* The folder that most of what is missing lies in. */
static const char *worst_folder(struct collecting *c, size_t *files)
{
    const char *worst = "";
    *files = 0;
    qsort(c->missing, c->missing_count, sizeof *c->missing, by_text);
    for (size_t from = 0, to; from < c->missing_count; from = to) {
        for (to = from + 1; to < c->missing_count; to++)
            if (strcmp(c->missing[from], c->missing[to]) != 0)
                break;
        if (to - from > *files) {
            *files = to - from;
            worst = c->missing[from];
        }
    }
    return worst;
}

static void add_count(char *text, size_t size, size_t count, const char *words)
{
    size_t used = strlen(text);
    if (count)
        snprintf(text + used, size - used, ", %zu %s", count, words);
}

static void tell(struct collecting *c)
{
    char text[400] = "";
    size_t files;
    progress_end(c->debug->progress);
    if (c->debug->command->quiet)
        return;
    add_count(text, sizeof text, c->missing_count, "not on this machine");
    add_count(text, sizeof text, c->system, "of the system left out (--system-sources)");
    add_count(text, sizeof text, c->others, "left out that are not named as sources are");
    add_count(text, sizeof text, c->large, "larger than 8 MB");
    cli_say("%s: %zu source file%s found%s", c->file->path, c->count, c->count == 1 ? "" : "s",
            text);
    if (c->cut)
        cli_say("    more than %d files or %d MB: the rest is left out", SOURCES_FILES,
                SOURCES_BYTES >> 20);
    if (!c->missing_count)
        return;
    const char *worst = worst_folder(c, &files);
    cli_say("    missing most in %s (%zu): --source-map OLD=NEW says where a folder lies now",
            worst, files);
}

/* ---- one debug file ---- */

static void add_bundle(struct collecting *c)
{
    struct push_found *found = &c->debug->found;
    struct push_file bundle = {.whole = true};
    char why[160] = "out of memory";
    if (asprintf(&bundle.path, "%s (sources)", c->file->path) < 0)
        bundle.path = NULL;
    bool good = bundle.path &&
                push_bundle_make(c->list, c->count, c->identity, &bundle.bundle, why, sizeof why);
    if (bundle.path && !good) {
        bundle.fate = PUSH_FAILED;
        snprintf(bundle.message, sizeof bundle.message, "%s", why);
    }
    bundle.size = bundle.bundle.size;
    if (bundle.path && array_room(&found->files, &found->capacity, found->count, sizeof bundle)) {
        found->files[found->count++] = bundle;
        return;
    }
    found->no_memory = true;
    if (bundle.bundle.size)
        munmap((void *)(uintptr_t)bundle.bundle.data, bundle.bundle.size);
    free(bundle.path);
}

static void take_map(struct push_debug *d, const struct push_file *file, const struct symmap *map)
{
    struct collecting c = {.debug = d, .file = file, .identity = symmap_identity(map)};
    list_paths(&c, map);
    if (c.no_memory)
        d->found.no_memory = true;
    else
        tell(&c);
    if (c.count && !c.no_memory)
        add_bundle(&c);
    arena_free(&c.arena);
    free(c.list);
    free(c.missing);
}

struct look {
    struct push_debug *debug;
    const struct push_file *file;
};

static void show(void *context, const char *phase, uint64_t done, uint64_t total)
{
    const struct look *l = context;
    progress_show(l->debug->progress, "Looking for the sources of %s: %s %.0f %%", l->file->path,
                  phase, total ? 100 * (double)done / (double)total : 0);
}

/* The paths as the collector's own map will have them. */
static bool take_slice(void *context, struct object *object, const struct fw_failure *failure)
{
    struct look *l = context;
    struct debug_slice slice;
    struct convert_report report;
    const struct convert_options options = {.progress = show, .context = l};
    uint8_t *bytes = NULL;
    size_t size;
    struct symmap *map = NULL;
    (void)failure;
    if (!object || debug_file_look(object, &slice, NULL) != FW_OK || !slice.id_size ||
        !(slice.features & DEBUG_FILE_LINES))
        return true;
    fw_error error = symmap_convert(object, NULL, NULL, &options, &bytes, &size, &report, NULL);
    if (error == FW_OK)
        error = symmap_open_bytes((struct span){bytes, size}, true, l->file->path, &map, NULL);
    if (error == FW_OK)
        take_map(l->debug, l->file, map);
    else
        cli_error("%s: its lines cannot be read, so its sources are not known: %s", l->file->path,
                  fw_error_text(error));
    symmap_close(map);
    free(bytes);
    return true;
}

static void take_file(struct push_debug *d, const struct push_file *file)
{
    struct look l = {d, file};
    struct symmap *map;
    struct span bytes;
    if (file->slices[0].kind == DEBUG_FILE_SYMBOLS) {
        if (symmap_open(file->path, &map, NULL) == FW_OK)
            take_map(d, file, map);
        else
            return;
        symmap_close(map);
        return;
    }
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || !push_pack_map(fd, &bytes)) {
        cli_error("%s: %s", file->path, strerror(errno));
    } else {
        debug_file_slices(bytes, file->path, take_slice, &l, NULL);
        munmap((void *)(uintptr_t)bytes.data, bytes.size);
    }
    if (fd >= 0)
        close(fd);
}

void push_sources_add(struct push_debug *d)
{
    size_t count = d->found.count;
    for (size_t i = 0; i < count && !d->found.no_memory; i++) {
        struct push_file file = d->found.files[i]; /* the list may move */
        unsigned features = 0;
        for (size_t k = 0; k < file.slice_count; k++)
            features |= file.slices[k].features;
        if (file.fate == PUSH_WANTED && features & DEBUG_FILE_LINES)
            take_file(d, &file);
    }
}
