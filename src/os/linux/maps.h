/*
 * The mappings of a process: /proc/PID/maps (proc(5)), or the same knowledge from a core file.
 *
 * Invariant: `list` is sorted, not empty ranges do not overlap, so a lookup is one binary search.
 */
#ifndef OS_LINUX_MAPS_H
#define OS_LINUX_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
    uint64_t lo, hi;  /* runtime addresses [lo, hi) */
    uint64_t offset;  /* in the file, of the byte at `lo` */
    uint64_t device;  /* major << 32 | minor; 0 when anonymous or unknown */
    uint64_t inode;   /* 0 when anonymous or unknown */
    const char *path; /* "" when anonymous, "[vdso]" and the like; without " (deleted)" */
    bool readable, writable, executable, deleted;
    bool guessed; /* nobody told whether it is executable: its file has to say so */
};

struct maps {
    struct mapping *list;
    size_t count, capacity;
    char *text; /* the paths point into it; malloc'ed, may be NULL */
};

/* Parses `text` (ends with NUL, malloc'ed; the maps own it from now on, also on failure). False
 * when out of memory; lines that make no sense are left out. */
bool maps_parse(struct maps *maps, char *text);

/* Adds a mapping in any order; call maps_sort afterwards. `path` must outlive the maps. */
bool maps_add(struct maps *maps, const struct mapping *mapping);
/* Sorts and cuts overlaps: what came first in the address space wins. */
void maps_sort(struct maps *maps);
void maps_free(struct maps *maps);

/* The mapping around `address`, or NULL. */
const struct mapping *maps_find(const struct maps *maps, uint64_t address);
/* The first mapping that ends above `address`, or NULL: the one around it or the next. */
const struct mapping *maps_above(const struct maps *maps, uint64_t address);

#endif
