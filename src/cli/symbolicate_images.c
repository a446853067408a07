/*
 * The files of a report's images.
 *
 * By identity, which the library does: the image where the report says it lay, on this machine or
 * under --sysroot, what --debug names or holds, the system's places, servers. Only when the report
 * gives no identity (perf script, most sanitizers) is a file taken by its path, or by its name out
 * of --debug. Paths in reports are anybody's: only regular files are opened.
 */
#include "cli/symbolicate_images.h"

#include "report/own_image.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct hunt {
    const struct symbolicate_options *options;
    struct fw_symbolicator *symbolicator;
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

static bool is_regular(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* ---- by identity ---- */

/* The library's message without what the line says anyway. */
static const char *without_head(const char *message)
{
    const char *colon =
        strncmp(message, "no file with the id ", 20) == 0 ? strstr(message, ": ") : NULL;
    return colon ? colon + 2 : message;
}

/* `path` is where it may lie, or NULL. */
static bool by_identity(struct hunt *h, const char *path)
{
    struct fw_source_request request = {.size = sizeof request,
                                        .path = path && is_regular(path) ? path : NULL,
                                        .id = h->image->id,
                                        .id_size = h->image->id_size};
    struct fw_failure why = {0};
    if (path && !request.path)
        note(h, "%s (no such file)", path);
    if (symbolicate_open(h->options, h->symbolicator, &request, &h->source, &why) == FW_OK)
        return true;
    const char *message = without_head(why.message);
    if (message[0])
        note(h, "%s", message);
    return false;
}

/* ---- by path and name ---- */

/* Breakpad's ids are GUIDs made of the first 16 bytes: of a build id their numbers are read as
 * little-endian ones, so their bytes change places; a UUID stays. */
static bool is_breakpad_id(const struct report_image *image, const struct fw_source_info *info)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    bool same = true;
    for (size_t i = 0; i < 16; i++) /* short build ids are filled up with zeros */
        same &= image->id[i] == (order[i] < info->id_size ? info->id[order[i]] : 0);
    return same && info->id_size > 0;
}

static bool by_path(struct hunt *h, const char *path)
{
    struct fw_source_request request = {
        .size = sizeof request, .path = path, .arch = h->options->arch};
    struct fw_source_info info = {.size = sizeof info};
    struct fw_failure why = {0};
    if (symbolicate_open(h->options, h->symbolicator, &request, &h->source, &why) != FW_OK) {
        size_t size = strlen(path);
        bool named = strncmp(why.message, path, size) == 0 && why.message[size] == ':';
        note(h, "%s (%s)", path, named ? why.message + size + 2 : why.message);
        h->source = NULL;
        return false;
    }
    if (h->image->id_size == 0 ||
        (fw_source_info(h->source, &info) == FW_OK && is_breakpad_id(h->image, &info)))
        return true;
    note(h, "%s (another id)", path);
    fw_source_close(h->source);
    h->source = NULL;
    return false;
}

/* What of --debug is called like the image: itself, or a file in a folder. */
static bool by_name(struct hunt *h)
{
    static const char *const ends[] = {"", ".debug", ".dbg", ".dSYM", ".symmap"};
    bool found = false;
    for (size_t i = 0; i < h->options->folder_count; i++) {
        const char *place = h->options->folders[i];
        bool any = h->any;
        for (size_t k = 0; h->image->name[0] && k < sizeof ends / sizeof *ends && !found; k++) {
            char *name, *inner;
            if (asprintf(&name, "%s%s", h->image->name, ends[k]) < 0)
                return false;
            if (asprintf(&inner, "%s/%s", place, name) < 0)
                inner = NULL;
            bool itself = strcmp(symbolicate_last_part(place), name) == 0;
            struct stat status;
            if (itself)
                found = by_path(h, place);
            else if (inner && stat(inner, &status) == 0 &&
                     (S_ISREG(status.st_mode) || strcmp(ends[k], ".dSYM") == 0))
                found = by_path(h, inner);
            free(name);
            free(inner);
        }
        if (!found && h->any == any)
            note(h, "%s (nothing of that name)", place);
    }
    return found;
}

/* ---- one image ---- */

/* Where the report says that it lay; NULL: nowhere. Of names without a folder only those are paths
 * that somebody who runs programs here wrote. */
static char *path_of(const struct hunt *h)
{
    const char *path = h->image->path, *root = h->options->sysroot;
    bool relative = h->report->kind == REPORT_LIST || h->report->kind == REPORT_SANITIZER;
    char *whole;
    const char *home = getenv("HOME");
    if (path && h->report->kind == REPORT_FRAMEWALK && path[0] == '~' && home && !root)
        return asprintf(&whole, "%s%s", home, path + 1) < 0 ? NULL : whole;
    if (!path || (path[0] != '/' && !relative) ||
        asprintf(&whole, "%s%s%s", root ? root : "", root && path[0] != '/' ? "/" : "", path) < 0)
        return NULL;
    return whole;
}

static void look(struct hunt *h)
{
    const struct report_image *image = h->image;
    char *path = path_of(h);
    if (image->whole_cache) {
        note(h, "the report knows only the whole shared cache");
    } else if (image->id_size) {
        if (!by_identity(h, path) && image->breakpad && image->id_size == 16)
            by_name(h);
    } else if (path && is_regular(path)) {
        by_path(h, path);
    } else {
        if (path)
            note(h, "%s (no such file)", path);
        by_name(h);
    }
    free(path);
}

struct image_file image_file_find(const struct symbolicate_options *options,
                                  struct fw_symbolicator *symbolicator, const struct report *report,
                                  const struct report_image *image)
{
    struct image_file result = {0};
    size_t size;
    struct hunt h = {
        .options = options, .symbolicator = symbolicator, .report = report, .image = image};
    h.looked = open_memstream(&result.looked, &size);
    if (!h.looked)
        return result;
    look(&h);
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
    if ((report->info.path && strcmp(report->info.path, path) == 0) ||
        own_image(report->info.path, path))
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
