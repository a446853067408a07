/*
 * Call sites, for tail calls that left no frame: which function each kept call names, and the tail
 * calls of each function.
 */
#ifndef SYMMAP_CALL_SITES_H
#define SYMMAP_CALL_SITES_H

#include "symmap/format.h"
#include "symmap/merge.h"
#include "symmap/names.h"

enum { CALLS_NONE = UINT32_MAX };

struct call_function {
    uint32_t tail_calls; /* where its list stands, or CALLS_NONE */
    uint32_t whole;      /* of a part: the function that it is a part of, or CALLS_NONE */
};

struct call_sites {
    struct call_function *functions; /* as merge->functions */
    struct format_pair *calls;       /* return offset, target; ascending */
    size_t call_count;
    uint8_t *lists;
    size_t list_size, list_capacity;
};

/* FW_ERR_MEMORY; FW_ERR_UNSUPPORTED when the lists exceed 4 GB. */
fw_error call_sites_run(const struct symmap_source *source, struct workers *workers,
                        const struct merge *merge, const struct names *names,
                        struct call_sites *calls);
void call_sites_free(struct call_sites *calls);

#endif
