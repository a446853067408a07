/* The map's side (verify.c) and the debug file's side (verify_unit.c, verify_answer.c). */
#ifndef SYMMAP_VERIFY_INTERNAL_H
#define SYMMAP_VERIFY_INTERNAL_H

#include "symmap/symbol_list.h"
#include "symmap/verify.h"

#include <stdatomic.h>

enum { VERIFY_DEPTH_MAX = 512 };

struct verify_row {
    uint64_t lo, hi;  /* link-time */
    bool no_function; /* no function of the debug file: a symbol, or lines alone */
    /* What was found out: VERIFY_RIGHT once any function of the debug file says the same, else the
     * kind of difference to the first unit that says something, VERIFY_UNSEEN before. */
    _Atomic uint64_t state;
};
#define VERIFY_RIGHT  UINT64_C(0)
#define VERIFY_UNSEEN UINT64_MAX

struct verify {
    const struct symmap *map;
    uint64_t base;
    struct verify_row *rows; /* of the map; gaps are not among them */
    size_t row_count, row_capacity;
    bool no_memory;

    const struct dwarf *dwarf;
    struct dwarf_options read;
    const struct symmap_symbol *symbols; /* ascending by lo */
    size_t symbol_count;
};

/* What is counted by one worker. */
struct verify_worker {
    struct arena arena;
    struct verify_report report;
    bool no_memory;
};

/* What the debug file says at one address. */
struct verify_answer {
    uint64_t lo, hi; /* where it says so */
    size_t depth;
    uint32_t inlines[VERIFY_DEPTH_MAX]; /* numbers in the unit, outermost first */
    const struct dwarf_file_name *file; /* NULL: no line is known */
    uint32_t file_number, line;
};

/* A walk over the answers for one stretch of a function, in address order. */
struct verify_walk {
    const struct dwarf_unit *unit;
    const struct dwarf_lines *lines;
    const struct dwarf_function *function; /* NULL: lines alone */
    uint64_t lo, hi;
    uint64_t *bounds; /* where something may change, ascending; the last is hi */
    size_t bound_count, bound_capacity, next;
    struct verify_range {
        uint64_t lo, hi;
        uint32_t number; /* of the inlined call */
    } *ranges, *active;
    size_t range_count, range_capacity, next_range, active_count, active_capacity;
    uint32_t *sequences; /* that cover a part of it */
    size_t sequence_count, sequence_capacity;
    struct arena *arena;
};
/* `reach[i]` is the greatest end of sequences 0 to i. False when memory ran out. */
bool verify_walk_begin(struct verify_walk *walk, const uint64_t *reach);
bool verify_walk_next(struct verify_walk *walk, struct verify_answer *answer);

/* Compares one unit with the map. */
void verify_unit(struct verify *verify, size_t unit, struct verify_worker *worker);
/* Counts a difference, and keeps it when it is among the first. */
__attribute__((format(printf, 4, 5))) void verify_tell(struct verify_report *report,
                                                       enum verify_kind kind, uint64_t address,
                                                       const char *format, ...);
/* The symbol that begins at the address and has this name (NULL: any); NULL when there is none. */
const struct symmap_symbol *verify_symbol(const struct verify *verify, uint64_t address,
                                          const char *name);
/* Whether a frame of code without line rows has the file that the symbol of its name is said to
 * come from. */
bool verify_symbol_file(const struct verify *verify, const struct symmap_frame *frame);
/* Whether `text` is these parts with one '/' between each two. */
bool verify_path_is(const char *text, const char *const *parts, size_t count);
/* First row that ends beyond the address. */
size_t verify_row_after(const struct verify *verify, uint64_t address);

#endif
