/*
 * What the FILE and INLINE_ORIGIN records of a Breakpad file number: in any order and with any
 * gaps, so that memory goes by how many records there are, never by how large their numbers are.
 */
#ifndef SYMMAP_BREAKPAD_NUMBERS_H
#define SYMMAP_BREAKPAD_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

struct numbered {
    uint32_t number;
    uint32_t file;    /* of a FILE: our number of it */
    const char *name; /* of an INLINE_ORIGIN */
    size_t place;     /* of the record: of equal numbers the last counts */
};

struct numbers { /* all zero: empty */
    struct numbered *items;
    size_t count, capacity;
};

/* The entry for a record, valid until the next one; NULL when memory ran out. */
struct numbered *numbers_add(struct numbers *list, size_t place, uint32_t number);
/* After the last numbers_add, before the first numbers_find. */
void numbers_sort(struct numbers *list);
/* NULL: no record has this number. */
const struct numbered *numbers_find(const struct numbers *list, uint32_t number);
void numbers_free(struct numbers *list);

#endif
