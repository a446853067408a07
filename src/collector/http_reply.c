/*
 * Replies: their bodies, the headers that all carry, and what a failed call means to a client.
 *
 * Styles, scripts and pictures come from this server alone, and no other page may frame, open or
 * embed what it answers; symbol paths (HTTP_CROSS) are there for other origins to read.
 */
#include "collector/http_inner.h"
#include "collector/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACK_FROM = 1400 }; /* bytes: below, a reply is one packet anyway */

static const char policy[] =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "img-src 'self' data: blob:; object-src 'none'; worker-src 'self'";

/* In the arena, since handlers and other threads add them before the response is there. */
void http_set_header(struct http_request *r, const char *name, const char *value)
{
    struct http_private *p = r->inner;
    size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
    char *copy = p->header_count < HTTP_HEADERS_MAX && !strpbrk(value, "\r\n")
                     ? arena_take(&r->arena, name_size + value_size)
                     : NULL;
    if (!copy)
        return;
    memcpy(copy, name, name_size);
    memcpy(copy + name_size, value, value_size);
    p->headers[p->header_count].name = copy;
    p->headers[p->header_count++].value = copy + name_size;
}

static void reply(struct http_private *p, unsigned status, struct MHD_Response *response,
                  const char *type, uint64_t size)
{
    if (response) {
        bool cross = p->route && p->route->flags & HTTP_CROSS;
        if (type)
            MHD_add_response_header(response, "Content-Type", type);
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
        MHD_add_response_header(response, "Content-Security-Policy", policy);
        MHD_add_response_header(response, "X-Frame-Options", "DENY");
        MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
        MHD_add_response_header(response, "Cross-Origin-Resource-Policy",
                                cross ? "cross-origin" : "same-origin");
        if (cross)
            MHD_add_response_header(response, "Access-Control-Allow-Origin", "*");
        if (p->server->tls)
            MHD_add_response_header(response, "Strict-Transport-Security", "max-age=31536000");
        bool says = false;
        for (size_t i = 0; i < p->header_count; i++)
            says |= strcasecmp(p->headers[i].name, "Cache-Control") == 0;
        if (!says)
            MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    http_reply_response(p, status, response, size);
}

static bool worth_packing(const struct http_private *p, const char *type, size_t size)
{
    if (size < PACK_FROM ||
        (strncmp(type, "text/", 5) != 0 && !http_type_is(type, "application/json")))
        return false;
    for (size_t i = 0; i < p->header_count; i++) {
        if (strcasecmp(p->headers[i].name, "Content-Encoding") == 0)
            return false;
    }
    return true;
}

void http_reply_bytes(struct http_request *r, int status, const char *type, void *bytes,
                      size_t size)
{
    struct http_private *p = r->inner;
    if (worth_packing(p, type, size)) {
        http_set_header(r, "Vary", "Accept-Encoding");
        size_t packed_size = 0;
        uint8_t *packed = http_accepts(http_header(r, "Accept-Encoding"), "gzip")
                              ? http_pack((struct span){bytes, size}, &packed_size)
                              : NULL;
        if (packed) {
            free(bytes);
            http_set_header(r, "Content-Encoding", "gzip");
            bytes = packed;
            size = packed_size;
        }
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(bytes);
    reply(p, (unsigned)status, response, type, size);
}

void http_reply_json(struct http_request *r, int status, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (text)
        http_reply_bytes(r, status, "application/json", text, strlen(text));
    else
        http_reply_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
}

void http_reply_text(struct http_request *r, int status, const char *type, const char *text)
{
    char *copy = strdup(text);
    if (copy)
        http_reply_bytes(r, status, type, copy, strlen(copy));
    else
        http_reply_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
}

/* `size` bytes of the file from `offset`, or the range of them that is asked for. */
static void reply_part(struct http_request *r, const char *type, int fd, uint64_t offset,
                       uint64_t size)
{
    uint64_t first, length;
    enum http_range range = http_range_parse(http_header(r, "Range"), size, &first, &length);
    char text[96];
    http_set_header(r, "Accept-Ranges", "bytes");
    if (range == HTTP_UNSATISFIABLE) {
        close(fd);
        snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)size);
        http_set_header(r, "Content-Range", text);
        http_reply_error(r, MHD_HTTP_RANGE_NOT_SATISFIABLE, "the file has %llu bytes",
                         (unsigned long long)size);
        return;
    }
    if (range == HTTP_PARTIAL) {
        snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)first,
                 (unsigned long long)(first + length - 1), (unsigned long long)size);
        http_set_header(r, "Content-Range", text);
    }
    struct MHD_Response *response =
        MHD_create_response_from_fd_at_offset64(length, fd, offset + first);
    if (!response)
        close(fd);
    reply(r->inner, range == HTTP_PARTIAL ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response, type,
          length);
}

/* False, and 500 replied, when it is no file or ends before `end`. */
static bool is_file(struct http_request *r, int fd, uint64_t end, uint64_t *size)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size >= end) {
        *size = (uint64_t)status.st_size;
        return true;
    }
    close(fd);
    log_line("%s %s: cannot send the file", r->method, r->path);
    http_reply_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "the file cannot be read");
    return false;
}

void http_reply_file(struct http_request *r, const char *type, int fd)
{
    uint64_t size;
    if (is_file(r, fd, 0, &size))
        reply_part(r, type, fd, 0, size);
}

void http_reply_part(struct http_request *r, const char *type, int fd, uint64_t offset,
                     uint64_t size)
{
    uint64_t all;
    if (is_file(r, fd, offset + size, &all))
        reply_part(r, type, fd, offset, size);
}

static void reply_error_text(struct http_request *r, int status, const char *text)
{
    const char *accept = http_header(r, "Accept");
    bool json = strncmp(r->path, "/api/", 5) == 0 || http_accepts(accept, "application/json");
    if (json && !http_accepts(accept, "text/plain")) {
        json_t *object = json_pack("{s:s}", "error", text);
        char *bytes = object ? json_dumps(object, JSON_COMPACT) : NULL;
        json_decref(object);
        if (bytes) {
            http_reply_bytes(r, status, "application/json", bytes, strlen(bytes));
            return;
        }
    }
    char *line = NULL;
    int size = asprintf(&line, "%s\n", text);
    http_reply_bytes(r, status, "text/plain; charset=utf-8", size < 0 ? NULL : line,
                     size < 0 ? 0 : (size_t)size);
}

void http_reply_error(struct http_request *r, int status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reply_error_text(r, status, text);
}

void http_reply_failure(struct http_request *r, const struct fw_failure *why)
{
    switch (why->code) {
    case FW_ERR_NOT_FOUND: http_reply_error(r, MHD_HTTP_NOT_FOUND, "%s", why->message); return;
    case FW_ERR_ARGUMENT:
    case FW_ERR_FORMAT:
    case FW_ERR_CORRUPT:
    case FW_ERR_TRUNCATED:
    case FW_ERR_UNSUPPORTED: http_reply_error(r, MHD_HTTP_BAD_REQUEST, "%s", why->message); return;
    case FW_ERR_FULL:
        log_line("%s %s: %s", r->method, r->path, why->message);
        http_set_header(r, "Retry-After", "60");
        http_reply_error(r, MHD_HTTP_INSUFFICIENT_STORAGE,
                         "there is no room for more; an administrator must make some");
        return;
    case FW_ERR_TIMEOUT:
    case FW_ERR_VANISHED:
    case FW_ERR_PERMISSION:
    case FW_ERR_MEMORY:
        log_line("%s %s: %s", r->method, r->path, why->message);
        http_set_header(r, "Retry-After", "5");
        http_reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
                         "the server cannot do this right now; try again in some seconds");
        return;
    default:
        log_line("%s %s: %s", r->method, r->path, why->message);
        http_reply_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR,
                         "something failed in the server; its log says what");
    }
}
