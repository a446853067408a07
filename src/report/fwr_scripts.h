/*
 * Frames of interpreters in a report that is being written: each has a number, from 1, and is
 * written once. They are told apart by a 64-bit hash of what is in them; the strings are not kept.
 */
#ifndef REPORT_FWR_SCRIPTS_H
#define REPORT_FWR_SCRIPTS_H

#include "report/fwr_write.h"

enum { FWR_SCRIPT_SLOTS = 2 * FWR_SCRIPT_FRAMES_MAX };

struct fwr_scripts {
    uint32_t count;
    uint64_t hashes[FWR_SCRIPT_FRAMES_MAX + 1];
    uint16_t slots[FWR_SCRIPT_SLOTS]; /* hash table of numbers */
};

struct script_place { /* of a frame in the table */
    uint64_t hash;
    uint32_t slot;
    uint32_t number; /* 0: it is not there yet */
};

void scripts_begin(struct fwr_scripts *s);
struct script_place scripts_find(const struct fwr_scripts *s, const struct fwr_script_frame *frame);
/* Its number, for a place that was found empty. There must be room: count is not
 * FWR_SCRIPT_FRAMES_MAX yet. */
uint32_t scripts_add(struct fwr_scripts *s, struct script_place place);

#endif
