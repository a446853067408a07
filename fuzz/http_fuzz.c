/*
 * What the collector itself reads of a request: the target (and patterns of routes over it),
 * headers, who asks, and packed bodies. The first byte says which.
 */
#include "base/utf8.h"
#include "collector/http_parse.h"
#include "collector/http_peer.h"
#include "collector/http_unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1 << 16 };

static void check(bool fine)
{
    if (!fine)
        abort();
}

/* Where a source's path begins, which is the compiler's: it may have . and .. in it. */
static const char *source_of(const char *path)
{
    size_t id = strncmp(path, "/buildid/", 9) == 0 ? strspn(path + 9, "0123456789abcdef") : 0;
    return id && strncmp(path + 9 + id, "/source/", 8) == 0 ? path + 9 + id + 7
                                                            : path + strlen(path);
}

/* What handlers rely on. */
static void check_path(const char *path)
{
    const char *source = source_of(path);
    check(path[0] == '/');
    for (const char *c = path; *c; c += utf8_length(c)) {
        check(utf8_length(c) != 0);
        check((unsigned char)*c >= 0x20 && *c != 0x7f);
        if (*c == '/' && c < source) {
            size_t size = strcspn(c + 1, "/");
            check(!(size == 1 && c[1] == '.') && !(size == 2 && c[1] == '.' && c[2] == '.'));
        }
    }
}

static void match(const char *pattern, const char *path, struct arena *arena)
{
    struct http_parts parts;
    if (!http_pattern_match(pattern, path, arena, &parts))
        return;
    for (size_t i = 0; i < parts.count; i++)
        check(parts.part[i].name[0] && parts.part[i].value[0]);
}

static void fuzz_target(const char *text)
{
    struct arena arena = {0};
    struct http_target target;
    bool too_long;
    if (!http_target_parse(text, &arena, &target, &too_long)) {
        check(!too_long);
        check_path(target.path);
        check(!target.token || (target.token[0] && !strchr(target.token, '/')));
        for (size_t i = 0; i < target.count; i++)
            check(target.pair[i].name && target.pair[i].value);
        match("/api/v1/projects/{P}/groups/{id}", target.path, &arena);
        match("/buildid/{id}/source/{rest...}", target.path, &arena);
        match("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}", target.path, &arena);
        match("/{rest...}", target.path, &arena);
    }
    arena_free(&arena);
}

static void fuzz_headers(const char *text)
{
    uint64_t first, length, number;
    char cookie[80];
    for (uint64_t size = 0; size < 3000; size += 999) {
        enum http_range range = http_range_parse(text, size, &first, &length);
        check(range == HTTP_UNSATISFIABLE || (first <= size && length <= size - first));
        check(range != HTTP_PARTIAL || length > 0);
    }
    if (http_cookie(text, "framewalk", cookie, sizeof cookie))
        check(strlen(cookie) < sizeof cookie && !strchr(cookie, ';'));
    http_accepts(text, "gzip");
    http_tag_match(text, "\"a\"");
    http_type_is(text, "application/json");
    http_coding_of(text);
    http_number(text, &number);
}

/* Trusted networks, a line each, then what stands in X-Forwarded-For. */
static void fuzz_peer(const char *text)
{
    struct http_network trusted[2];
    char client[HTTP_ADDRESS_SIZE], name[HTTP_ADDRESS_SIZE], network[64];
    size_t count = 0;
    while (count < 2 && strchr(text, '\n')) {
        size_t size = strcspn(text, "\n");
        snprintf(network, sizeof network, "%.*s", (int)(size < 63 ? size : 63), text);
        count += http_network_parse(network, &trusted[count]);
        text += size + 1;
    }
    for (size_t i = 0; i < count; i++)
        check(trusted[i].bits <= 128);
    http_peer_find(trusted, count, "10.1.2.3", text, client);
    check(client[0] && strlen(client) < sizeof client);
    check(count || strcmp(client, "10.1.2.3") == 0);
    http_peer_name(client, name);
    check(name[0] && strlen(name) < sizeof name);
    http_peer_find(trusted, count, text, text, client);
}

static void fuzz_body(enum http_coding coding, struct span packed)
{
    uint8_t *bytes, *again;
    size_t size, packed_size, again_size;
    if (http_unpack(coding, packed, LIMIT, &bytes, &size))
        return;
    check(size <= LIMIT);
    uint8_t *repacked = size ? http_pack((struct span){bytes, size}, &packed_size) : NULL;
    if (repacked) {
        struct span span = {repacked, packed_size};
        check(http_unpack(HTTP_CODED_GZIP, span, LIMIT, &again, &again_size) == FW_OK);
        check(again_size == size && memcmp(again, bytes, size) == 0);
        free(again);
    }
    free(repacked);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0]) {
    case 't': fuzz_target(text); break;
    case 'h': fuzz_headers(text); break;
    case 'f': fuzz_peer(text); break;
    case 'g': fuzz_body(HTTP_CODED_GZIP, (struct span){data + 1, size - 1}); break;
    case 'z': fuzz_body(HTTP_CODED_ZSTD, (struct span){data + 1, size - 1}); break;
    default: break;
    }
    free(text);
    return 0;
}
