/*
 * The page's files, from memory. Paths that are neither a file nor of the API are the page's own
 * routes: they give index.html, and the page looks at the address itself.
 *
 * Files other than index.html have their content's hash in their names (the build sees to it), so
 * browsers may keep them.
 */
#include "collector/page.h"

#include "collector/http.h"
#include "collector/http_parse.h"
#include "collector/http_unpack.h"

#include <stdlib.h>
#include <string.h>

/* Below these nothing is the page's. */
static const char *const others[] = {"/api/",         "/buildid/", "/symbols/",
                                     "/symbolicate/", "/source/",  "/s/"};

static const struct page_file *find(const char *path)
{
    for (size_t i = 0; i < page_file_count; i++) {
        if (strcmp(page_files[i].path, path) == 0)
            return &page_files[i];
    }
    return NULL;
}

static bool is_route(const char *path)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strncmp(path, others[i], strlen(others[i])) == 0)
            return false;
    }
    return strchr(path, '.') == NULL;
}

static void send_file(struct http_request *r, const struct page_file *file)
{
    bool kept = strncmp(file->path, "/assets/", 8) == 0;
    http_set_header(r, "ETag", file->etag);
    http_set_header(r, "Cache-Control", kept ? "public, max-age=31536000, immutable" : "no-cache");
    if (http_tag_match(http_header(r, "If-None-Match"), file->etag)) {
        http_reply_bytes(r, 304, file->type, NULL, 0);
        return;
    }
    uint8_t *bytes;
    size_t size = file->size;
    if (file->gzip) {
        http_set_header(r, "Vary", "Accept-Encoding");
        if (!http_accepts(http_header(r, "Accept-Encoding"), "gzip")) {
            struct span packed = {file->data, file->size};
            if (http_unpack(HTTP_CODED_GZIP, packed, (size_t)64 << 20, &bytes, &size))
                http_reply_error(r, 500, "the page's file cannot be unpacked");
            else
                http_reply_bytes(r, 200, file->type, bytes, size);
            return;
        }
        http_set_header(r, "Content-Encoding", "gzip");
    }
    bytes = malloc(size ? size : 1);
    if (!bytes) {
        http_reply_error(r, 503, "out of memory");
        return;
    }
    memcpy(bytes, file->data, size);
    http_reply_bytes(r, 200, file->type, bytes, size);
}

static void get_page(struct http_request *r)
{
    const struct page_file *file = find(r->path);
    if (!file && is_route(r->path))
        file = find("/index.html");
    if (file)
        send_file(r, file);
    else
        http_reply_error(r, 404, "there is nothing at this path");
}

static const struct http_route routes[] = {
    {.method = "GET", .pattern = "/", .flags = HTTP_NO_LIMIT, .handle = get_page},
    {.method = "GET",
     .pattern = "/{rest...}",
     .flags = HTTP_NO_LIMIT | HTTP_FALLBACK,
     .handle = get_page},
};
const struct http_routes routes_page = {routes, sizeof routes / sizeof *routes};
