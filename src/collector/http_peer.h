/*
 * Where a request comes from: the connection's other end, or, behind proxies that are trusted, who
 * they say it is (X-Forwarded-For). And under which name an address is counted by the rate limits.
 *
 * Invariant: what a client itself writes into X-Forwarded-For is never believed, for the list is
 * read from its end, where the trusted proxies add, and no further than to the first address that
 * is none of theirs. Pure, without libmicrohttpd, so that it can be fuzzed.
 */
#ifndef COLLECTOR_HTTP_PEER_H
#define COLLECTOR_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_ADDRESS_SIZE = 48 }; /* without port, terminated */

struct http_network {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned bits;     /* of `bytes` that count */
};

/* "10.0.0.1", "10.0.0.0/8", "fd00::/8"; false: none of these. */
bool http_network_parse(const char *text, struct http_network *network);

/* `peer`: the connection's other end. `forwarded`: the lines X-Forwarded-For one behind the other,
 * divided by commas; NULL: none. */
void http_peer_find(const struct http_network *trusted, size_t count, const char *peer,
                    const char *forwarded, char client[HTTP_ADDRESS_SIZE]);

/* Whether the connection's other end is one of them. */
bool http_peer_is_trusted(const struct http_network *trusted, size_t count, const char *peer);

/* An IPv6 client has a network of 64 bits to itself and may come from any address in it, so that is
 * its name; an IPv4 address is its own. */
void http_peer_name(const char *address, char name[HTTP_ADDRESS_SIZE]);

#endif
