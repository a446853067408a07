/*
 * Names of generated code, out of the map that its compiler wrote (report/perf_map.h): for reports
 * of `framewalk run` and for dumps.
 *
 *     perf_wants_add ... perf_wants_sort -> perf_wants_read -> perf_wants_find
 *
 * A map is anybody's text, of any length, and may grow or be replaced while it is read: lines are
 * taken one by one, a line that is not whole or endless is none, and nothing is believed but that
 * a name is a name. Of lines that cover the same address the last one holds, for compilers use
 * memory again.
 */
#ifndef CLI_PERF_NAMES_H
#define CLI_PERF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_wanted {
    uint64_t address; /* of a byte of the instruction */
    uint64_t start, size;
    char *name; /* as the map has it, owned; NULL: not found */
};

struct perf_wants {
    struct perf_wanted *items;
    size_t count, capacity;
};

/* False when out of memory. */
bool perf_wants_add(struct perf_wants *wants, uint64_t address);
/* By address, each once. To be called between the last addition and the first of the others. */
void perf_wants_sort(struct perf_wants *wants);
/* Takes the names that are wanted from the first `limit` bytes of a map, at most 1 GB. False when
 * out of memory. */
bool perf_wants_read(struct perf_wants *wants, int map, uint64_t limit);
/* NULL when the address is not among those wanted. */
struct perf_wanted *perf_wants_find(const struct perf_wants *wants, uint64_t address);
void perf_wants_free(struct perf_wants *wants);

#endif
