/*
 * push_companions.h. A skeleton unit names its .dwo (DWARF 5 section 3.1.3), a file that went
 * through dwz its supplementary file (.gnu_debugaltlink; DWARF 5 section 7.3.6). They are looked
 * for as `framewalk convert` does, and only when the collector lacks the map.
 */
#include "cli/push_companions.h"

#include "base/array.h"
#include "symbolicate/find.h"
#include "symmap/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNITS_LOOKED_AT = 1 << 16 };

/* ---- which files ---- */

static bool has_addresses(const struct object *object)
{
    struct object_section section;
    for (size_t i = 0; object_section_at(object, i, &section); i++)
        if (strcmp(section.name, ".debug_addr") == 0 || strcmp(section.name, ".zdebug_addr") == 0)
            return true;
    return false;
}

/* clang has .debug_addr in every file of DWARF 5: the units tell. */
static bool has_skeletons(struct object *object)
{
    struct dwarf *dwarf;
    bool found = false;
    if (!has_addresses(object) || dwarf_open(object, NULL, &dwarf, NULL) != FW_OK)
        return false;
    size_t count = dwarf_unit_count(dwarf);
    for (size_t i = 0; !found && i < count && i < UNITS_LOOKED_AT; i++) {
        struct dwarf_unit_about about = {0};
        found = dwarf_unit_about(dwarf, i, &about) == FW_OK && about.dwo_name;
    }
    dwarf_close(dwarf);
    return found;
}

static bool is_split(const char *path, const struct debug_slice *slice)
{
    const struct object_choice choice = {.arch = slice->arch};
    struct object *object;
    if (slice->features & DEBUG_FILE_SPLIT)
        return true;
    if (!(slice->features & DEBUG_FILE_DEBUG_INFO) ||
        object_open_path(path, &choice, &object, NULL) != FW_OK)
        return false;
    bool split = has_skeletons(object);
    object_close(object);
    return split;
}

static void plan(struct push_found *found, size_t index, const struct debug_slice *of)
{
    struct push_file map = {.source = strdup(found->files[index].path),
                            .slices = malloc(sizeof *map.slices),
                            .slice_count = 1};
    if (asprintf(&map.path, "%s (symbol map)", found->files[index].path) < 0)
        map.path = NULL;
    if (map.path && map.source && map.slices &&
        array_room(&found->files, &found->capacity, found->count, sizeof map)) {
        *map.slices = *of;
        map.slices->kind = DEBUG_FILE_SYMBOLS;
        map.slices->features = DEBUG_FILE_SYMTAB | DEBUG_FILE_LINES;
        found->files[found->count++] = map;
        return;
    }
    found->no_memory = true;
    free(map.path);
    free(map.source);
    free(map.slices);
}

void push_companions_plan(struct push_found *found)
{
    size_t count = found->count;
    for (size_t i = 0; i < count && !found->no_memory; i++)
        for (size_t k = 0; k < found->files[i].slice_count && !found->no_memory; k++) {
            const struct push_file *file = &found->files[i];
            const struct debug_slice slice = file->slices[k];
            if (file->fate == PUSH_WANTED && slice.id_size && slice.kind != DEBUG_FILE_SYMBOLS &&
                is_split(file->path, &slice))
                plan(found, i, &slice);
        }
}

/* ---- making ---- */

struct made {
    uint8_t *bytes;
    size_t size;
    bool any; /* a companion was found */
};

/* What names are missing, and which file has them; "" when all are there. */
static void say_missing(struct push_file *file, struct object *dwarf,
                        const struct debug_files *files, const struct convert_report *report)
{
    const char *link;
    struct span id;
    uint64_t missing = report->dwarf.count[DWARF_PROBLEM_SPLIT];
    if (object_debugaltlink(dwarf, &link, &id) && !files->companions.supplementary)
        snprintf(file->missing, sizeof file->missing, "names are missing: %.150s was not found",
                 link);
    else if (missing > 1)
        snprintf(file->missing, sizeof file->missing,
                 "names are missing: %.110s; and %" PRIu64 " more .dwo files",
                 report->dwarf.first[DWARF_PROBLEM_SPLIT].message, missing - 1);
    else if (missing)
        snprintf(file->missing, sizeof file->missing, "names are missing: %.150s",
                 report->dwarf.first[DWARF_PROBLEM_SPLIT].message);
    file->incomplete = file->missing[0] != 0;
}

static bool found_any(const struct debug_files *files)
{
    for (size_t i = 0; i < files->place_count; i++)
        if (strcmp(files->places[i].outcome, "found") == 0)
            return true;
    return false;
}

static fw_error convert(struct push_file *file, struct made *made, struct fw_failure *why)
{
    const struct object_choice choice = {.arch = file->slices->arch};
    const struct debug_find_options find = {.debuginfod = true};
    const struct convert_options options = {.calls = true};
    struct object *object = NULL;
    struct debug_files *files = NULL;
    struct convert_report report = {0};
    fw_error error = object_open_path(file->source, &choice, &object, why);
    if (error == FW_OK)
        error = debug_files_find(object, file->source, &find, &files, why);
    if (error == FW_OK)
        error = symmap_convert(object, files->debug, &files->companions, &options, &made->bytes,
                               &made->size, &report, why);
    if (error == FW_OK) {
        say_missing(file, files->debug ? files->debug : object, files, &report);
        made->any = found_any(files);
    }
    debug_files_close(files);
    object_close(object);
    return error;
}

/* Into a file of its own; false: errno. */
static bool store(struct push_file *file, const struct made *made)
{
    const char *folder = getenv("TMPDIR");
    struct stat about;
    if (asprintf(&file->made, "%s/framewalk-push-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
        file->made = NULL;
    int fd = file->made ? mkostemp(file->made, O_CLOEXEC) : -1;
    if (fd < 0) {
        free(file->made);
        file->made = NULL;
        return false;
    }
    bool good = true;
    for (size_t at = 0; good && at < made->size;) {
        ssize_t n = write(fd, made->bytes + at, made->size - at);
        good = n > 0 || (n < 0 && errno == EINTR);
        at += n > 0 ? (size_t)n : 0;
    }
    good = good && fstat(fd, &about) == 0;
    close(fd);
    if (good) {
        file->size = (uint64_t)about.st_size;
        file->device = about.st_dev;
        file->inode = about.st_ino;
    }
    return good;
}

bool push_companions_make(struct push_file *file, struct progress *progress)
{
    struct made made = {.any = false};
    struct fw_failure why = {0};
    if (!file->source)
        return true;
    progress_show(progress, "Putting names together: %s", file->source);
    fw_error error = convert(file, &made, &why);
    bool good = error == FW_OK && made.any && store(file, &made);
    if (error != FW_OK)
        snprintf(file->missing, sizeof file->missing, "names are missing: %.150s", why.message);
    else if (made.any && !good)
        snprintf(file->missing, sizeof file->missing, "it cannot be stored here: %s",
                 strerror(errno));
    free(made.bytes);
    if (good)
        return true;
    push_companions_drop(file);
    file->fate = PUSH_ALONE;
    return false;
}

void push_companions_drop(struct push_file *file)
{
    if (file->made)
        unlink(file->made);
    free(file->made);
    file->made = NULL;
}

bool push_companions_missed(const struct push_found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct push_file *file = &found->files[i];
        if (file->fate == PUSH_ALONE || (file->source && file->incomplete))
            return true;
    }
    return false;
}
