/*
 * Function starts as the unwind tables know them: the initial locations of .eh_frame_hdr's search
 * table, and the entries of .ARM.exidx. They bound symbols whose table gives no size, so that a
 * stripped function behind one does not take its name.
 *
 * Reads the tables in place; one that is not sorted gives wrong bounds, never a wrong access.
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
    bool swap, is_64;
};

/* `image` as object_unwind_image filled it in for `object`. */
void code_bounds_init(struct code_bounds *bounds, const struct object *object,
                      const struct unwind_image *image);

/* Whether every function with unwind information has a start here. Linkers merge neighbouring exidx
 * entries that say the same, so that table leaves functions out. */
bool code_bounds_complete(const struct code_bounds *bounds);

/* Every known start, until `each` returns false. */
void code_bounds_each(const struct code_bounds *bounds, bool (*each)(void *context, uint64_t vaddr),
                      void *context);

/* The lowest known function start above `vaddr`; UINT64_MAX when there is none. */
uint64_t code_bounds_after(const struct code_bounds *bounds, uint64_t vaddr);

#endif
