#include "collector/http_peer.h"

#include "collector/http_parse.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { HOPS_MAX = 32, V4_BITS = 96 /* of ::ffff:0:0/96 */ };

static const uint8_t v4_front[12] = {[10] = 0xff, [11] = 0xff};

static bool read_address(const char *text, uint8_t bytes[16])
{
    memcpy(bytes, v4_front, sizeof v4_front);
    return inet_pton(AF_INET, text, bytes + sizeof v4_front) == 1 ||
           inet_pton(AF_INET6, text, bytes) == 1;
}

static bool is_v4(const uint8_t bytes[16])
{
    return memcmp(bytes, v4_front, sizeof v4_front) == 0;
}

static void write_address(const uint8_t bytes[16], char text[HTTP_ADDRESS_SIZE])
{
    if (is_v4(bytes))
        inet_ntop(AF_INET, bytes + sizeof v4_front, text, HTTP_ADDRESS_SIZE);
    else
        inet_ntop(AF_INET6, bytes, text, HTTP_ADDRESS_SIZE);
}

bool http_network_parse(const char *text, struct http_network *network)
{
    char address[HTTP_ADDRESS_SIZE];
    size_t size = strcspn(text, "/");
    uint64_t bits;
    if (size >= sizeof address)
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    if (!read_address(address, network->bytes))
        return false;
    unsigned before = is_v4(network->bytes) && !strchr(address, ':') ? V4_BITS : 0;
    network->bits = 128;
    if (!text[size])
        return true;
    if (!http_number(text + size + 1, &bits) || bits > 128 - before)
        return false;
    network->bits = before + (unsigned)bits;
    return true;
}

static bool is_of(const struct http_network *network, const uint8_t bytes[16])
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    uint8_t mask = (uint8_t)(0xff00u >> rest);
    return memcmp(network->bytes, bytes, whole) == 0 &&
           (!rest || ((network->bytes[whole] ^ bytes[whole]) & mask) == 0);
}

static bool is_trusted(const struct http_network *trusted, size_t count, const uint8_t bytes[16])
{
    for (size_t i = 0; i < count; i++)
        if (is_of(&trusted[i], bytes))
            return true;
    return false;
}

bool http_peer_is_trusted(const struct http_network *trusted, size_t count, const char *peer)
{
    uint8_t bytes[16];
    return read_address(peer, bytes) && is_trusted(trusted, count, bytes);
}

/* "1.2.3.4", "1.2.3.4:80", "fe80::1", "[fe80::1]:80"; what else stands in such a list is none. */
static bool read_item(const char *item, size_t size, uint8_t bytes[16])
{
    char text[HTTP_ADDRESS_SIZE];
    while (size && (item[size - 1] == ' ' || item[size - 1] == '\t'))
        size--;
    while (size && (*item == ' ' || *item == '\t'))
        item++, size--;
    if (!size || size >= sizeof text)
        return false;
    memcpy(text, item, size);
    text[size] = '\0';
    char *colon = strchr(text, ':'), *close = strchr(text, ']');
    if (text[0] == '[' && close) {
        *close = '\0';
        return read_address(text + 1, bytes);
    }
    if (colon && !strchr(colon + 1, ':')) /* IPv6 has two at least */
        *colon = '\0';
    return read_address(text, bytes);
}

void http_peer_find(const struct http_network *trusted, size_t count, const char *peer,
                    const char *forwarded, char client[HTTP_ADDRESS_SIZE])
{
    uint8_t at[16], next[16];
    size_t left = forwarded ? strlen(forwarded) : 0;
    snprintf(client, HTTP_ADDRESS_SIZE, "%s", peer);
    if (!read_address(peer, at))
        return;
    for (unsigned hop = 0; hop < HOPS_MAX && left && is_trusted(trusted, count, at); hop++) {
        size_t from = left;
        while (from && forwarded[from - 1] != ',')
            from--;
        if (!read_item(forwarded + from, left - from, next))
            break;
        memcpy(at, next, sizeof at);
        left = from ? from - 1 : 0;
    }
    write_address(at, client);
}

void http_peer_name(const char *address, char name[HTTP_ADDRESS_SIZE])
{
    uint8_t bytes[16];
    snprintf(name, HTTP_ADDRESS_SIZE, "%s", address);
    if (!read_address(address, bytes))
        return;
    if (!is_v4(bytes))
        memset(bytes + 8, 0, 8);
    write_address(bytes, name);
}
