/*
 * A request's head as a whole: whether it says in one way only where its body ends, and who sends
 * it.
 *
 * A proxy in front that read the end otherwise would take a part of one request for the next one
 * (RFC 9112 sections 5.1, 6.1 and 6.3), so what can be read in two ways is refused, and the
 * connection closed: libmicrohttpd takes the first Content-Length of several, a coding that it does
 * not know as "until the end", and a name with a space behind it as another name.
 */
#include "collector/http_inner.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { FORWARDED_MAX = 4096 };

struct head {
    unsigned lengths, codings, hosts;
    bool names_fine, chunked;
    char forwarded[FORWARDED_MAX]; /* the end of all lines: the nearest proxies write there */
    size_t forwarded_size;
};

/* RFC 9110 section 5.6.2. */
static bool is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (const char *c = name; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9') &&
            !strchr(others, *c))
            return false;
    return *name;
}

static void add_forwarded(struct head *h, const char *value)
{
    size_t size = strlen(value) + 1;
    if (size >= FORWARDED_MAX) {
        value += size - FORWARDED_MAX + 1;
        size = FORWARDED_MAX - 1;
    }
    if (h->forwarded_size + size >= FORWARDED_MAX) {
        size_t drop = h->forwarded_size + size - FORWARDED_MAX + 1;
        memmove(h->forwarded, h->forwarded + drop, h->forwarded_size - drop);
        h->forwarded_size -= drop;
    }
    h->forwarded[h->forwarded_size] = ',';
    memcpy(h->forwarded + h->forwarded_size + 1, value, size - 1);
    h->forwarded_size += size;
    h->forwarded[h->forwarded_size] = '\0';
}

static enum MHD_Result look(void *context, enum MHD_ValueKind kind, const char *name,
                            const char *value)
{
    struct head *h = context;
    (void)kind;
    value = value ? value : "";
    h->names_fine &= is_token(name);
    if (strcasecmp(name, "Content-Length") == 0) {
        h->lengths++;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        h->codings++;
        h->chunked = strcasecmp(value, "chunked") == 0;
    } else if (strcasecmp(name, "Host") == 0) {
        h->hosts++;
    } else if (strcasecmp(name, "X-Forwarded-For") == 0) {
        add_forwarded(h, value);
    }
    return MHD_YES;
}

static const char *wrong_with(const struct head *h, const char *version)
{
    if (!h->names_fine)
        return "a header's name has a character that names do not have";
    if (h->lengths + h->codings > 1)
        return "a request has one Content-Length or Transfer-Encoding, not several";
    if (h->codings && (!h->chunked || strcmp(version, MHD_HTTP_VERSION_1_1) != 0))
        return "Transfer-Encoding is chunked, in HTTP/1.1, or not there";
    if (h->hosts > 1)
        return "a request has one Host";
    return NULL;
}

bool http_head_check(struct http_private *p, const char *version)
{
    struct head h = {.names_fine = true};
    MHD_get_connection_values(p->connection, MHD_HEADER_KIND, look, &h);
    http_peer_find(p->server->proxies, p->server->proxy_count, p->client->address,
                   h.forwarded_size ? h.forwarded : NULL, p->address);
    p->forwarded = h.forwarded_size > 0;
    const char *wrong = wrong_with(&h, version);
    if (!wrong)
        return true;
    p->close = true;
    http_set_header(&p->request, "Connection", "close");
    http_reply_error(&p->request, MHD_HTTP_BAD_REQUEST, "%s", wrong);
    return false;
}
