/* http_parse.h. Every text ends with NUL, and the server's header limit bounds it. */
#include "collector/http_parse.h"

#include "base/hex.h"
#include "base/utf8.h"

#include <string.h>
#include <strings.h>

static bool is_utf8(const char *text)
{
    while (*text) {
        size_t length = utf8_length(text);
        if (!length)
            return false;
        text += length;
    }
    return true;
}

/* Unescapes text[0, size) into the arena, once. NULL: a broken escape, NUL, no UTF-8, or no
 * memory; in a path (not a form) any control character as well. */
static const char *unescape(const char *text, size_t size, bool form, struct arena *arena)
{
    char *out = arena_take(arena, size + 1);
    size_t n = 0;
    for (size_t i = 0; out && i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '%') {
            int high = size - i > 2 ? hex_digit(text[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
            if (low < 0)
                return NULL;
            c = (unsigned char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && form) {
            c = ' ';
        }
        if (c == 0 || (!form && (c < 0x20 || c == 0x7f)))
            return NULL;
        out[n++] = (char)c;
    }
    if (!out)
        return NULL;
    out[n] = '\0';
    return is_utf8(out) ? out : NULL;
}

/* debuginfod's clients ask for a source by the path that the compiler was told, ".." and all: where
 * that begins in "/buildid/ID/source/PATH"; else the end of the path. */
static const char *end_of_own(const char *path)
{
    static const char before[] = "/buildid/", after[] = "/source/";
    const char *end = path + strlen(path);
    if (strncmp(path, before, sizeof before - 1) != 0)
        return end;
    const char *id = path + sizeof before - 1;
    size_t size = strspn(id, "0123456789abcdef");
    return size && strncmp(id + size, after, sizeof after - 1) == 0 ? id + size + sizeof after - 2
                                                                    : end;
}

/* In what stands before `end`. */
static bool has_dots(const char *path, const char *end)
{
    for (const char *part = path; part < end; part += strcspn(part, "/")) {
        part += *part == '/';
        size_t size = strcspn(part, "/");
        if ((size == 1 && part[0] == '.') || (size == 2 && part[0] == '.' && part[1] == '.'))
            return true;
    }
    return false;
}

static const char *parse_query(const char *query, struct arena *arena, struct http_target *target)
{
    size_t most = 1;
    for (const char *c = query; *c; c++)
        most += *c == '&';
    if (most > HTTP_QUERY_MAX)
        return "the query has too many parameters";
    target->pair = arena_take_many(arena, most, sizeof *target->pair);
    if (!target->pair)
        return "out of memory";
    while (*query) {
        size_t size = strcspn(query, "&");
        const char *equals = memchr(query, '=', size);
        size_t name_size = equals ? (size_t)(equals - query) : size;
        size_t value_size = equals ? size - name_size - 1 : 0;
        const char *name = unescape(query, name_size, true, arena);
        const char *value = unescape(equals ? equals + 1 : query, value_size, true, arena);
        if (!name || !value)
            return "the query is not well escaped UTF-8";
        if (size)
            target->pair[target->count++] = (struct http_pair){name, value};
        query += size + (query[size] == '&');
    }
    return NULL;
}

/* "http://host/path", which RFC 9112 section 3.2.2 makes servers take: to its path. */
static const char *origin_form(const char *raw)
{
    if (strncasecmp(raw, "http://", 7) != 0 && strncasecmp(raw, "https://", 8) != 0)
        return raw;
    const char *host = strstr(raw, "//") + 2;
    const char *path = host + strcspn(host, "/?#");
    return *path == '/' ? path : "/";
}

/* /s/TOKEN/rest to rest and the token. */
static void take_token(struct http_target *target, struct arena *arena)
{
    if (strncmp(target->path, "/s/", 3) != 0)
        return;
    const char *token = target->path + 3;
    size_t size = strcspn(token, "/");
    char *copy = size && token[size] == '/' ? arena_take(arena, size + 1) : NULL;
    if (!copy)
        return;
    memcpy(copy, token, size);
    copy[size] = '\0';
    target->token = copy;
    target->path = token + size;
}

const char *http_target_parse(const char *raw, struct arena *arena, struct http_target *target,
                              bool *too_long)
{
    *target = (struct http_target){.path = "/"};
    *too_long = strnlen(raw, HTTP_TARGET_MAX + 1) > HTTP_TARGET_MAX;
    if (*too_long)
        return "the path and query are longer than 8192 bytes";
    raw = origin_form(raw);
    if (raw[0] != '/')
        return "the request's target is no path";
    size_t size = strcspn(raw, "?#");
    const char *path = unescape(raw, size, false, arena);
    if (!path)
        return "the path is not well escaped UTF-8 without control characters";
    target->path = path;
    take_token(target, arena);
    if (has_dots(path, end_of_own(target->path)))
        return "the path has . or .. in it";
    if (raw[size] != '?')
        return NULL;
    size_t query_size = strcspn(raw + size + 1, "#");
    char *query = arena_take(arena, query_size + 1);
    if (!query)
        return "out of memory";
    memcpy(query, raw + size + 1, query_size);
    query[query_size] = '\0';
    return parse_query(query, arena, target);
}

static const char *copy_text(const char *text, size_t size, struct arena *arena)
{
    char *copy = arena_take(arena, size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

/* One part of the pattern, and what of the path it takes. */
static bool match_part(const char *pattern, size_t size, const char *path, size_t path_size,
                       struct arena *arena, struct http_parts *parts)
{
    if (size < 2 || pattern[0] != '{')
        return size == path_size && memcmp(pattern, path, size) == 0;
    if (!path_size || parts->count == HTTP_PARTS_MAX)
        return false;
    const char *end = memchr(pattern, '.', size);
    size_t name_size = (end ? (size_t)(end - pattern) : size - 1) - 1;
    struct http_pair *part = &parts->part[parts->count++];
    part->name = copy_text(pattern + 1, name_size, arena);
    part->value = copy_text(path, path_size, arena);
    return part->name && part->value;
}

bool http_pattern_match(const char *pattern, const char *path, struct arena *arena,
                        struct http_parts *parts)
{
    parts->count = 0;
    /* Most patterns differ before their first {. */
    size_t same = strcspn(pattern, "{");
    if (strncmp(pattern, path, same) != 0)
        return false;
    while (*pattern == '/' && *path == '/') {
        pattern++, path++;
        size_t size = strcspn(pattern, "/"), path_size = strcspn(path, "/");
        bool rest = size > 4 && memcmp(pattern + size - 4, "...}", 4) == 0;
        if (rest)
            path_size = strlen(path);
        if (!match_part(pattern, size, path, path_size, arena, parts))
            return false;
        pattern += size;
        path += path_size;
    }
    return !*pattern && !*path;
}

static size_t digits(const char *text, uint64_t *value, bool *fits)
{
    size_t n = 0;
    *value = 0;
    *fits = true;
    for (; text[n] >= '0' && text[n] <= '9'; n++) {
        uint64_t digit = (uint64_t)(text[n] - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            *fits = false;
        else
            *value = *value * 10 + digit;
    }
    return n;
}

bool http_number(const char *text, uint64_t *value)
{
    bool fits;
    size_t n = digits(text, value, &fits);
    return n && !text[n] && fits;
}

enum http_range http_range_parse(const char *value, uint64_t size, uint64_t *first,
                                 uint64_t *length)
{
    *first = 0;
    *length = size;
    if (!value || strncasecmp(value, "bytes=", 6) != 0)
        return HTTP_WHOLE;
    value += 6;
    uint64_t from, to;
    bool from_fits, to_fits;
    size_t n = digits(value, &from, &from_fits);
    if (value[n] != '-')
        return HTTP_WHOLE;
    size_t m = digits(value + n + 1, &to, &to_fits);
    if (value[n + 1 + m] || (!n && !m) || (n && m && from_fits && to_fits && to < from))
        return HTTP_WHOLE;
    if (!n) { /* the last `to` bytes */
        if (to == 0 || size == 0)
            return HTTP_UNSATISFIABLE;
        *first = !to_fits || to > size ? 0 : size - to;
        *length = size - *first;
        return HTTP_PARTIAL;
    }
    if (!from_fits || from >= size)
        return HTTP_UNSATISFIABLE;
    *first = from;
    *length = (!m || !to_fits || to >= size ? size - 1 : to) - from + 1;
    return HTTP_PARTIAL;
}

bool http_cookie(const char *header, const char *name, char *value, size_t size)
{
    size_t name_size = strlen(name);
    while (header && *header) {
        header += strspn(header, " \t;");
        size_t length = strcspn(header, ";");
        if (length > name_size && memcmp(header, name, name_size) == 0 &&
            header[name_size] == '=') {
            const char *from = header + name_size + 1;
            size_t n = length - name_size - 1;
            while (n && (from[n - 1] == ' ' || from[n - 1] == '\t'))
                n--;
            if (n >= size)
                return false;
            memcpy(value, from, n);
            value[n] = '\0';
            return true;
        }
        header += length;
    }
    return false;
}

/* The next item of a comma-separated list, without the spaces around it. */
static bool next_item(const char **list, const char **item, size_t *size)
{
    *list += strspn(*list, " \t,");
    if (!**list)
        return false;
    *item = *list;
    *size = strcspn(*list, ",");
    *list += *size;
    while (*size && ((*item)[*size - 1] == ' ' || (*item)[*size - 1] == '\t'))
        (*size)--;
    return true;
}

/* "q=0", "q=0.0", "q=0.000" */
static bool refused(const char *item, size_t size)
{
    const char *weight = memchr(item, ';', size);
    if (!weight)
        return false;
    weight++;
    while (weight < item + size && (*weight == ' ' || *weight == '\t'))
        weight++;
    size_t left = (size_t)(item + size - weight);
    if (left < 3 || (weight[0] != 'q' && weight[0] != 'Q') || weight[1] != '=')
        return false;
    return strspn(weight + 2, "0.") >= left - 2;
}

bool http_accepts(const char *list, const char *coding)
{
    const char *item;
    size_t size, coding_size = strlen(coding);
    while (list && next_item(&list, &item, &size)) {
        const char *semicolon = memchr(item, ';', size);
        size_t n = semicolon ? (size_t)(semicolon - item) : size;
        while (n && (item[n - 1] == ' ' || item[n - 1] == '\t'))
            n--;
        if (n == coding_size && strncasecmp(item, coding, n) == 0)
            return !refused(item, size);
    }
    return false;
}

bool http_tag_match(const char *list, const char *tag)
{
    const char *item;
    size_t size, tag_size = strlen(tag);
    while (list && next_item(&list, &item, &size)) {
        if (size == 1 && item[0] == '*')
            return true;
        if (size > 2 && memcmp(item, "W/", 2) == 0)
            item += 2, size -= 2;
        if (size == tag_size && memcmp(item, tag, size) == 0)
            return true;
    }
    return false;
}

bool http_type_is(const char *value, const char *type)
{
    size_t size = strlen(type);
    if (!value || strncasecmp(value, type, size) != 0)
        return false;
    return value[size] == '\0' || value[size] == ';' || value[size] == ' ';
}
