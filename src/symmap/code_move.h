/*
 * Moves flat code from the addresses of an object file to those of the program that it was linked
 * into.
 */
#ifndef SYMMAP_CODE_MOVE_H
#define SYMMAP_CODE_MOVE_H

#include "symmap/code.h"

struct code_move {   /* [lo, hi) now begins at `to` */
    uint64_t lo, hi; /* not empty */
    uint64_t to;
};

/*
 * Moves the functions of a unit. `moves` are ascending and do not overlap; what none of them holds
 * was not linked and is dropped, and so is what sticks out of the one that holds a function's
 * start. Line rows outside of functions are cut where moves end. FW_ERR_MEMORY leaves the unit
 * fit only for code_unit_free.
 */
fw_error code_move(struct code_unit *code, const struct code_move *moves, size_t count);

#endif
