/*
 * Function starts as the unwind tables know them: the initial locations of .eh_frame_hdr's search
 * table, or the entries of .ARM.exidx. They bound symbols whose table gives no size, so that a
 * stripped function behind one does not take its name.
 *
 * Reads the table in place; a table that is not sorted gives wrong bounds, never a wrong access.
 */
#ifndef OBJECT_CODE_BOUNDS_H
#define OBJECT_CODE_BOUNDS_H

#include "object/object.h"

struct code_bounds {
    struct span table;
    size_t count;      /* entries; 0 when nothing is known */
    size_t entry_size; /* bytes */
    uint64_t base;     /* what the stored values count from */
    uint64_t table_vaddr;
    uint8_t encoding; /* of .eh_frame_hdr's table; unused for exidx */
    bool exidx, swap, is_64;
};

/* `image` as object_unwind_image filled it in for `object`. */
void code_bounds_init(struct code_bounds *bounds, const struct object *object,
                      const struct unwind_image *image);

/* The lowest known function start above `vaddr`; UINT64_MAX when there is none. */
uint64_t code_bounds_after(const struct code_bounds *bounds, uint64_t vaddr);

#endif
