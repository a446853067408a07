/*
 * Sources: opening them, and getting the map that answers a question.
 *
 * A few addresses are answered from a map of only the units that hold them; converting everything
 * pays off when many are asked, at once or one after the other. A whole map is kept for the life of
 * the source, and in the cache for the next run.
 */
#include "symbolicate/internal.h"

#include "arch/arch.h"
#include "object/debug_sections.h"
#include "object/object.h"
#include "symbolicate/debug_file.h"
#include "symbolicate/find.h"
#include "symbolicate/identity.h"
#include "symmap/convert.h"
#include "symmap/import.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void take_identity(struct fw_source *s, const uint8_t *id, size_t size)
{
    s->id_size = size < sizeof s->id ? size : sizeof s->id;
    if (s->id_size)
        memcpy(s->id, id, s->id_size);
}

/* Made into a map of our own, in memory. */
static fw_error import_file(struct fw_source *s, struct symmap **map, struct fw_failure *why)
{
    int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    void *mapped = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (mapped == MAP_FAILED)
        return fail(why, FW_ERR_SYSTEM, s->path, "cannot be read");
    struct span bytes = {mapped, (size_t)status.st_size};
    size_t size;
    fw_error error = import_map(bytes, s->path, &s->map_bytes, &size, why);
    munmap(mapped, bytes.size);
    if (error == FW_OK)
        error = symmap_open_bytes((struct span){s->map_bytes, size}, true, s->path, map, why);
    return error;
}

static fw_error open_map(struct fw_source *s, enum debug_file_form form, struct fw_failure *why)
{
    struct symmap *map;
    fw_error error =
        form == DEBUG_FILE_MAP ? symmap_open(s->path, &map, why) : import_file(s, &map, why);
    if (error != FW_OK)
        return error;
    const struct symmap_identity *identity = symmap_identity(map);
    take_identity(s, identity->id, identity->id_size);
    memcpy(s->arch, identity->arch, sizeof s->arch);
    s->thumb = arch_has_thumb(s->arch);
    s->base = identity->base;
    s->kind = FW_SOURCE_MAP;
    atomic_store(&s->missing, identity->incomplete
                                  ? "the symbol map was made while files that its debug "
                                    "information names were missing"
                                  : NULL);
    atomic_store(&s->map, map);
    return FW_OK;
}

static fw_error no_memory(const struct fw_source *s, struct fw_failure *why)
{
    return fail(why, FW_ERR_MEMORY, s->path, fw_error_text(FW_ERR_MEMORY));
}

static bool add_searched(struct fw_source *s, const char *story)
{
    char *both;
    if (asprintf(&both, "%s%s%s", s->searched, s->searched[0] && story[0] ? "; " : "", story) < 0)
        return false;
    free(s->searched);
    s->searched = both;
    return true;
}

/* What goes with the object, found in the places that the options name. */
static fw_error find_files(struct fw_source *s, struct fw_failure *why)
{
    const struct fw_symbolicator_options *o = &s->symbolicator->options;
    struct debug_find_options options = {
        .folders = (const char *const *)s->symbolicator->folders,
        .index = s->symbolicator->index,
        .sysroot = s->symbolicator->sysroot,
        .debuginfod = !o->no_debuginfod,
        .progress = o->progress,
        .context = o->progress_context,
    };
    fw_error error = debug_files_find(s->object, s->path, &options, &s->files, why);
    if (error != FW_OK)
        return error;
    char *story = debug_files_story(s->files);
    bool good = story && add_searched(s, story);
    free(story);
    s->debug = s->files->debug;
    if (s->debug)
        s->debug_path = strdup(object_label(s->debug));
    return good && (!s->debug || s->debug_path) ? FW_OK : no_memory(s, why);
}

static bool has_dwarf(const struct fw_source *s)
{
    return debug_files_has_dwarf(s->object) || (s->debug && debug_files_has_dwarf(s->debug)) ||
           (s->files && s->files->parts);
}

static fw_error open_object(struct fw_source *s, const struct object_choice *choice,
                            struct fw_failure *why)
{
    fw_error error = object_open_path(s->path, choice, &s->object, why);
    if (error != FW_OK)
        return error;
    if (object_type(s->object) == OBJECT_CORE)
        return fail(why, FW_ERR_FORMAT, s->path,
                    "a core file: `framewalk dump` shows its stacks; addresses are looked up in "
                    "the program itself");
    struct span id = object_build_id(s->object);
    take_identity(s, id.data, id.size);
    snprintf(s->arch, sizeof s->arch, "%s", object_arch_name(s->object));
    s->thumb = arch_has_thumb(s->arch);
    s->base = object_base(s->object);
    if (!s->symbolicator->options.no_separate)
        error = find_files(s, why);
    s->kind = has_dwarf(s) ? FW_SOURCE_DWARF : FW_SOURCE_SYMBOLS;
    /* Now, for later it may be asked by many threads. */
    if (error == FW_OK)
        error = object_code_ranges(s->object, &s->code, &s->code_count);
    return error;
}

/* Is the map what was asked for? */
static fw_error check_map(const struct fw_source *s, const struct object_choice *choice,
                          struct fw_failure *why)
{
    char has[2 * sizeof s->id + 1], wanted[2 * sizeof s->id + 1];
    struct span id = {s->id, s->id_size};
    bool by_id = choice->uuid.size > 0;
    if (by_id ? id.size == choice->uuid.size && memcmp(id.data, choice->uuid.data, id.size) == 0
              : !choice->arch || !s->arch[0] || strcmp(choice->arch, s->arch) == 0)
        return FW_OK;
    identity_hex(id, has, sizeof has);
    identity_hex(choice->uuid, wanted, sizeof wanted);
    if (why) {
        *why = (struct fw_failure){.code = FW_ERR_NOT_FOUND};
        snprintf(why->message, sizeof why->message, "%s: %s %.40s, not %.40s", s->path,
                 by_id ? "has the id" : "is", by_id ? has : s->arch, by_id ? wanted : choice->arch);
    }
    return FW_ERR_NOT_FOUND;
}

/* The file at s->path, if it is what the choice says. */
static fw_error open_path(struct fw_source *s, const struct object_choice *choice,
                          struct fw_failure *why)
{
    enum debug_file_form form = debug_file_form_at(s->path);
    if (!debug_file_is_symbols(form))
        return open_object(s, choice, why);
    fw_error error = open_map(s, form, why);
    return error == FW_OK ? check_map(s, choice, why) : error;
}

/* Puts the source back to before anything was opened. */
static void forget(struct fw_source *s)
{
    symmap_close(atomic_exchange(&s->map, NULL));
    free(s->map_bytes);
    s->map_bytes = NULL;
    debug_files_close(s->files);
    object_close(s->object);
    free(s->debug_path);
    s->files = NULL;
    s->object = s->debug = NULL;
    s->code = NULL;
    s->code_count = 0;
    s->debug_path = NULL;
    s->id_size = 0;
    s->arch[0] = 0;
    atomic_store(&s->missing, NULL);
}

/* `before` is what speaks against the path that was given; "" when none was. */
static fw_error open_identity(struct fw_source *s, const struct object_choice *choice,
                              const char *before, struct fw_failure *why)
{
    struct identified found;
    if (!identity_find(s->symbolicator, choice->uuid, &found))
        return no_memory(s, why);
    fw_error error = FW_OK;
    if (!found.path) {
        char hex[2 * sizeof s->id + 1];
        identity_hex(choice->uuid, hex, sizeof hex);
        if (why) {
            *why = (struct fw_failure){.code = FW_ERR_NOT_FOUND};
            snprintf(why->message, sizeof why->message, "%s%sno file with the id %s: %s", before,
                     before[0] ? "; " : "", hex, found.story);
        }
        error = FW_ERR_NOT_FOUND;
    } else {
        forget(s);
        free(s->path);
        s->path = found.path;
        found.path = NULL;
        error = add_searched(s, before) ? open_path(s, choice, why) : no_memory(s, why);
    }
    free(found.path);
    free(found.story);
    return error;
}

static fw_error open_source(struct fw_source *s, const struct fw_source_request *request,
                            struct fw_failure *why)
{
    const struct object_choice choice = {.arch = request->arch,
                                         .uuid = {request->id, request->id ? request->id_size : 0}};
    struct fw_failure own = {0};
    if (!request->path && choice.uuid.size == 0)
        return fail(why, FW_ERR_ARGUMENT, NULL, "neither a path nor an id to look for");
    if (!request->path)
        return open_identity(s, &choice, "", why);
    fw_error error = open_path(s, &choice, &own);
    if (error == FW_ERR_NOT_FOUND && choice.uuid.size)
        return open_identity(s, &choice, own.message, why);
    if (why)
        *why = own;
    return error;
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
    s->path = strdup(taken.path ? taken.path : "");
    s->searched = strdup("");
    error = s->path && s->searched ? open_source(s, &taken, why) : no_memory(s, why);
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
    arena_free(&source->texts);
    free(source);
}

fw_error fw_source_info(const struct fw_source *source, struct fw_source_info *info)
{
    size_t size = info->size;
    if (size <= sizeof size || size > SIZED_MAX)
        return FW_ERR_ARGUMENT;
    const char *missing = atomic_load(&source->missing);
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
        .missing = missing ? missing : "",
    };
    memset(info, 0, size);
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
    return FW_OK;
}

/* Under the lock from here on. */

/* What one conversion lacked, in words. The largest count stands: texts handed out stay. */
static bool tell_missing(struct fw_source *s, const struct convert_report *report)
{
    uint64_t split = report->dwarf.count[DWARF_PROBLEM_SPLIT];
    uint64_t supplementary = report->dwarf.count[DWARF_PROBLEM_SUPPLEMENTARY];
    uint64_t count = split + supplementary + report->parts_missing;
    char text[sizeof((struct fw_failure *)0)->message + 128];
    if (count <= s->missing_count)
        return true;
    if (split || supplementary)
        snprintf(
            text, sizeof text, "%s",
            report->dwarf.first[split ? DWARF_PROBLEM_SPLIT : DWARF_PROBLEM_SUPPLEMENTARY].message);
    else
        snprintf(text, sizeof text,
                 "%s: %zu of the %zu object files it was linked of were not found", s->path,
                 report->parts_missing, report->parts);
    size_t used = strlen(text);
    if (count > 1 && (split || supplementary))
        snprintf(text + used, sizeof text - used, ", and %" PRIu64 " more files", count - 1);
    char *kept = arena_take(&s->texts, strlen(text) + 1);
    if (!kept)
        return false;
    strcpy(kept, text);
    s->missing_count = count;
    atomic_store(&s->missing, kept);
    return true;
}

static fw_error convert(struct fw_source *s, const uint64_t *only, size_t count, uint8_t **bytes,
                        size_t *size, struct convert_report *report, struct fw_failure *why)
{
    struct convert_report own;
    report = report ? report : &own;
    const struct fw_symbolicator_options *o = &s->symbolicator->options;
    struct convert_options options = {.threads = o->threads,
                                      .columns = o->columns,
                                      .calls = true,
                                      .only = only,
                                      .only_count = count,
                                      .open_part =
                                          s->files && s->files->parts ? debug_files_part : NULL,
                                      .part_context = s->files,
                                      .progress = o->progress,
                                      .context = o->progress_context};
    fw_error error = symmap_convert(s->object, s->debug, s->files ? &s->files->companions : NULL,
                                    &options, bytes, size, report, why);
    if (error == FW_OK && !tell_missing(s, report)) {
        free(*bytes);
        *bytes = NULL;
        error = no_memory(s, why);
    }
    return error;
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
    char *path = convert_is_complete(&report) ? cache_path(s) : NULL; /* later, more may be there */
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
