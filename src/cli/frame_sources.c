/* Sources are found again by the image's path as fw_process hands it out: one pointer a file. */
#include "cli/frame_sources.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096 + 64, CANDIDATES = 4 };

struct image_source {
    const char *image; /* fw_symbol.image */
    struct fw_source *source;
    char *story;
};

struct frame_sources {
    const struct dump *dump;
    const struct dump_options *options;
    struct fw_symbolicator *symbolicator;
    struct progress *progress;
    char root[32]; /* of a live process: /proc/PID/root, "" when it sees the files that we see */
    struct image_source *images;
    size_t count, room;
};

static void show_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    if (total > 0)
        progress_show(context, "debug files: %s %.0f %%", phase,
                      100.0 * (double)done / (double)total);
    else
        progress_show(context, "debug files: %s", phase);
}

static void find_root(struct frame_sources *sources)
{
    struct stat own, theirs;
    int32_t pid = sources->options->pid;
    if (pid <= 0)
        return;
    snprintf(sources->root, sizeof sources->root, "/proc/%" PRId32 "/root", pid);
    bool known = stat("/", &own) == 0 && stat(sources->root, &theirs) == 0;
    if (!known || (own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino))
        sources->root[0] = '\0';
}

struct frame_sources *frame_sources_create(const struct dump *dump,
                                           const struct dump_options *options,
                                           struct progress *progress)
{
    struct frame_sources *sources = calloc(1, sizeof *sources);
    if (sources == NULL)
        return NULL;
    *sources = (struct frame_sources){.dump = dump, .options = options, .progress = progress};
    find_root(sources);
    struct fw_symbolicator_options wanted = {
        .size = sizeof wanted,
        .sysroot = sources->root[0] != '\0' ? sources->root : options->sysroot,
        .mangled = options->no_demangle,
        .progress = show_progress,
        .progress_context = progress,
    };
    if (fw_symbolicator_create(&wanted, &sources->symbolicator) != FW_OK) {
        free(sources);
        return NULL;
    }
    return sources;
}

void frame_sources_destroy(struct frame_sources *sources)
{
    if (sources == NULL)
        return;
    for (size_t i = 0; i < sources->count; i++) {
        fw_source_close(sources->images[i].source);
        free(sources->images[i].story);
    }
    free(sources->images);
    fw_symbolicator_destroy(sources->symbolicator);
    free(sources);
}

/* A program that was deleted or built anew while it runs: its file is still behind a link. Returns
 * how many paths that adds. */
static size_t running_program(const struct frame_sources *sources, const char *path,
                              char exe[PATH_SIZE])
{
    struct stat there, runs;
    snprintf(exe, PATH_SIZE, "/proc/%" PRId32 "/exe", sources->options->pid);
    if (sources->options->pid <= 0 || stat(exe, &runs) != 0)
        return 0;
    return stat(path, &there) != 0 || there.st_dev != runs.st_dev || there.st_ino != runs.st_ino;
}

/* Where the image's file may be, the best first. */
static size_t candidates(const struct frame_sources *sources, const char *image,
                         char paths[CANDIDATES][PATH_SIZE])
{
    const struct dump_options *options = sources->options;
    const char *main = sources->dump->info.executable;
    size_t count = 0;
    if (options->executable != NULL && main != NULL && strcmp(image, main) == 0)
        snprintf(paths[count++], PATH_SIZE, "%s", options->executable);
    if (sources->root[0] != '\0' || options->sysroot != NULL)
        snprintf(paths[count++], PATH_SIZE, "%s%s",
                 sources->root[0] != '\0' ? sources->root : options->sysroot, image);
    if (sources->root[0] == '\0')
        snprintf(paths[count++], PATH_SIZE, "%s", image);
    if (main != NULL && strcmp(image, main) == 0)
        count += running_program(sources, paths[count - 1], paths[count]);
    return count;
}

/* Does the process map this very file at the path `image`? */
static bool is_mapped(int32_t pid, const char *image, const struct stat *status)
{
    char path[32], *line = NULL;
    size_t size = 0;
    bool mapped = false;
    snprintf(path, sizeof path, "/proc/%" PRId32 "/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && !mapped && getline(&line, &size, maps) > 0) {
        uintmax_t inode;
        int at = 0;
        char *deleted = strstr(line, " (deleted)\n");
        line[deleted != NULL ? (size_t)(deleted - line) : strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%*s %*s %*s %*s %ju %n", &inode, &at) == 1 && at > 0)
            mapped = inode == status->st_ino && strcmp(line + at, image) == 0;
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
    return mapped;
}

/* Without a build id: is what the path names now what was mapped then? */
static bool is_unchanged(const struct frame_sources *sources, const char *image,
                         const struct stat *status)
{
    struct stat core;
    if (sources->dump->core == NULL)
        return is_mapped(sources->options->pid, image, status);
    return stat(sources->dump->core, &core) == 0 && status->st_mtime <= core.st_mtime;
}

/* With `path` NULL: any file with the image's build id. Symbol tables alone are no source:
 * fw_process reads them as well. */
static fw_error open_one(struct frame_sources *sources, const struct fw_symbol *symbol,
                         const char *path, struct fw_source **source, struct fw_failure *why)
{
    struct fw_source_request request = {.size = sizeof request,
                                        .path = path,
                                        .id = symbol->build_id,
                                        .id_size = symbol->build_id_size};
    struct fw_source_info info = {.size = sizeof info};
    *why = (struct fw_failure){0};
    fw_error error = fw_source_open(sources->symbolicator, &request, source, why);
    why->code = error;
    if (error != FW_OK || (fw_source_info(*source, &info) == FW_OK && info.kind >= FW_SOURCE_DWARF))
        return error;
    fw_source_close(*source);
    *source = NULL;
    snprintf(why->message, sizeof why->message, "there is no debug information");
    return FW_OK;
}

static fw_error try_path(struct frame_sources *sources, const struct fw_symbol *symbol,
                         const char *path, struct fw_source **source, struct fw_failure *why)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        *why = (struct fw_failure){.code = FW_ERR_NOT_FOUND};
        snprintf(why->message, sizeof why->message, "its file is not there any more");
        return why->code;
    }
    if (symbol->build_id_size == 0 && !is_unchanged(sources, symbol->image, &status)) {
        *why = (struct fw_failure){.code = FW_ERR_NOT_FOUND};
        snprintf(why->message, sizeof why->message,
                 "it has no build id, and its file may have changed");
        return why->code;
    }
    return open_one(sources, symbol, path, source, why);
}

static char *story_of(const struct fw_source *source, const struct fw_failure *why)
{
    struct fw_source_info info = {.size = sizeof info};
    char *story;
    int length;
    if (source == NULL)
        length = asprintf(&story, "no lines: %s",
                          why->message[0] != '\0' ? why->message : fw_error_text(why->code));
    else
        length = asprintf(&story, "lines from %s",
                          fw_source_info(source, &info) != FW_OK ? "?"
                          : info.debug_path != NULL              ? info.debug_path
                                                                 : info.path);
    return length < 0 ? NULL : story;
}

/* At the image's path, else by its build id alone: a debug file may be there longer than the image.
 */
static bool open_source(struct frame_sources *sources, const struct fw_symbol *symbol,
                        struct image_source *image)
{
    char paths[CANDIDATES][PATH_SIZE];
    struct fw_failure why = {.code = FW_ERR_NOT_FOUND}, other;
    snprintf(why.message, sizeof why.message, "it is in memory only");
    size_t count = symbol->image[0] == '/' ? candidates(sources, symbol->image, paths) : 0;
    for (size_t i = 0; i < count && image->source == NULL; i++) {
        if (try_path(sources, symbol, paths[i], &image->source, &why) == FW_ERR_MEMORY)
            return false;
    }
    if (count > 0 && why.code == FW_ERR_NOT_FOUND && symbol->build_id_size > 0 &&
        open_one(sources, symbol, NULL, &image->source, &other) == FW_ERR_MEMORY)
        return false;
    image->story = story_of(image->source, &why);
    return image->story != NULL;
}

bool frame_sources_find(struct frame_sources *sources, const struct fw_symbol *symbol,
                        struct fw_source **source)
{
    *source = NULL;
    if (symbol->image == NULL)
        return true;
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->images[i].image == symbol->image) {
            *source = sources->images[i].source;
            return true;
        }
    }
    if (!array_room(&sources->images, &sources->room, sources->count, sizeof *sources->images))
        return false;
    struct image_source *image = &sources->images[sources->count++];
    *image = (struct image_source){.image = symbol->image};
    bool ok = open_source(sources, symbol, image);
    *source = image->source;
    return ok;
}

void frame_sources_failed(struct frame_sources *sources, const struct fw_source *source,
                          const struct fw_failure *why)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->images[i].source != source)
            continue;
        char *story = story_of(NULL, why);
        if (story == NULL)
            return;
        free(sources->images[i].story);
        sources->images[i].story = story;
    }
}

const char *frame_sources_story(const struct frame_sources *sources, const char *image)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->images[i].image == image)
            return sources->images[i].story;
    }
    return NULL;
}
