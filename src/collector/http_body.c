/*
 * Bodies: gathered as they come, counted against the route's limit and against what all requests
 * together may hold, unpacked before the handler runs.
 */
#include "collector/http_inner.h"

#include <stdlib.h>
#include <string.h>

void http_body_too_large(struct http_private *p)
{
    http_reply_error(&p->request, MHD_HTTP_CONTENT_TOO_LARGE,
                     "the body is larger than this path takes: at most %zu bytes",
                     p->route->body_limit);
}

/* Takes `size` more of what all bodies may have. */
static bool charge(struct http_private *p, size_t size)
{
    size_t before = atomic_fetch_add(&p->server->buffered, size);
    p->charged += size;
    if (before + size <= HTTP_BUFFERED_MAX)
        return true;
    http_set_header(&p->request, "Retry-After", "2");
    http_reply_error(&p->request, MHD_HTTP_SERVICE_UNAVAILABLE,
                     "too many large requests at once; try again in some seconds");
    return false;
}

bool http_body_add(struct http_private *p, const uint8_t *data, size_t size)
{
    if (size > p->route->body_limit - p->body_size) {
        http_body_too_large(p);
        return false;
    }
    if (size > p->body_capacity - p->body_size) {
        size_t capacity = p->body_capacity ? p->body_capacity * 2 : 16384;
        while (capacity - p->body_size < size)
            capacity *= 2;
        if (!charge(p, capacity - p->body_capacity))
            return false;
        uint8_t *moved = realloc(p->body, capacity);
        if (!moved) {
            http_reply_error(&p->request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
            return false;
        }
        p->body = moved;
        p->body_capacity = capacity;
    }
    memcpy(p->body + p->body_size, data, size);
    p->body_size += size;
    return true;
}

static bool unpack(struct http_private *p)
{
    size_t size = 0;
    fw_error error = http_unpack(p->coding, (struct span){p->body, p->body_size},
                                 p->route->body_limit, &p->unpacked, &size);
    free(p->body);
    p->body = NULL;
    switch (error) {
    case FW_OK: break;
    case FW_ERR_FULL: http_body_too_large(p); return false;
    case FW_ERR_MEMORY:
        http_set_header(&p->request, "Retry-After", "2");
        http_reply_error(&p->request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
        return false;
    default:
        http_reply_error(&p->request, MHD_HTTP_BAD_REQUEST, "the body is no whole %s stream",
                         p->coding == HTTP_CODED_GZIP ? "gzip" : "zstd");
        return false;
    }
    p->request.body = (struct span){p->unpacked, size};
    return charge(p, size);
}

bool http_body_finish(struct http_private *p)
{
    if (p->route->flags & HTTP_STREAM)
        return true;
    if (p->coding != HTTP_IDENTITY)
        return unpack(p);
    p->request.body = (struct span){p->body, p->body_size};
    return true;
}

void http_body_drop(struct http_private *p)
{
    if (p->stream_state && !p->handled && p->route->drop)
        p->route->drop(p->stream_state);
    p->stream_state = NULL;
    atomic_fetch_sub(&p->server->buffered, p->charged);
    free(p->body);
    free(p->unpacked);
    free(p->piece);
}

void *http_stream_state(const struct http_request *r)
{
    return r->inner->stream_state;
}
