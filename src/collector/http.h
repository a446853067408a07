/*
 * HTTP for handlers: requests as values, one reply each. Built on libmicrohttpd (http.c); nothing
 * else includes its header.
 *
 * A route says who may call it and how much body it takes, and all of that is checked before the
 * handler runs: 404, 405 (with Allow), 401, 403, 413, 415, 429, 507 never reach a handler. Handlers
 * run on a thread of the server. Each calls exactly one http_reply_*, or http_wait and lets another
 * thread reply later.
 *
 * Every reply carries the security headers (content security policy, nosniff, no-referrer, same
 * origin); errors are {"error": "what and what to do"} for Accept: application/json and below /api,
 * else text.
 */
#ifndef COLLECTOR_HTTP_H
#define COLLECTOR_HTTP_H

#include "base/arena.h"
#include "base/reader.h"
#include "collector/access.h"
#include "framewalk/error.h"

#include <jansson.h>

struct collector;
struct http_server;

struct http_request {
    struct collector *collector;
    const char *method, *path;  /* path unescaped, without the query */
    struct access access;       /* who asks, and what they may */
    struct span body;           /* whole and unpacked; streamed bodies have none here */
    struct arena arena;         /* memory until the reply was sent */
    struct http_private *inner; /* http.c */
};

const char *http_header(const struct http_request *r, const char *name); /* NULL: none */
const char *http_query(const struct http_request *r, const char *name);  /* unescaped; or NULL */
/* The query's parameter number `index`; false past the last. */
bool http_query_each(const struct http_request *r, size_t index, const char **name,
                     const char **value);
const char *http_part(const struct http_request *r, const char *name); /* {name} of the pattern */
/* A number of the query in [low, high], `otherwise` when it is not there. False, and 400 replied,
 * when it is something else. */
bool http_query_number(struct http_request *r, const char *name, int64_t low, int64_t high,
                       int64_t otherwise, int64_t *value);
/* The body as JSON (an object). NULL, and 400 replied, when it is none. Owned by the caller. */
json_t *http_json(struct http_request *r);

void http_reply_json(struct http_request *r, int status, json_t *json); /* takes the reference */
void http_reply_text(struct http_request *r, int status, const char *type, const char *text);
/* `bytes` are malloc'ed and taken over. */
void http_reply_bytes(struct http_request *r, int status, const char *type, void *bytes,
                      size_t size);
/* Sends a file, ranges and HEAD included; the descriptor is taken over. */
void http_reply_file(struct http_request *r, const char *type, int fd);
/* The same for `size` bytes of the file from `offset`: they are all that there is. */
void http_reply_part(struct http_request *r, const char *type, int fd, uint64_t offset,
                     uint64_t size);
/* {"error": ...}; `format` says what is wrong and what to do. */
void http_reply_error(struct http_request *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a failed call of ours means to a client: 404, 409, 503 with Retry-After, 507, 500. Details
 * of 500s go to the log, not to the client. */
void http_reply_failure(struct http_request *r, const struct fw_failure *why);
/* Before the reply. */
void http_set_header(struct http_request *r, const char *name, const char *value);

/* The reply comes later, from any thread, by an http_reply_*. Until then the request stays valid.
 */
void http_wait(struct http_request *r);

enum http_route_flags {
    HTTP_STREAM = 1, /* the body goes piece by piece to `piece` instead of into r->body */
    HTTP_GZIP =
        2, /* Content-Encoding: gzip and zstd are unpacked, `body_limit` counts what comes out */
    HTTP_CROSS =
        4, /* pages of other origins may read it (symbol paths: Access-Control-Allow-Origin: *) */
    HTTP_NO_LIMIT = 8,  /* not counted by the rate limit (healthz, the page's files) */
    HTTP_QUICK = 32,    /* `handle` never blocks: it is called though all threads are busy */
    HTTP_FALLBACK = 16, /* only paths that no other route has, of whatever method */
};

struct http_route {
    const char *method;  /* "GET" answers HEAD as well */
    const char *pattern; /* "/api/v1/groups/{id}"; a last "{rest...}" takes slashes too */
    unsigned needs;      /* enum access_scope; 0: anybody */
    unsigned flags;
    size_t body_limit;
    void (*handle)(struct http_request *r);
    /* HTTP_STREAM: each piece as it comes; false ends the request after it has replied. */
    bool (*piece)(struct http_request *r, void **state, const uint8_t *data, size_t size);
    void (*drop)(void *state); /* of a request that ended before its handler was called */
};

/* Tables of routes, one for each file of handlers; `routes.c` lists them. */
struct http_routes {
    const struct http_route *routes;
    size_t count;
};

fw_error http_start(struct collector *collector, const struct http_routes *tables, size_t count,
                    struct http_server **server, struct fw_failure *why);
unsigned http_port(const struct http_server *server);
/* Takes no more connections, lets requests under way end (up to `seconds`), and frees. */
void http_stop(struct http_server *server, unsigned seconds);
/* The state that `piece` made, for the handler of a streamed body. */
void *http_stream_state(const struct http_request *r);

#endif
