/*
 * What this server itself reads of a request's head: target, query, ranges, cookies, lists of
 * codings and tags (RFC 9110, RFC 6265), and patterns of routes.
 *
 * Pure, without libmicrohttpd, so that it can be fuzzed. A path is unescaped once; after that no
 * part of it is "." or "..", nothing in it is a control character or NUL, and it is UTF-8.
 */
#ifndef COLLECTOR_HTTP_PARSE_H
#define COLLECTOR_HTTP_PARSE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_TARGET_MAX = 8192, HTTP_QUERY_MAX = 64, HTTP_PARTS_MAX = 8 };

struct http_pair {
    const char *name, *value;
};

struct http_target {        /* in the arena */
    const char *path;       /* unescaped, begins with a slash, without the query and /s/TOKEN */
    const char *token;      /* of /s/TOKEN/...; NULL: none */
    struct http_pair *pair; /* of the query, unescaped, in order */
    size_t count;
};
/* NULL: fine. Otherwise what is wrong with it, for people; `too_long` says whether it is 414. */
const char *http_target_parse(const char *raw, struct arena *arena, struct http_target *target,
                              bool *too_long);

struct http_parts {
    struct http_pair part[HTTP_PARTS_MAX];
    size_t count;
};
/* Whether `path` is of `pattern`; its {name}s go to `parts`, in the arena. */
bool http_pattern_match(const char *pattern, const char *path, struct arena *arena,
                        struct http_parts *parts);

enum http_range { HTTP_WHOLE, HTTP_PARTIAL, HTTP_UNSATISFIABLE };
/* One range of bytes. Several, other units and what is no range at all mean the whole: RFC 9110
 * section 14.2 lets a server ignore them. */
enum http_range http_range_parse(const char *value, uint64_t size, uint64_t *first,
                                 uint64_t *length);

/* The cookie `name`; false when it is not there or does not fit. */
bool http_cookie(const char *header, const char *name, char *value, size_t size);
/* Whether a list like Accept-Encoding has `coding` with a weight above 0. NULL: no list. */
bool http_accepts(const char *list, const char *coding);
/* If-None-Match: whether one of the list is `tag` (with its quotes), compared weakly. */
bool http_tag_match(const char *list, const char *tag);
/* Whether a media type with its parameters is `type`. */
bool http_type_is(const char *value, const char *type);
/* Decimal digits and nothing else. */
bool http_number(const char *text, uint64_t *value);

#endif
