/*
 * Finding the separate debug file of an object; its companions are found in find_companions.c.
 *
 * Order, the first that proves right wins:
 *   1. the object itself, when it has DWARF; of Mach-O images the dSYM, beside the image or in the
 *      caller's folders, else the object files that it was linked of, and nothing of what follows;
 *   2. .build-id below each folder and below /usr/lib/debug, then .gnu_debuglink beside the object,
 *      in .debug/, and below the folders (object_find_debug_told);
 *   3. any file of the caller's folder trees with the build id, or with the link's name and CRC;
 *   4. debuginfod.
 */
#include "symbolicate/find.h"

#include "base/array.h"
#include "object/dsym.h"
#include "symbolicate/debuginfod.h"
#include "symbolicate/find_internal.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 4096, BUILD_ID_MAX = 64 };

void finder_note(struct finder *finder, const char *path, const char *outcome)
{
    struct debug_files *files = &finder->files;
    outcome = outcome ? outcome : "found";
    for (size_t i = 0; i < files->place_count; i++)
        if (strcmp(files->places[i].path, path) == 0 &&
            strcmp(files->places[i].outcome, outcome) == 0)
            return;
    if (files->place_count >= PLACES_MAX)
        return;
    struct debug_place place = {strdup(path), strdup(outcome)};
    if (!place.path || !place.outcome ||
        !array_room(&files->places, &finder->place_capacity, files->place_count, sizeof place)) {
        free(place.path);
        free(place.outcome);
        finder->no_memory = true;
        return;
    }
    files->places[files->place_count++] = place;
}

static void note_place(void *context, const char *path, const char *outcome)
{
    finder_note(context, path, outcome);
}

struct object *finder_try(struct finder *finder, const char *path,
                          const struct candidate_test *test)
{
    struct object *candidate;
    struct fw_failure why;
    fw_error error = test->choice ? object_open_path(path, test->choice, &candidate, &why)
                                  : object_open(path, &candidate, &why);
    if (error == FW_ERR_MEMORY) {
        finder->no_memory = true;
        return NULL;
    }
    if (error != FW_OK) {
        finder_note(finder, path,
                    error == FW_ERR_NOT_FOUND ? OBJECT_NO_FILE : fw_error_text(error));
        return NULL;
    }
    const char *objection = test->objection(finder, candidate, test->context);
    finder_note(finder, path, objection);
    if (!objection)
        return candidate;
    object_close(candidate);
    return NULL;
}

struct object *finder_try_at(struct finder *finder, const struct candidate_test *test,
                             const char *format, ...)
{
    char *path;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&path, format, arguments);
    va_end(arguments);
    if (length < 0) {
        finder->no_memory = true;
        return NULL;
    }
    struct object *found = finder_try(finder, path, test);
    free(path);
    return found;
}

static bool hex_of(struct span id, char hex[2 * BUILD_ID_MAX + 1])
{
    if (id.size < 2 || id.size > BUILD_ID_MAX)
        return false;
    for (size_t i = 0; i < id.size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.data[i]);
    return true;
}

struct object *finder_by_build_id(struct finder *finder, struct span id, const char *suffix,
                                  const struct candidate_test *test)
{
    char hex[2 * BUILD_ID_MAX + 1];
    struct object *found = NULL;
    if (!hex_of(id, hex))
        return NULL;
    for (char **dir = finder->folders; *dir && !found; dir++)
        found = finder_try_at(finder, test, "%s/.build-id/%.2s/%s%s", *dir, hex, hex + 2, suffix);
    return found;
}

struct object *finder_from_servers(struct finder *finder, struct span id,
                                   const struct candidate_test *test)
{
    char hex[2 * BUILD_ID_MAX + 1];
    if (!finder->debuginfod || !hex_of(id, hex))
        return NULL;
    struct debuginfod_request request = {.id = id,
                                         .hex = hex,
                                         .kind = "debuginfo",
                                         .tell = note_place,
                                         .tell_context = finder,
                                         .progress = finder->progress,
                                         .context = finder->context};
    char *path = debuginfod_fetch(&request);
    struct object *found = path ? finder_try(finder, path, test) : NULL;
    free(path);
    return found;
}

struct by_id {
    struct finder *finder;
    const struct candidate_test *test;
    struct object *found;
};

static bool try_indexed(void *context, const struct indexed_file *file)
{
    struct by_id *search = context;
    if (file->kind != INDEXED_MAP)
        search->found = finder_try(search->finder, file->path, search->test);
    return !search->found && !search->finder->no_memory;
}

struct object *finder_by_id(struct finder *finder, struct span id,
                            const struct candidate_test *test)
{
    /* A slice of a fat file is chosen by its UUID. */
    const struct object_choice choice = {.uuid = id};
    struct candidate_test with_choice = *test;
    if (object_is_macho(finder->object))
        with_choice.choice = &choice;
    struct by_id search = {finder, &with_choice, NULL};
    finder->no_memory |= !file_index_find(finder->index, id, try_indexed, &search);
    if (!search.found)
        file_index_tell(finder->index, note_place, finder);
    return search.found;
}

static uint64_t hash_of(const char *text) /* FNV-1a */
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
    return hash;
}

struct object *finder_known(const struct finder *finder, const char *path)
{
    uint64_t hash = hash_of(path);
    for (size_t i = 0; i < finder->opened_count; i++)
        if (finder->opened[i].hash == hash && strcmp(finder->opened[i].path, path) == 0)
            return finder->opened[i].object;
    return NULL;
}

struct object *finder_remember(struct finder *finder, const char *path, struct object *object)
{
    struct opened_file one = {hash_of(path), object ? strdup(path) : NULL, object};
    if (!object)
        return NULL;
    if (!one.path ||
        !array_room(&finder->opened, &finder->opened_capacity, finder->opened_count, sizeof one)) {
        free(one.path);
        object_close(object);
        finder->no_memory = true;
        return NULL;
    }
    finder->opened[finder->opened_count++] = one;
    return object;
}

char *finder_folder(struct finder *finder, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == path ? strdup("/")
                   : slash       ? strndup(path, (size_t)(slash - path))
                                 : strdup(".");
    finder->no_memory |= !folder;
    return folder;
}

bool debug_files_has_dwarf(const struct object *object)
{
    static const char *const names[] = {".debug_info",   ".zdebug_info", "__debug_info",
                                        "__zdebug_info", ".debug_line",  "__debug_line"};
    struct object_section section;
    for (size_t i = 0; object_section_at(object, i, &section); i++)
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            if (section.size && section.type != SHT_NOBITS && strcmp(section.name, names[n]) == 0)
                return true;
    return false;
}

/* A stripped copy of the program has the right identity as well, but nothing to tell. */
static const char *not_debug_file(const struct finder *finder, struct object *candidate,
                                  const void *crc)
{
    const char *objection = object_mismatch(finder->object, candidate, crc);
    if (objection)
        return objection;
    return debug_files_has_dwarf(candidate) ? NULL : "no debug information";
}

/* 2. The usual places; and those inside of the sysroot, when the object itself lies there. */
static struct object *in_usual_places(struct finder *finder)
{
    struct object *found = NULL;
    const char *path = finder->path[0] ? finder->path : NULL;
    fw_error error =
        object_find_debug_told(finder->object, path, NULL, (const char *const *)finder->folders,
                               note_place, finder, &found);
    size_t length = strlen(finder->sysroot);
    if (error == FW_ERR_NOT_FOUND && length && path &&
        strncmp(path, finder->sysroot, length) == 0 && path[length] == '/')
        error = object_find_debug_told(finder->object, path + length, finder->sysroot, NULL,
                                       note_place, finder, &found);
    finder->no_memory |= error == FW_ERR_MEMORY;
    return found;
}

static struct object *find_dsym(struct finder *finder)
{
    const char *path = finder->path[0] ? finder->path : NULL;
    struct object *found = NULL;
    fw_error error = object_find_dsym_told(finder->object, path, NULL, note_place, finder, &found);
    finder->no_memory |= error == FW_ERR_MEMORY;
    struct span id = object_build_id(finder->object);
    const struct candidate_test test = {not_debug_file, NULL, NULL};
    if (!found && id.size)
        found = finder_by_id(finder, id, &test);
    if (!found && id.size == 0)
        finder_note(finder, finder->path, "no UUID by which to know a dSYM");
    return found;
}

static struct object *find_debug(struct finder *finder)
{
    if (object_is_macho(finder->object))
        return find_dsym(finder);
    struct object *found = in_usual_places(finder);
    struct span id = object_build_id(finder->object);
    const char *name;
    uint32_t crc;
    const struct candidate_test by_id = {not_debug_file, NULL, NULL};
    const struct candidate_test by_link = {not_debug_file, &crc, NULL};
    if (!found && id.size)
        found = finder_by_id(finder, id, &by_id);
    else if (!found && object_debuglink(finder->object, &name, &crc))
        found = finder_by_name(finder, name, &by_link);
    if (!found)
        found = finder_from_servers(finder, id, &by_id);
    return found;
}

static bool copy_options(struct finder *finder, const char *path,
                         const struct debug_find_options *options)
{
    size_t count = 0;
    while (options->folders && options->folders[count])
        count++;
    finder->sysroot = strdup(options->sysroot ? options->sysroot : "");
    finder->path = strdup(path ? path : "");
    finder->folders = calloc(count + 2, sizeof *finder->folders);
    if (!finder->sysroot || !finder->path || !finder->folders)
        return false;
    for (size_t n = strlen(finder->sysroot); n && finder->sysroot[n - 1] == '/'; n--)
        finder->sysroot[n - 1] = 0;
    for (size_t i = 0; i < count; i++)
        if (!(finder->folders[i] = strdup(options->folders[i])))
            return false;
    finder->index = options->index;
    if (!finder->index) {
        finder->own_folders = calloc(count + 1, sizeof *finder->own_folders);
        for (size_t i = 0; finder->own_folders && i < count; i++)
            finder->own_folders[i] = finder->folders[i];
        if (finder->own_folders)
            finder->own_index = file_index_create((const char *const *)finder->own_folders);
        finder->index = finder->own_index;
    }
    if (!finder->index)
        return false;
    finder->debuginfod = options->debuginfod;
    finder->progress = options->progress;
    finder->context = options->context;
    if (asprintf(&finder->folders[count], "%s/usr/lib/debug", finder->sysroot) < 0) {
        finder->folders[count] = NULL;
        return false;
    }
    return true;
}

fw_error debug_files_find(struct object *object, const char *path,
                          const struct debug_find_options *options, struct debug_files **files,
                          struct fw_failure *why)
{
    *files = NULL;
    struct finder *finder = calloc(1, sizeof *finder);
    if (finder) {
        finder->files.finder = finder;
        finder->object = object;
        finder->no_memory = !copy_options(finder, path, options);
    }
    if (finder && !finder->no_memory) {
        if (!debug_files_has_dwarf(object))
            finder->files.debug = find_debug(finder);
        struct object *debug = finder->files.debug;
        if (!debug && object_is_macho(object) && !debug_files_has_dwarf(object))
            finder->files.parts = finder_has_parts(finder);
        if (debug || debug_files_has_dwarf(object))
            finder_companions(finder, debug ? debug : object,
                              debug ? object_label(debug) : finder->path);
    }
    if (!finder || finder->no_memory) {
        debug_files_close(finder ? &finder->files : NULL);
        if (why)
            *why = (struct fw_failure){.code = FW_ERR_MEMORY, .message = "out of memory"};
        return FW_ERR_MEMORY;
    }
    *files = &finder->files;
    return FW_OK;
}

void debug_files_close(struct debug_files *files)
{
    if (!files)
        return;
    struct finder *finder = files->finder;
    for (size_t i = 0; i < finder->opened_count; i++) {
        object_close(finder->opened[i].object);
        free(finder->opened[i].path);
    }
    file_index_destroy(finder->own_index);
    free(finder->own_folders);
    object_close(files->companions.supplementary);
    object_close(files->companions.package);
    object_close(files->debug);
    for (size_t i = 0; i < files->place_count; i++) {
        free(files->places[i].path);
        free(files->places[i].outcome);
    }
    for (char **folder = finder->folders; folder && *folder; folder++)
        free(*folder);
    free(finder->folders);
    free(finder->opened);
    free(files->places);
    free(finder->sysroot);
    free(finder->path);
    free(finder);
}

/* The places where nothing was, or those where something was that was not taken. */
static bool tell_places(FILE *to, const struct debug_files *files, bool refused)
{
    bool any = false;
    for (size_t i = 0; i < files->place_count; i++) {
        const struct debug_place *place = &files->places[i];
        bool absent = strcmp(place->outcome, OBJECT_NO_FILE) == 0;
        if (strcmp(place->outcome, "found") == 0 || absent == refused)
            continue;
        fputs(any ? ", " : refused ? "refused " : "none at ", to);
        fputs(place->path, to);
        if (refused)
            fprintf(to, " (%s)", place->outcome);
        any = true;
    }
    return any;
}

char *debug_files_story(const struct debug_files *files)
{
    char *refused = NULL, *absent = NULL, *text = NULL;
    size_t size;
    FILE *to = open_memstream(&refused, &size);
    bool any_refused = to && tell_places(to, files, true);
    bool good = to && fclose(to) == 0;
    to = open_memstream(&absent, &size);
    bool any_absent = to && tell_places(to, files, false);
    good &= to && fclose(to) == 0;
    if (good &&
        asprintf(&text, "%s%s%s", refused, any_refused && any_absent ? "; " : "", absent) < 0)
        text = NULL;
    free(refused);
    free(absent);
    return text;
}
