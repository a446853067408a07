/*
 * Forgetting an installation: its reports, their bodies and what was counted of them.
 *
 * Invariant: whoever finds the job done finds no byte of a body in the database, its journal and
 * the store. Packs are written anew without the bodies before the rows go, for only the rows know
 * in which packs they are. What may go wrong in the middle happens again from the beginning.
 *
 * What stays: the ids in `seen`, so that a report that is sent again is not taken again; sums that
 * name no one and cannot be taken apart (flame, call, image_day).
 */
#ifndef COLLECTOR_FORGET_H
#define COLLECTOR_FORGET_H

#include "collector/collector.h"
#include "collector/db.h"

enum { FORGET_HASH = 16 }; /* bytes of report.install */

/* The job that does it, in the caller's transaction; its row is `job`. All reports that were
 * accepted until now are meant. */
fw_error forget_ask(struct db_conn *conn, int64_t project, const uint8_t install[FORGET_HASH],
                    int64_t *job, struct fw_failure *why);

struct forget {
    struct collector *c;
    bool (*ours)(void *context); /* asked often; false: FW_ERR_TIMEOUT. NULL: goes on */
    void *context;
    int64_t project, last_seq; /* last_seq: of the inbox, when it was asked for */
    uint8_t install[FORGET_HASH];
    uint64_t reports, packs; /* removed, and written anew */
};

/* forget_pack.c: pack `row` without the bodies of the installation, which are let go, and without
 * bytes that no report names. */
fw_error forget_pack(struct forget *f, int64_t row, struct fw_failure *why);

#endif
