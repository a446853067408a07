/*
 * Source text: lines around a place for the page, and /source/v1 of the Firefox Profiler. The whole
 * file for debuggers is symbol_paths.c's. Which files may be read at all: sources.h.
 */
#include "collector/api_json.h"
#include "collector/api_scope.h"
#include "collector/sources.h"
#include "collector/symbol_layout.h"
#include "collector/symbols_image.h"

#include <stdlib.h>

enum { CONTEXT = 5, CONTEXT_MAX = 100, LINE_BYTES = 1000, V1_BYTES = 65536, V1_NAMES = 64 };

/* ---- lines around a place ---- */

struct lines {
    const char *at, *end;
    int64_t number; /* of the line that begins at `at` */
};

/* The line at hand, without its end; false when there is none left. */
static bool next_line(struct lines *l, struct span *line)
{
    if (l->at == l->end)
        return false;
    const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
    const char *end = stop ? stop : l->end;
    size_t size = (size_t)(end - l->at);
    size -= size && l->at[size - 1] == '\r';
    *line = (struct span){(const uint8_t *)l->at, size};
    l->at = stop ? stop + 1 : l->end;
    l->number++;
    return true;
}

static void put_line(struct report_bytes *out, const char *key, struct span line)
{
    char text[LINE_BYTES + 1];
    size_t n = line.size < LINE_BYTES ? line.size : LINE_BYTES;
    while (n < line.size && n && (line.data[n] & 0xc0) == 0x80)
        n--; /* no half of a letter */
    for (size_t i = 0; i < n; i++)
        text[i] = line.data[i] ? (char)line.data[i] : ' ';
    text[n] = 0;
    api_text(out, key, text);
}

/* False: the file has no such line. */
static bool put_lines(struct report_bytes *out, const struct source_text *text, int64_t wanted,
                      int64_t context)
{
    struct lines l = {(const char *)text->bytes, (const char *)text->bytes + text->size, 1};
    struct span line;
    bool found = false;
    api_open(out, "pre_context", '[');
    while (l.number < wanted && next_line(&l, &line))
        if (l.number > wanted - context)
            put_line(out, NULL, line);
    api_shut(out, ']');
    found = next_line(&l, &line);
    put_line(out, "context_line", found ? line : (struct span){NULL, 0});
    api_open(out, "post_context", '[');
    for (int64_t i = 0; i < context && next_line(&l, &line); i++)
        put_line(out, NULL, line);
    api_shut(out, ']');
    return found;
}

static void reply_lines(struct http_request *r, const char *file, int64_t line, int64_t context,
                        const struct source_text *text)
{
    struct report_bytes out = {0};
    api_open(&out, NULL, '{');
    api_text(&out, "file", file);
    api_int(&out, "line", line);
    bool found = put_lines(&out, text, line, context);
    api_shut(&out, '}');
    if (found && !out.failed) {
        http_reply_bytes(r, 200, "application/json", out.data, out.size);
        return;
    }
    if (out.failed)
        http_reply_error(r, 503, "no memory for the answer");
    else
        http_reply_error(r, 404, "the file that was sent has no line %lld: is it another version?",
                         (long long)line);
    report_bytes_free(&out);
}

static void get_lines(struct http_request *r)
{
    uint8_t id[64];
    size_t id_size;
    int64_t line, context, project;
    struct source_text text;
    struct fw_failure why = {0};
    const char *image = http_query(r, "image"), *file = http_query(r, "file");
    if (!image || !symbol_id_read(image, strlen(image), id, &id_size) || !file) {
        http_reply_error(r, 400,
                         "image=ID (its debug_id, in lower-case digits) and file=PATH say what");
        return;
    }
    if (!http_query_number(r, "line", 1, INT32_MAX, 0, &line) ||
        !http_query_number(r, "context", 0, CONTEXT_MAX, CONTEXT, &context))
        return;
    if (!line) {
        http_reply_error(r, 400, "line=NUMBER says which");
        return;
    }
    if (!api_scope_symbols(r, &project))
        return;
    fw_error error = sources_find(r->collector, project, id, id_size, file, &text, &why);
    if (error == FW_ERR_NOT_FOUND)
        http_reply_error(r, 404,
                         "this file is not among the sources that were sent for the image, or its "
                         "debug file does not name it");
    else if (error == FW_ERR_CORRUPT)
        http_reply_error(r, 500, "%s", why.message);
    else if (error != FW_OK)
        http_reply_failure(r, &why);
    else
        reply_lines(r, file, line, context, &text);
    free(text.bytes);
}

/* ---- /source/v1 ---- */

/* Whether a function at that offset, or one inlined there, is of the file. */
static bool is_there(const struct symbols_image *image, uint64_t offset, const char *file,
                     struct arena *arena)
{
    struct report_name names[V1_NAMES];
    size_t count =
        symbols_names(image, offset, REPORT_FROM_LOAD, REPORT_EXACT, arena, names, V1_NAMES);
    for (size_t i = 0; i < count; i++)
        if (names[i].file && sources_same_path(names[i].file, file))
            return true;
    return false;
}

static bool read_number(const json_t *value, uint64_t *number)
{
    const char *text = json_string_value(value);
    char *end = NULL;
    if (json_is_integer(value)) {
        *number = (uint64_t)json_integer_value(value);
        return json_integer_value(value) >= 0;
    }
    if (!text || text[0] == '-' || !text[0])
        return false;
    *number = strtoull(text, &end, 0);
    return !*end;
}

static bool read_breakpad_id(const char *text, uint8_t id[16])
{
    if (!text || strlen(text) < 32 || strlen(text) > 40 ||
        text[strspn(text, "0123456789abcdefABCDEF")])
        return false;
    for (size_t i = 0; i < 16; i++) {
        const char two[3] = {text[2 * i], text[2 * i + 1], 0};
        id[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return true;
}

static void reply_source(struct http_request *r, const char *file, const struct source_text *text)
{
    struct report_bytes out = {0};
    out_text(&out, "{\"symbolsLastModified\":null,\"sourceLastModified\":null,\"file\":");
    out_json(&out, file);
    out_text(&out, ",\"source\":");
    out_json(&out, (const char *)text->bytes);
    out_text(&out, "}");
    if (!out.failed) {
        http_reply_bytes(r, 200, "application/json", out.data, out.size);
        return;
    }
    http_reply_error(r, 503, "no memory for the answer");
    report_bytes_free(&out);
}

static void find_source(struct http_request *r, const char *file, const uint8_t breakpad[16],
                        uint64_t offset)
{
    struct symbol_id {
        uint8_t bytes[64];
        size_t size;
    } id = {.size = 0};
    struct source_text text = {.size = 0};
    struct fw_failure why = {.code = FW_ERR_NOT_FOUND};
    struct symbols_image *image =
        symbols_take_breakpad(r->collector->symbols, symbols_of(&r->access), breakpad);
    if (image && is_there(image, offset, file, &r->arena)) {
        const struct symmap_identity *of = symmap_identity(symbols_image_map(image));
        id.size = of->id_size;
        memcpy(id.bytes, of->id, sizeof id.bytes);
    }
    symbols_drop(image);
    fw_error error = FW_ERR_NOT_FOUND;
    if (id.size)
        error = sources_find(r->collector, symbols_of(&r->access), id.bytes, id.size, file, &text,
                             &why);
    if (error == FW_ERR_NOT_FOUND)
        http_reply_error(r, 404, "no source of that file at that offset");
    else if (error == FW_ERR_CORRUPT)
        http_reply_error(r, 500, "%s", why.message);
    else if (error != FW_OK)
        http_reply_failure(r, &why);
    else
        reply_source(r, file, &text);
    free(text.bytes);
}

static void post_source(struct http_request *r)
{
    uint8_t id[16];
    uint64_t offset;
    json_t *request = http_json(r);
    if (!request)
        return;
    const char *file = json_string_value(json_object_get(request, "file"));
    if (!file || !read_breakpad_id(json_string_value(json_object_get(request, "debugId")), id) ||
        !read_number(json_object_get(request, "moduleOffset"), &offset))
        http_reply_error(r, 400, "\"debugId\", \"moduleOffset\" and \"file\" say which source");
    else
        find_source(r, file, id, offset);
    json_decref(request);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/symbols/source",
     .needs = ACCESS_SYMBOLS_READ,
     .handle = get_lines},
    {.method = "POST",
     .pattern = "/source/v1",
     .needs = ACCESS_SYMBOLS_READ,
     .flags = HTTP_CROSS,
     .body_limit = V1_BYTES,
     .handle = post_source},
};
const struct http_routes routes_source = {routes, sizeof routes / sizeof *routes};
