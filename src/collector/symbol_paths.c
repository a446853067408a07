/*
 * Debug files for tools: debuginfod (elfutils, debuginfod(8) "WEBAPI") below /buildid/, and the
 * layouts of symbol servers (symbol_layout.h) below /symbols/.
 *
 * Nothing of a path becomes a file name: it gives an id and what is wanted, and the database says
 * which blob that is; of a source, whether the image has it (sources.h).
 */
#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/http.h"
#include "collector/sources.h"
#include "collector/symbol_files.h"
#include "collector/symbols.h"
#include "object/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void reply_not_found(struct http_request *r)
{
    http_reply_text(r, 404, "text/plain", "not found");
}

static void reply_failure(struct http_request *r, const struct fw_failure *why)
{
    if (why->code == FW_ERR_NOT_FOUND)
        reply_not_found(r);
    else if (why->code == FW_ERR_CORRUPT)
        http_reply_error(r, 500, "%s", why->message);
    else
        http_reply_failure(r, why);
}

/* ---- headers ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A header's value: only what is printable ASCII, and never a folder. */
static void set_file_name(struct http_request *r, const char *name)
{
    char value[256];
    snprintf(value, sizeof value, "%s", last_part(name));
    for (char *c = value; *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            *c = '_';
    if (value[0])
        http_set_header(r, "X-DEBUGINFOD-FILE", value);
}

/* As debuginfod's. What a token was needed for is for no cache that others share. */
static void set_headers(struct http_request *r, const struct symbol_blob *file, uint64_t size)
{
    char value[64];
    struct tm at;
    time_t seconds = (time_t)(file->uploaded_ms / 1000);
    snprintf(value, sizeof value, "%" PRIu64, size);
    http_set_header(r, "X-DEBUGINFOD-SIZE", value);
    set_file_name(r, file->name);
    if (gmtime_r(&seconds, &at) && strftime(value, sizeof value, "%a, %d %b %Y %H:%M:%S GMT", &at))
        http_set_header(r, "Last-Modified", value);
    http_set_header(r, "Cache-Control", r->collector->options->open_symbols ? "public" : "private");
}

/* ---- files ---- */

static fw_error open_file(struct http_request *r, const struct symbol_wish *wish,
                          struct symbol_blob *file, int *fd, uint64_t *size, struct fw_failure *why)
{
    struct collector *c = r->collector;
    struct stat status;
    fw_error error = symbol_files_find(c, symbols_of(&r->access), wish->id, wish->id_size,
                                       wish->wanted, file, why);
    if (error == FW_OK)
        error = symbol_files_open(c, file, fd, why);
    if (error != FW_OK)
        return error;
    if (fstat(*fd, &status) != 0) {
        close(*fd);
        return failure_say(why, FW_ERR_SYSTEM, 0, "%s cannot be read", file->blob);
    }
    *size = (uint64_t)status.st_size;
    symbol_files_used(c, symbols_of(&r->access), wish->id, wish->id_size, file);
    return FW_OK;
}

static void reply_file(struct http_request *r, const struct symbol_wish *wish)
{
    struct symbol_blob file;
    struct fw_failure why = {0};
    int fd;
    uint64_t size;
    if (open_file(r, wish, &file, &fd, &size, &why) != FW_OK) {
        reply_failure(r, &why);
        return;
    }
    set_headers(r, &file, size);
    http_reply_file(r, "application/octet-stream", fd);
}

/* Made from the map each time: clients keep what they get. */
static void reply_breakpad(struct http_request *r, const struct symbol_wish *wish)
{
    struct symbols *symbols = r->collector->symbols;
    int64_t project = symbols_of(&r->access);
    struct symbols_image *image =
        wish->breakpad ? symbols_take_breakpad(symbols, project, wish->id)
                       : symbols_take(symbols, project, wish->id, wish->id_size, NULL);
    struct fw_failure why = {0};
    uint8_t *text;
    size_t size;
    if (!image) {
        symbols_why_none(symbols, project, wish->id, wish->breakpad ? 16 : wish->id_size,
                         wish->breakpad, &why);
        reply_failure(r, &why);
        return;
    }
    if (!symbols_alone_begin(symbols)) {
        symbols_drop(image);
        http_set_header(r, "Retry-After", "5");
        http_reply_error(r, 503, "another large answer is being made; try again in some seconds");
        return;
    }
    fw_error error = symbols_breakpad(image, &text, &size, &why);
    symbols_alone_end(symbols);
    symbols_drop(image);
    if (error != FW_OK)
        http_reply_failure(r, &why);
    else
        http_reply_bytes(r, 200, "text/plain", text, size);
}

static void get_layout(struct http_request *r)
{
    struct symbol_wish wish;
    if (!symbol_layout_read(http_part(r, "rest"), &wish))
        reply_not_found(r);
    else if (wish.wanted == SYMBOL_BREAKPAD)
        reply_breakpad(r, &wish);
    else
        reply_file(r, &wish);
}

/* ---- debuginfod ---- */

/* False, and 404 replied, when the path's id is none. */
static bool id_of(struct http_request *r, struct symbol_wish *wish)
{
    const char *text = http_part(r, "id");
    *wish = (struct symbol_wish){0};
    if (symbol_id_read(text, strlen(text), wish->id, &wish->id_size))
        return true;
    reply_not_found(r);
    return false;
}

static void get_executable(struct http_request *r)
{
    struct symbol_wish wish;
    if (!id_of(r, &wish))
        return;
    wish.wanted = SYMBOL_EXECUTABLE;
    reply_file(r, &wish);
}

static void get_debuginfo(struct http_request *r)
{
    struct symbol_wish wish;
    if (!id_of(r, &wish))
        return;
    wish.wanted = SYMBOL_DEBUGINFO;
    reply_file(r, &wish);
}

/* debuginfod's clients put the path behind "source" as it is, so its first slash is the pattern's.
 * A path that was relative comes without. */
static void get_source(struct http_request *r)
{
    struct symbol_wish wish;
    struct source_text text;
    struct fw_failure why = {0};
    const char *rest = http_part(r, "rest");
    size_t size = strlen(rest) + 2;
    char *path = arena_take(&r->arena, size);
    if (!id_of(r, &wish))
        return;
    if (!path) {
        http_reply_error(r, 503, "out of memory");
        return;
    }
    snprintf(path, size, "/%s", rest);
    fw_error error = sources_find(r->collector, symbols_of(&r->access), wish.id, wish.id_size, path,
                                  &text, &why);
    if (error == FW_ERR_NOT_FOUND)
        error = sources_find(r->collector, symbols_of(&r->access), wish.id, wish.id_size, rest,
                             &text, &why);
    if (error != FW_OK) {
        reply_failure(r, &why);
        return;
    }
    struct symbol_blob about = {.uploaded_ms = text.uploaded_ms};
    snprintf(about.name, sizeof about.name, "%s", last_part(rest));
    set_headers(r, &about, text.size);
    http_reply_bytes(r, 200, "application/octet-stream", text.bytes, text.size);
}

/* Where a section's bytes lie in an ELF file, as they are there (compressed ones stay so, as
 * debuginfod's clients expect it). A separate debug file has no bytes of code (SHT_NOBITS). */
static bool find_section(int fd, const char *label, const char *name, uint64_t file_size,
                         uint64_t *offset, uint64_t *size)
{
    enum { NOBITS = 8 };
    struct object *object;
    struct object_section section;
    bool found = false;
    if (object_open_fd(fd, label, &object, NULL) != FW_OK)
        return false;
    for (size_t i = 0; !found && !object_is_macho(object) && i < object_section_count(object); i++)
        found = object_section_at(object, i, &section) && section.name &&
                strcmp(section.name, name) == 0 && section.type != NOBITS &&
                section.size <= file_size && section.offset <= file_size - section.size;
    if (found) {
        *offset = section.offset;
        *size = section.size;
    }
    object_close(object);
    return found;
}

static void get_section(struct http_request *r)
{
    static const enum symbol_wanted order[] = {SYMBOL_DEBUGINFO, SYMBOL_EXECUTABLE};
    struct symbol_wish wish;
    if (!id_of(r, &wish))
        return;
    for (size_t i = 0; i < 2; i++) {
        struct symbol_blob file;
        struct fw_failure why = {0};
        int fd;
        uint64_t all, offset, size;
        wish.wanted = order[i];
        fw_error error = open_file(r, &wish, &file, &fd, &all, &why);
        if (error == FW_ERR_NOT_FOUND)
            continue;
        if (error != FW_OK) {
            reply_failure(r, &why);
            return;
        }
        if (find_section(fd, file.name, http_part(r, "name"), all, &offset, &size)) {
            set_headers(r, &file, size);
            http_reply_part(r, "application/octet-stream", fd, offset, size);
            return;
        }
        close(fd);
    }
    reply_not_found(r);
}

#define SYMBOL_PATH(pattern, handler)                                                              \
    {"GET", pattern, ACCESS_SYMBOLS_READ, HTTP_CROSS, 0, handler, NULL, NULL}
static const struct http_route routes[] = {
    SYMBOL_PATH("/buildid/{id}/executable", get_executable),
    SYMBOL_PATH("/buildid/{id}/debuginfo", get_debuginfo),
    SYMBOL_PATH("/buildid/{id}/section/{name}", get_section),
    SYMBOL_PATH("/buildid/{id}/source/{rest...}", get_source),
    SYMBOL_PATH("/symbols/{rest...}", get_layout),
};
const struct http_routes routes_symbol_paths = {routes, sizeof routes / sizeof *routes};
