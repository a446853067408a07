/*
 * Function starts as the file knows them beside its symbols: the initial locations of
 * .eh_frame_hdr's search table, the entries of .ARM.exidx, LC_FUNCTION_STARTS. They bound symbols
 * whose table gives no size, so that a stripped function behind one does not take its name.
 *
 * Reads the tables in place, but for LC_FUNCTION_STARTS, which is unpacked; one that is not sorted
 * gives wrong bounds, never a wrong access.
 */
#ifndef OBJECT_CODE_BOUNDS_H
#define OBJECT_CODE_BOUNDS_H

#include "object/object.h"

struct code_starts { /* one table */
    struct span table;
    size_t count;      /* entries; 0 when there is none */
    size_t entry_size; /* bytes */
    uint64_t base;     /* what the stored values count from; for exidx the address of the table */
    bool is_signed;    /* .eh_frame_hdr: stored values of 4 bytes have a sign */
};

struct code_bounds {
    struct code_starts eh_frame_hdr, exidx;
    struct span eh_frame; /* what eh_frame_hdr leads into */
    uint64_t eh_frame_vaddr;
    uint64_t *listed; /* LC_FUNCTION_STARTS, ascending; owned */
    size_t listed_count, listed_capacity;
    bool no_memory;
    bool swap, is_64;
};

/* code_bounds_object.c. `image` as object_unwind_image filled it in for `object`. False when out of
 * memory. To be freed either way. */
bool code_bounds_init(struct code_bounds *bounds, const struct object *object,
                      const struct unwind_image *image);
/* Adds a start to the list of `bounds`, a struct code_bounds; they come ascending. False when out
 * of memory. */
bool code_bounds_list(void *bounds, uint64_t vaddr);
void code_bounds_free(struct code_bounds *bounds);

/* Where the function that begins at `vaddr` ends, as an entry of .eh_frame says; 0 when none does.
 */
uint64_t code_bounds_end(const struct code_bounds *bounds, uint64_t vaddr);

/* Every known start, until `each` returns false. */
void code_bounds_each(const struct code_bounds *bounds, bool (*each)(void *context, uint64_t vaddr),
                      void *context);

/* The lowest known function start above `vaddr`; UINT64_MAX when there is none. */
uint64_t code_bounds_after(const struct code_bounds *bounds, uint64_t vaddr);

#endif
