/*
 * Sources: opening them, and getting the map that answers a question.
 *
 * A few addresses are answered from a map of only the units that hold them; converting everything
 * pays off when many are asked, at once or one after the other. A whole map is kept for the life of
 * the source, and in the cache for the next run.
 */
#include "symbolicate/internal.h"

#include "object/debug_sections.h"
#include "object/object.h"
#include "symbolicate/find.h"
#include "symmap/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* However few addresses a small map is for, it costs a look at every unit: it counts as many. Once
 * so much was asked for, small maps have cost about what the whole one does. */
enum { FEW_ADDRESSES = 256, ASKED_AT_LEAST = 512, ASKED_MANY = 4096 };

static fw_error fail(struct fw_failure *why, fw_error code, const char *path, const char *text)
{
    if (why) {
        *why = (struct fw_failure){.code = code};
        snprintf(why->message, sizeof why->message, "%s: %s", path ? path : "image", text);
    }
    return code;
}

static bool is_map(const char *path)
{
    char magic[8] = {0};
    FILE *file = fopen(path, "rbe");
    size_t got = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof magic && memcmp(magic, SYMMAP_MAGIC, sizeof magic) == 0;
}

static void take_identity(struct fw_source *s, const uint8_t *id, size_t size)
{
    s->id_size = size < sizeof s->id ? size : sizeof s->id;
    if (s->id_size)
        memcpy(s->id, id, s->id_size);
}

static fw_error open_map(struct fw_source *s, struct fw_failure *why)
{
    struct symmap *map;
    fw_error error = symmap_open(s->path, &map, why);
    if (error != FW_OK)
        return error;
    const struct symmap_identity *identity = symmap_identity(map);
    take_identity(s, identity->id, identity->id_size);
    memcpy(s->arch, identity->arch, sizeof s->arch);
    s->base = identity->base;
    s->kind = FW_SOURCE_MAP;
    atomic_store(&s->map, map);
    return FW_OK;
}

/* What goes with the object, found in the places that the options name. */
static fw_error find_files(struct fw_source *s, struct fw_failure *why)
{
    const struct fw_symbolicator_options *o = &s->symbolicator->options;
    struct debug_find_options options = {
        .folders = (const char *const *)s->symbolicator->folders,
        .sysroot = s->symbolicator->sysroot,
        .debuginfod = !o->no_debuginfod,
        .progress = o->progress,
        .context = o->progress_context,
    };
    fw_error error = debug_files_find(s->object, s->path, &options, &s->files, why);
    if (error != FW_OK)
        return error;
    char *story = debug_files_story(s->files);
    free(s->searched);
    s->searched = story;
    s->debug = s->files->debug;
    if (s->debug)
        s->debug_path = strdup(object_label(s->debug));
    return story && (!s->debug || s->debug_path)
               ? FW_OK
               : fail(why, FW_ERR_MEMORY, s->path, fw_error_text(FW_ERR_MEMORY));
}

static fw_error open_object(struct fw_source *s, const struct fw_source_request *request,
                            struct fw_failure *why)
{
    fw_error error = object_open(s->path, &s->object, why);
    if (error != FW_OK)
        return error;
    (void)request;
    struct span id = object_build_id(s->object);
    take_identity(s, id.data, id.size);
    s->base = object_base(s->object);
    if (!s->symbolicator->options.no_separate)
        error = find_files(s, why);
    bool dwarf = debug_files_has_dwarf(s->object) || (s->debug && debug_files_has_dwarf(s->debug));
    s->kind = dwarf ? FW_SOURCE_DWARF : FW_SOURCE_SYMBOLS;
    /* Now, for later it may be asked by many threads. */
    if (error == FW_OK)
        error = object_code_ranges(s->object, &s->code, &s->code_count);
    return error;
}

static bool wanted_identity(const struct fw_source *s, const struct fw_source_request *request)
{
    return !request->id || (request->id_size == s->id_size &&
                            (s->id_size == 0 || memcmp(request->id, s->id, s->id_size) == 0));
}

/* A thread that is cancelled must not leave with the lock, or with files half written. */
static int lock(struct fw_source *source)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&source->lock);
    return state;
}

static void unlock(struct fw_source *source, int state)
{
    pthread_mutex_unlock(&source->lock);
    pthread_setcancelstate(state, NULL);
}

static fw_error open_any(struct fw_source *s, const struct fw_source_request *request,
                         struct fw_failure *why)
{
    s->path = strdup(request->path ? request->path : "");
    s->searched = strdup("");
    if (!s->path || !s->searched)
        return FW_ERR_MEMORY;
    fw_error error = is_map(s->path) ? open_map(s, why) : open_object(s, request, why);
    if (error == FW_OK && !wanted_identity(s, request))
        error = fail(why, FW_ERR_CORRUPT, s->path, "another build id than asked for");
    return error;
}

fw_error fw_source_open(struct fw_symbolicator *symbolicator,
                        const struct fw_source_request *request, struct fw_source **source,
                        struct fw_failure *why)
{
    *source = NULL;
    struct fw_source_request taken;
    fw_error error = take_sized(&taken, sizeof taken, request);
    if (error != FW_OK)
        return fail(why, error, "request", "its size or contents are of another version");
    struct fw_source *s = calloc(1, sizeof *s);
    if (!s)
        return fail(why, FW_ERR_MEMORY, taken.path, fw_error_text(FW_ERR_MEMORY));
    s->symbolicator = symbolicator;
    pthread_mutex_init(&s->lock, NULL);
    if (why)
        why->code = FW_OK;
    int state = lock(s);
    error = open_any(s, &taken, why);
    unlock(s, state);
    if (error != FW_OK) {
        if (why && why->code != error)
            fail(why, error, s->path, fw_error_text(error));
        fw_source_close(s);
        return error;
    }
    *source = s;
    return FW_OK;
}

void fw_source_close(struct fw_source *source)
{
    if (!source)
        return;
    symmap_close(atomic_load(&source->map));
    free(source->map_bytes);
    debug_files_close(source->files);
    object_close(source->object);
    pthread_mutex_destroy(&source->lock);
    free(source->path);
    free(source->debug_path);
    free(source->searched);
    free(source);
}

fw_error fw_source_info(const struct fw_source *source, struct fw_source_info *info)
{
    size_t size = info->size;
    if (size <= sizeof size || size > SIZED_MAX)
        return FW_ERR_ARGUMENT;
    const struct fw_source_info all = {
        .size = size,
        .kind = source->kind,
        .path = source->path,
        .debug_path = source->debug_path,
        .arch = source->arch,
        .id = source->id,
        .id_size = source->id_size,
        .base = source->base,
        .searched = source->searched,
    };
    memset(info, 0, size);
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
    return FW_OK;
}

/* Under the lock from here on. */

static fw_error convert(struct fw_source *s, const uint64_t *only, size_t count, uint8_t **bytes,
                        size_t *size, struct convert_report *report, struct fw_failure *why)
{
    const struct fw_symbolicator_options *o = &s->symbolicator->options;
    struct convert_options options = {.threads = o->threads,
                                      .columns = o->columns,
                                      .calls = true,
                                      .only = only,
                                      .only_count = count,
                                      .progress = o->progress,
                                      .context = o->progress_context};
    return symmap_convert(s->object, s->debug, s->files ? &s->files->companions : NULL, &options,
                          bytes, size, report, why);
}

/* The standing map, when there is one or the cache has it. */
static struct symmap *standing_map(struct fw_source *s)
{
    struct symmap *map = atomic_load(&s->map);
    char *path = map ? NULL : cache_path(s);
    if (path) {
        map = cache_open(s, path);
        if (map)
            atomic_store(&s->map, map);
        free(path);
    }
    return map;
}

/* Whether the debug information had all that it refers to: else a later run may find more. */
static bool is_complete(struct fw_source *s, const struct convert_report *report)
{
    const char *link;
    struct span id;
    bool wants = object_debugaltlink(s->debug ? s->debug : s->object, &link, &id);
    return report->dwarf.count[DWARF_PROBLEM_SPLIT] == 0 &&
           (!wants || (s->files && s->files->companions.supplementary));
}

static fw_error convert_whole(struct fw_source *s, struct symmap **map, struct fw_failure *why)
{
    size_t size;
    uint8_t *bytes;
    struct convert_report report;
    fw_error error = convert(s, NULL, 0, &bytes, &size, &report, why);
    if (error != FW_OK)
        return error;
    error = symmap_open_bytes((struct span){bytes, size}, true, s->path, map, why);
    if (error != FW_OK) {
        free(bytes);
        return error;
    }
    s->map_bytes = bytes;
    char *path = is_complete(s, &report) ? cache_path(s) : NULL;
    if (path)
        cache_keep(s->symbolicator, path, s->map_bytes, size);
    free(path);
    atomic_store(&s->map, *map);
    return FW_OK;
}

fw_error source_whole_map(struct fw_source *source, struct symmap **map, struct fw_failure *why)
{
    *map = atomic_load(&source->map);
    if (*map)
        return FW_OK;
    int state = lock(source);
    *map = standing_map(source);
    fw_error error = *map ? FW_OK : convert_whole(source, map, why);
    unlock(source, state);
    return error;
}

static fw_error small_map(struct fw_source *s, const uint64_t *addresses, size_t count,
                          struct symmap **map, uint8_t **bytes, struct fw_failure *why)
{
    size_t size;
    fw_error error = convert(s, addresses, count, bytes, &size, NULL, why);
    if (error == FW_OK)
        error = symmap_open_bytes((struct span){*bytes, size}, true, s->path, map, why);
    if (error != FW_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    s->asked += count > ASKED_AT_LEAST ? count : ASKED_AT_LEAST;
    return error;
}

fw_error source_map_for(struct fw_source *source, const uint64_t *addresses, size_t count,
                        struct symmap **map, uint8_t **bytes, struct fw_failure *why)
{
    *bytes = NULL;
    *map = atomic_load(&source->map);
    if (*map)
        return FW_OK;
    int state = lock(source);
    fw_error error = FW_OK;
    *map = standing_map(source);
    if (!*map && count <= FEW_ADDRESSES && source->asked < ASKED_MANY)
        error = small_map(source, addresses, count, map, bytes, why);
    else if (!*map)
        error = convert_whole(source, map, why);
    unlock(source, state);
    return error;
}
