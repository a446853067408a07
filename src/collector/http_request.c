/* What handlers ask of a request: headers, query, parts of the path, JSON; where it came from. */
#include "collector/http_inner.h"
#include "collector/http_session.h"

#include <string.h>
#include <strings.h>

const char *http_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->inner->connection, MHD_HEADER_KIND, name);
}

const char *http_query(const struct http_request *r, const char *name)
{
    const struct http_target *target = &r->inner->target;
    for (size_t i = 0; i < target->count; i++) {
        if (strcmp(target->pair[i].name, name) == 0)
            return target->pair[i].value;
    }
    return NULL;
}

bool http_query_each(const struct http_request *r, size_t index, const char **name,
                     const char **value)
{
    const struct http_target *target = &r->inner->target;
    if (index >= target->count)
        return false;
    *name = target->pair[index].name;
    *value = target->pair[index].value;
    return true;
}

const char *http_part(const struct http_request *r, const char *name)
{
    const struct http_parts *parts = &r->inner->parts;
    for (size_t i = 0; i < parts->count; i++) {
        if (strcmp(parts->part[i].name, name) == 0)
            return parts->part[i].value;
    }
    return NULL;
}

bool http_query_number(struct http_request *r, const char *name, int64_t low, int64_t high,
                       int64_t otherwise, int64_t *value)
{
    const char *text = http_query(r, name);
    *value = otherwise;
    if (!text)
        return true;
    bool negative = *text == '-';
    uint64_t number;
    if (http_number(text + negative, &number) && number <= INT64_MAX) {
        *value = negative ? -(int64_t)number : (int64_t)number;
        if (*value >= low && *value <= high)
            return true;
    }
    http_reply_error(r, MHD_HTTP_BAD_REQUEST, "%s must be a number from %lld to %lld", name,
                     (long long)low, (long long)high);
    return false;
}

json_t *http_json(struct http_request *r)
{
    const char *type = http_header(r, "Content-Type");
    if (type && !http_type_is(type, "application/json")) {
        http_reply_error(r, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                         "the body must be of Content-Type: application/json");
        return NULL;
    }
    json_error_t error;
    json_t *json =
        json_loadb((const char *)r->body.data, r->body.size, JSON_REJECT_DUPLICATES, &error);
    if (json && json_is_object(json))
        return json;
    if (json)
        http_reply_error(r, MHD_HTTP_BAD_REQUEST, "the body must be a JSON object");
    else
        http_reply_error(r, MHD_HTTP_BAD_REQUEST, "the body is no JSON: line %d: %s", error.line,
                         error.text);
    json_decref(json);
    return NULL;
}

const char *http_session_cookie(const struct http_request *r)
{
    return http_has_tls(r) ? "__Host-framewalk" : "framewalk";
}

const char *http_address(const struct http_request *r)
{
    return r->inner->address;
}

/* An Origin is scheme://host[:port]; a proxy in front may speak TLS, so the scheme is not compared.
 */
bool http_same_origin(const struct http_request *r)
{
    const char *site = http_header(r, "Sec-Fetch-Site");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return false;
    const char *origin = http_header(r, "Origin"), *host = http_header(r, "Host");
    if (!origin)
        return true;
    const char *after = strstr(origin, "://");
    return after && host && strcasecmp(after + 3, host) == 0;
}

const char *http_csrf(const struct http_request *r)
{
    return r->inner->who.csrf;
}

bool http_from_this_machine(const struct http_request *r)
{
    const struct http_private *p = r->inner;
    /* Behind a proxy of this machine that is not named as trusted, all seem to come from here. */
    return (!p->forwarded || p->server->proxy_count) && !http_header(r, "Forwarded") &&
           !http_header(r, "Via") &&
           (strncmp(p->address, "127.", 4) == 0 || strcmp(p->address, "::1") == 0);
}

int64_t http_session_expires(const struct http_request *r)
{
    return r->inner->who.expires_ms;
}

/* By itself, or by a proxy in front of it. */
bool http_has_tls(const struct http_request *r)
{
    const char *base = r->collector->options->base_url;
    return r->inner->server->tls || (base && strncasecmp(base, "https://", 8) == 0);
}
