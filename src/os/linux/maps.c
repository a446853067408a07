#include "os/linux/maps.h"

#include <stdlib.h>
#include <string.h>

/* A hexadecimal (or decimal) number; false when there is none or it does not fit. */
static bool take_number(const char **text, unsigned base, uint64_t *value)
{
    const char *p = *text;
    uint64_t v = 0;
    for (;; p++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                                                  : 16;
        if (digit >= base)
            break;
        if (v > (UINT64_MAX - digit) / base)
            return false;
        v = v * base + digit;
    }
    if (p == *text)
        return false;
    *text = p;
    *value = v;
    return true;
}

static bool take_char(const char **text, char c)
{
    if (**text != c)
        return false;
    ++*text;
    return true;
}

/* Undoes the kernel's "\012" for a newline in a path, in place, and cuts " (deleted)" off. */
static bool tidy_path(char *path)
{
    static const char mark[] = " (deleted)";
    char *to = path;
    for (const char *from = path; *from;) {
        if (!strncmp(from, "\\012", 4)) {
            *to++ = '\n';
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
    size_t length = (size_t)(to - path), tail = sizeof mark - 1;
    if (length <= tail || strcmp(to - tail, mark))
        return false;
    to[-(ptrdiff_t)tail] = 0;
    return true;
}

/* lo-hi rwxp offset major:minor inode   path */
static bool parse_line(char *line, struct mapping *mapping)
{
    const char *p = line;
    uint64_t major, minor;
    mapping->guessed = false;
    if (!take_number(&p, 16, &mapping->lo) || !take_char(&p, '-') ||
        !take_number(&p, 16, &mapping->hi) || !take_char(&p, ' ') || strnlen(p, 5) < 5)
        return false;
    mapping->readable = p[0] == 'r';
    mapping->writable = p[1] == 'w';
    mapping->executable = p[2] == 'x';
    p += 4;
    if (!take_char(&p, ' ') || !take_number(&p, 16, &mapping->offset) || !take_char(&p, ' ') ||
        !take_number(&p, 16, &major) || !take_char(&p, ':') || !take_number(&p, 16, &minor) ||
        !take_char(&p, ' ') || !take_number(&p, 10, &mapping->inode))
        return false;
    mapping->device = major << 32 | minor;
    while (*p == ' ')
        p++;
    char *path = line + (p - line);
    mapping->deleted = tidy_path(path);
    mapping->path = path;
    return mapping->lo < mapping->hi;
}

bool maps_add(struct maps *maps, const struct mapping *mapping)
{
    if (maps->count == maps->capacity) {
        size_t capacity = maps->capacity ? maps->capacity * 2 : 256;
        struct mapping *grown = realloc(maps->list, capacity * sizeof *grown);
        if (!grown)
            return false;
        maps->list = grown;
        maps->capacity = capacity;
    }
    maps->list[maps->count++] = *mapping;
    return true;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct mapping *)a)->lo, y = ((const struct mapping *)b)->lo;
    return x < y ? -1 : x > y;
}

void maps_sort(struct maps *maps)
{
    if (!maps->count)
        return;
    for (size_t i = 1; i < maps->count; i++)
        if (maps->list[i - 1].lo > maps->list[i].lo) {
            qsort(maps->list, maps->count, sizeof *maps->list, by_address);
            break;
        }
    size_t kept = 1;
    for (size_t i = 1; i < maps->count; i++) {
        struct mapping m = maps->list[i];
        uint64_t end = maps->list[kept - 1].hi;
        if (m.hi <= end)
            continue;
        if (m.lo < end) {
            m.offset += end - m.lo;
            m.lo = end;
        }
        maps->list[kept++] = m;
    }
    maps->count = kept;
}

bool maps_parse(struct maps *maps, char *text)
{
    *maps = (struct maps){.text = text};
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        struct mapping mapping;
        if (parse_line(line, &mapping) && !maps_add(maps, &mapping)) {
            maps_free(maps);
            return false;
        }
        line = end ? end + 1 : line + strlen(line);
    }
    maps_sort(maps);
    return true;
}

void maps_free(struct maps *maps)
{
    free(maps->list);
    free(maps->text);
    *maps = (struct maps){0};
}

const struct mapping *maps_above(const struct maps *maps, uint64_t address)
{
    size_t lo = 0, hi = maps->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (maps->list[middle].hi <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < maps->count ? &maps->list[lo] : NULL;
}

const struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
    const struct mapping *mapping = maps_above(maps, address);
    return mapping && mapping->lo <= address ? mapping : NULL;
}
