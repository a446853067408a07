/* What a map says, in words, for tests that compare maps: every stretch of addresses with its
 * frames, equal neighbours merged, and what has neither a name nor a file left out. */
#ifndef TESTS_SYMMAP_ROWS_H
#define TESTS_SYMMAP_ROWS_H

#include "symmap/symmap.h"

struct rows_entry {
    uint64_t lo, hi; /* link-time */
    char *text;      /* frames, innermost first: "name|path:line;" */
};
struct rows_list {
    struct rows_entry *items;
    size_t count, capacity;
    uint64_t base;
};

void rows_of(const struct symmap *map, struct rows_list *list);
void rows_free(struct rows_list *list);
/* Fails the test, with the first few differences, unless both are equal. */
void assert_same_rows(const struct rows_list *a, const struct rows_list *b);

/* The map of a file, with the debug file that belongs to it; NULL when it cannot be had. */
struct symmap *map_of_file(const char *path, uint8_t **bytes);

#endif
