/* See perf_names.h. */
#include "cli/perf_names.h"

#include "base/array.h"
#include "report/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_MOST = 1000,
    PIECE = 64 * 1024, /* bytes read at once; no line is longer */
    MOST = 1 << 30,    /* bytes of a map */
};

bool perf_wants_add(struct perf_wants *wants, uint64_t address)
{
    if (!array_room(&wants->items, &wants->capacity, wants->count, sizeof *wants->items))
        return false;
    wants->items[wants->count++] = (struct perf_wanted){.address = address};
    return true;
}

static int by_address(const void *a, const void *b)
{
    uint64_t left = ((const struct perf_wanted *)a)->address,
             right = ((const struct perf_wanted *)b)->address;
    return left < right ? -1 : left > right;
}

void perf_wants_sort(struct perf_wants *wants)
{
    if (wants->count == 0)
        return;
    qsort(wants->items, wants->count, sizeof *wants->items, by_address);
    size_t kept = 1;
    for (size_t i = 1; i < wants->count; i++)
        if (wants->items[i].address != wants->items[kept - 1].address)
            wants->items[kept++] = wants->items[i];
    wants->count = kept;
}

/* The first that is not below `address`. */
static size_t lower_bound(const struct perf_wants *wants, uint64_t address)
{
    size_t low = 0, high = wants->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wants->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct perf_wanted *perf_wants_find(const struct perf_wants *wants, uint64_t address)
{
    size_t at = lower_bound(wants, address);
    return at < wants->count && wants->items[at].address == address ? &wants->items[at] : NULL;
}

static bool take_line(struct perf_wants *wants, char *text)
{
    struct perf_line line;
    if (!perf_map_line(text, &line))
        return true;
    for (size_t i = lower_bound(wants, line.start);
         i < wants->count && wants->items[i].address - line.start < line.size; i++) {
        struct perf_wanted *wanted = &wants->items[i];
        free(wanted->name);
        wanted->name = strndup(line.name, NAME_MOST);
        wanted->start = line.start;
        wanted->size = line.size;
        if (!wanted->name)
            return false;
    }
    return true;
}

/* Takes the whole lines of `text`, whose first is the rest of an endless one when `skip`. Returns
 * how many bytes they were. */
static size_t take_lines(struct perf_wants *wants, char *text, size_t size, bool skip, bool *ok)
{
    size_t at = 0;
    for (char *end; *ok && (end = memchr(text + at, '\n', size - at)) != NULL; skip = false) {
        *end = '\0';
        if (!skip)
            *ok = take_line(wants, text + at);
        at = (size_t)(end - text) + 1;
    }
    return at;
}

bool perf_wants_read(struct perf_wants *wants, int map, uint64_t limit)
{
    char *text = malloc(PIECE);
    size_t size = 0;
    limit = limit < MOST ? limit : MOST;
    bool ok = text != NULL, skip = false;
    for (uint64_t at = 0; ok && at < limit;) {
        uint64_t room = PIECE - size, left = limit - at;
        ssize_t got = pread(map, text + size, left < room ? left : room, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        at += (uint64_t)got;
        size += (size_t)got;
        size_t taken = take_lines(wants, text, size, skip, &ok);
        skip = skip && taken == 0;
        memmove(text, text + taken, size - taken);
        size -= taken;
        if (size == PIECE) {
            skip = true;
            size = 0;
        }
    }
    free(text);
    return ok;
}

void perf_wants_free(struct perf_wants *wants)
{
    for (size_t i = 0; i < wants->count; i++)
        free(wants->items[i].name);
    free(wants->items);
    *wants = (struct perf_wants){0};
}
