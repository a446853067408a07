/*
 * The object files that a Mach-O image was linked of. Their paths in the debug map are those of the
 * machine that built it; on this one they may lie beside the image, or in a folder that the caller
 * names, under any tail of that path.
 *
 * Object files have no identity but their date, which the linker notes; a file written at another
 * time may hold other code, and is refused.
 */
#include "symbolicate/find_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAILS_MAX = 32, PARTS_TOLD = 3 };

struct part {
    struct finder *finder;
    const struct debug_map_object *entry;
    struct object_choice choice;
    struct object *found;
    char refusal[128]; /* what speaks against a file that is there; "" when none is */
};

static void refuse(struct part *part, uint64_t modified)
{
    char is[32] = "an unknown date", was[32] = "";
    struct tm when;
    time_t at = (time_t)modified;
    if (modified && gmtime_r(&at, &when))
        strftime(is, sizeof is, "%Y-%m-%d %H:%M:%S", &when);
    at = (time_t)part->entry->modified;
    if (gmtime_r(&at, &when))
        strftime(was, sizeof was, "%Y-%m-%d %H:%M:%S", &when);
    snprintf(part->refusal, sizeof part->refusal, "of %s UTC, the one linked of %s", is, was);
}

static void try_part(struct part *part, const char *path)
{
    struct object *object;
    if (part->found || part->finder->no_memory)
        return;
    fw_error error = object_open_path(path, &part->choice, &object, NULL);
    if (error == FW_ERR_MEMORY)
        part->finder->no_memory = true;
    if (error == FW_ERR_NOT_FOUND && access(path, F_OK) == 0)
        snprintf(part->refusal, sizeof part->refusal, "another architecture");
    else if (error != FW_OK && error != FW_ERR_NOT_FOUND)
        snprintf(part->refusal, sizeof part->refusal, "%s", fw_error_text(error));
    if (error != FW_OK)
        return;
    if (part->entry->modified && object_modified(object) != part->entry->modified) {
        refuse(part, object_modified(object));
        object_close(object);
        return;
    }
    part->found = object;
}

static void try_at(struct part *part, const char *folder, const char *tail)
{
    char *path;
    if (part->found)
        return;
    if (asprintf(&path, "%s%s%s", folder, tail[0] == '/' ? "" : "/", tail) < 0) {
        part->finder->no_memory = true;
        return;
    }
    try_part(part, path);
    free(path);
}

/* The path without its first folders, the longest first. A member's name is no folder. */
static void try_tails(struct part *part, const char *folder)
{
    const char *path = part->entry->path, *member = strrchr(path, '(');
    const char *tail = path[0] == '/' ? path + 1 : path;
    for (int i = 0; i < TAILS_MAX && !part->found; i++) {
        try_at(part, folder, tail);
        const char *slash = strchr(tail, '/');
        if (!slash || (member && slash > member))
            break;
        tail = slash + 1;
    }
}

static const char *last_part(const char *path)
{
    const char *member = strrchr(path, '('), *last = path;
    for (const char *p = path; *p && p != member; p++)
        if (*p == '/')
            last = p + 1;
    return last;
}

/* The first few that are missing are told of; there may be thousands. */
static void note(struct part *part)
{
    struct finder *finder = part->finder;
    if (finder->parts_told++ < PARTS_TOLD)
        finder_note(finder, part->entry->path, part->refusal[0] ? part->refusal : OBJECT_NO_FILE);
}

struct object *debug_files_part(void *files, const struct debug_map_object *entry)
{
    struct finder *finder = ((struct debug_files *)files)->finder;
    struct part part = {.finder = finder,
                        .entry = entry,
                        .choice = {.arch = object_arch_name(finder->object)},
                        .found = finder_known(finder, entry->path)};
    if (part.found)
        return part.found;
    if (entry->path[0] == '/')
        try_at(&part, finder->sysroot, entry->path);
    char *beside = finder->path[0] ? finder_folder(finder, finder->path) : NULL;
    if (beside)
        try_at(&part, beside, last_part(entry->path));
    free(beside);
    for (char **folder = finder->folders; folder[0] && folder[1]; folder++)
        try_tails(&part, *folder);
    if (!part.found)
        note(&part);
    return finder_remember(finder, entry->path, part.found);
}

static bool any_part(void *context, const struct debug_map_object *entry)
{
    struct finder *finder = context;
    finder->files.parts |= entry->function_count && debug_files_part(&finder->files, entry);
    return !finder->files.parts && !finder->no_memory;
}

bool finder_has_parts(struct finder *finder)
{
    fw_error error = object_debug_map(finder->object, any_part, finder, NULL);
    finder->no_memory |= error == FW_ERR_MEMORY;
    return finder->files.parts;
}
