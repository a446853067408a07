/*
 * Sets that several threads fill at once: strings, and keys of two numbers.
 *
 * Each distinct item gets an id, in no particular order: ids depend on who came first and must not
 * reach the file. What is stable is what an item keeps of all who named it: the smallest place and
 * the number of uses. Room is made beforehand for as many items as can come; nothing grows, so
 * there is no lock.
 */
#ifndef SYMMAP_INTERN_H
#define SYMMAP_INTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INTERN_NONE = UINT32_MAX };

struct intern_slots {
    _Atomic uint64_t *slot; /* upper half of the hash, id + 1; 0: free */
    size_t mask;
    uint64_t seed;          /* so that nobody can prepare names that collide */
    _Atomic uint32_t count; /* ids given out; some may be unused after a race */
    size_t capacity;
};

struct intern_string {
    const char *text;
    uint32_t length;
    uint32_t offset; /* in the file; for the user, begins as 0 */
};

struct intern_strings {
    struct intern_slots slots;
    struct intern_string *items;
};

struct intern_key {
    uint64_t a;
    uint32_t b;
    _Atomic uint32_t uses;
    _Atomic uint32_t first; /* smallest place */
    uint32_t number;        /* for the user, begins as 0 */
};

struct intern_keys {
    struct intern_slots slots;
    struct intern_key *items;
};

/* Uses of a key that a thread has counted for itself and not yet told the set: keys that all units
 * name would otherwise travel from processor to processor at each use. */
struct intern_recent {
    uint64_t a;
    uint32_t b, id; /* id INTERN_NONE: free */
    uint32_t uses, first;
};
enum { INTERN_RECENT = 2048 };

/* What a thread remembers from call to call; of one set of keys only. Begins as INTERN_MEMORY. */
struct intern_memory {
    uint32_t spare_string, spare_key; /* ids that a race left unused */
    struct intern_recent *recent;     /* INTERN_RECENT of them, or NULL: each use is told at once */
};
#define INTERN_MEMORY ((struct intern_memory){INTERN_NONE, INTERN_NONE, NULL})
/* Without memory for it there is none. */
void intern_recent_begin(struct intern_memory *memory);
/* Tells the set what was counted; before `uses` and `first` are read. */
void intern_recent_end(struct intern_keys *set, struct intern_memory *memory);

/* At most `most` calls of _add may follow. False when out of memory. */
bool intern_strings_init(struct intern_strings *set, size_t most);
void intern_strings_free(struct intern_strings *set);
/* `text` must outlive the set. */
uint32_t intern_strings_add(struct intern_strings *set, struct intern_memory *memory,
                            const char *text);
/* INTERN_NONE when it is not in the set. */
uint32_t intern_strings_find(const struct intern_strings *set, const char *text);

bool intern_keys_init(struct intern_keys *set, size_t most);
void intern_keys_free(struct intern_keys *set);
uint32_t intern_keys_add(struct intern_keys *set, struct intern_memory *memory, uint64_t a,
                         uint32_t b, uint32_t uses, uint32_t place);
uint32_t intern_keys_find(const struct intern_keys *set, uint64_t a, uint32_t b);

#endif
