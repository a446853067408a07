/*
 * Functions whose names a report that is being written has already: each is written once, within
 * FWR_FUNCTIONS_MAX and FWR_FUNCTION_BYTES. The names are not kept.
 */
#ifndef REPORT_FWR_FUNCTIONS_H
#define REPORT_FWR_FUNCTIONS_H

#include "report/fwr_write.h"

enum { FWR_FUNCTION_SLOTS = 2 * FWR_FUNCTIONS_MAX };

struct fwr_known_function {
    uint64_t start; /* runtime address; together with the image, whose place another may take */
    uint32_t image; /* 0: the slot is empty */
};

struct fwr_functions {
    uint32_t count, bytes; /* of names */
    uint64_t left_out;     /* names of frames for which there was no room */
    struct fwr_known_function slots[FWR_FUNCTION_SLOTS];
};

void functions_begin(struct fwr_functions *f);
/* Whether the function at `start`, whose name has `name` bytes, is to be written now: it is new,
 * and there is room for it. */
bool functions_add(struct fwr_functions *f, uint32_t image, uint64_t start, size_t name);

#endif
