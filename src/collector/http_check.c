/*
 * What is checked before a handler runs, in this order: the target (400, 414), the path (404), the
 * method (405), who asks (401, 403, 429), the body's coding (415) and size (413), room (507).
 */
#include "collector/clock.h"
#include "collector/http_inner.h"
#include "collector/http_session.h"
#include "collector/metrics.h"
#include "collector/rate_limits.h"
#include "collector/server.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    LOOKS_A_MINUTE = 3000, /* into the database, for secrets that an address sends */
};

static const char scheme[] = "Bearer ";

/* ---- path and method ---- */

static bool method_fits(const struct http_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

static void add_method(char *allow, size_t size, const char *method)
{
    size_t used = strlen(allow);
    if (!strstr(allow, method))
        snprintf(allow + used, size - used, "%s%s", used ? ", " : "", method);
}

/* With a token in the path only the symbol paths are there. */
static bool route_counts(const struct http_private *p, const struct http_route *route)
{
    return !p->target.token || route->needs == ACCESS_SYMBOLS_READ;
}

static void refuse_method(struct http_private *p, const char *allow)
{
    struct http_request *r = &p->request;
    http_set_header(r, "Allow", allow);
    if (strcmp(r->method, "OPTIONS") == 0) {
        if (p->route->flags & HTTP_CROSS) {
            http_set_header(r, "Access-Control-Allow-Methods", allow);
            http_set_header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type");
            http_set_header(r, "Access-Control-Max-Age", "86400");
        }
        http_reply_bytes(r, MHD_HTTP_NO_CONTENT, "text/plain", NULL, 0);
        return;
    }
    http_reply_error(r, MHD_HTTP_METHOD_NOT_ALLOWED, "%.16s is not for this path; it takes %s",
                     r->method, allow);
}

static bool find_route(struct http_private *p)
{
    char allow[64] = "";
    const struct http_route *other = NULL;
    for (size_t t = 0; t < p->server->table_count; t++) {
        const struct http_routes *table = &p->server->tables[t];
        for (size_t i = 0; i < table->count; i++) {
            const struct http_route *route = &table->routes[i];
            if (!route_counts(p, route) || (other && route->flags & HTTP_FALLBACK) ||
                !http_pattern_match(route->pattern, p->target.path, &p->request.arena, &p->parts))
                continue;
            if (method_fits(route, p->request.method)) {
                p->route = route;
                return true;
            }
            other = route;
            add_method(allow, sizeof allow, route->method);
            if (strcmp(route->method, "GET") == 0)
                add_method(allow, sizeof allow, "HEAD");
        }
    }
    p->route = other;
    if (other)
        refuse_method(p, allow);
    else
        http_reply_error(&p->request, MHD_HTTP_NOT_FOUND, "there is nothing at this path");
    return false;
}

/* ---- who asks ---- */

static void take_secret(struct http_private *p)
{
    struct http_request *r = &p->request;
    const char *header = http_header(r, "Authorization");
    char cookie[ACCESS_SECRET_SIZE];
    if (header) {
        bool bearer = strncasecmp(header, scheme, sizeof scheme - 1) == 0;
        p->secret = bearer ? header + sizeof scheme - 1 : "";
    } else if (p->target.token) {
        p->secret = p->target.token;
    } else if (http_cookie(http_header(r, "Cookie"), http_session_cookie(r), cookie,
                           sizeof cookie)) {
        char *copy = arena_take(&r->arena, sizeof cookie);
        if (copy)
            memcpy(copy, cookie, sizeof cookie);
        p->secret = copy;
        p->secret_of_cookie = true;
    }
}

bool http_check_route(struct http_private *p)
{
    struct http_request *r = &p->request;
    if (p->target_wrong) {
        int status = p->target_too_long ? MHD_HTTP_URI_TOO_LONG : MHD_HTTP_BAD_REQUEST;
        http_reply_error(r, status, "%s", p->target_wrong);
        return false;
    }
    if (!find_route(p))
        return false;
    take_secret(p);
    return true;
}

bool http_access_remembered(struct http_private *p)
{
    if (!p->secret)
        return true;
    return access_remembered(p->server->collector->access, p->secret, &p->who) &&
           p->who.access.kind != ACCESS_NOBODY;
}

static bool limit(struct http_private *p, const char *name, unsigned a_minute, unsigned cost)
{
    if (!a_minute)
        return true;
    unsigned wait = rate_limits_take(p->server->collector->limits, name, a_minute,
                                     a_minute / 6 < 50 ? 50 : a_minute / 6, cost, clock_us());
    if (!wait)
        return true;
    char text[16];
    snprintf(text, sizeof text, "%u", wait);
    http_set_header(&p->request, "Retry-After", text);
    metrics_add(p->server->collector->metrics, METRIC_RATE_LIMITED, 1);
    http_reply_error(&p->request, MHD_HTTP_TOO_MANY_REQUESTS,
                     "too many requests; try again in %u s", wait);
    return false;
}

static bool refuse_stranger(struct http_private *p, const char *text)
{
    if (p->secret)
        metrics_add(p->server->collector->metrics, METRIC_LOGINS_REFUSED, 1);
    http_set_header(&p->request, "WWW-Authenticate", "Bearer realm=\"framewalk\"");
    http_reply_error(&p->request, MHD_HTTP_UNAUTHORIZED, "%s", text);
    return false;
}

static bool changes(const struct http_private *p)
{
    const char *method = p->request.method;
    return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
}

/* A page of another origin can make a browser send the session's cookie, but cannot read the CSRF
 * token, and the browser tells on it. */
static bool check_origin(struct http_private *p)
{
    struct http_request *r = &p->request;
    if (!changes(p) || p->who.access.kind != ACCESS_SESSION)
        return true;
    const char *token = http_header(r, "X-CSRF-Token");
    if (token && http_same_origin(r) && access_same_text(token, p->who.csrf))
        return true;
    http_reply_error(r, MHD_HTTP_FORBIDDEN,
                     "with a session, a change needs the header X-CSRF-Token and the same origin");
    return false;
}

/* Ends with p->who, or a reply. */
static bool find_who(struct http_private *p)
{
    struct fw_failure why = {0};
    char name[64], address[HTTP_ADDRESS_SIZE];
    if (!p->secret)
        return true;
    http_peer_name(p->address, address);
    snprintf(name, sizeof name, "look %s", address);
    if (!http_access_remembered(p) && !limit(p, name, LOOKS_A_MINUTE, 1))
        return false;
    fw_error error = access_find(p->server->collector->access, p->secret, &p->who, &why);
    if (error == FW_ERR_NOT_FOUND)
        p->who = (struct access_entry){.access.kind = ACCESS_NOBODY};
    else if (error)
        http_reply_failure(&p->request, &why);
    /* A session's cookie is no bearer token, and the other way round. */
    if (p->secret_of_cookie != (p->who.access.kind == ACCESS_SESSION))
        p->who = (struct access_entry){.access.kind = ACCESS_NOBODY};
    return !p->replied;
}

/* A stale cookie must not keep anybody from signing in. */
static bool needs_nothing(const struct http_private *p)
{
    const struct collector_options *options = p->server->collector->options;
    return !p->route->needs ||
           (p->route->needs == ACCESS_SYMBOLS_READ && options->open_symbols && !p->secret);
}

bool http_check_access(struct http_private *p)
{
    struct http_request *r = &p->request;
    unsigned a_minute = p->server->collector->options->requests_a_minute;
    if (!find_who(p))
        return false;
    r->access = p->who.access;
    bool known = r->access.kind != ACCESS_NOBODY;
    if (!(p->route->flags & HTTP_NO_LIMIT)) {
        char name[HTTP_ADDRESS_SIZE];
        http_peer_name(p->address, name);
        if (known)
            snprintf(name, sizeof name, "key %lld", (long long)r->access.id);
        if (!limit(p, name, a_minute, 1))
            return false;
    }
    if (!known && !needs_nothing(p))
        return refuse_stranger(p, p->secret ? "this key, token or session is not known here, or "
                                              "it has expired or was revoked"
                                            : "this path needs a token: Authorization: Bearer "
                                              "TOKEN");
    if (known && (r->access.scopes & p->route->needs) != p->route->needs) {
        http_reply_error(
            r, MHD_HTTP_FORBIDDEN, "this needs the scope %s",
            access_scope_name((unsigned)__builtin_ctz(p->route->needs & ~r->access.scopes)));
        return false;
    }
    return check_origin(p);
}

/* ---- the body ---- */

bool http_check_size(struct http_private *p)
{
    struct http_request *r = &p->request;
    p->coding = http_coding_of(http_header(r, "Content-Encoding"));
    bool packed = p->route->flags & HTTP_GZIP && !(p->route->flags & HTTP_STREAM);
    if (p->coding == HTTP_CODED_UNKNOWN || (p->coding != HTTP_IDENTITY && !packed)) {
        http_set_header(r, "Accept-Encoding", packed ? "gzip, zstd" : "identity");
        http_reply_error(r, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                         "this path takes no such Content-Encoding; it takes %s",
                         packed ? "gzip, zstd, or none" : "none");
        return false;
    }
    const char *text = http_header(r, "Content-Length");
    uint64_t length;
    if (text && (!http_number(text, &length) || length > p->route->body_limit)) {
        http_body_too_large(p);
        return false;
    }
    bool stores = p->route->needs & (ACCESS_REPORTS_WRITE | ACCESS_SYMBOLS_WRITE);
    if (stores && changes(p) && strcmp(r->method, "DELETE") != 0 &&
        server_disk_free(p->server->collector) < p->server->collector->options->disk_reserve) {
        http_set_header(r, "Retry-After", "300");
        http_reply_error(r, MHD_HTTP_INSUFFICIENT_STORAGE,
                         "the server's disk is full but for its reserve; an administrator must "
                         "make room");
        return false;
    }
    return true;
}
