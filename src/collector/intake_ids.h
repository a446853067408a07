/*
 * Rows that reports refer to: images, versions, terms, stacks. Each is looked up once in what the
 * worker remembers, then in the database, and made when it is not there; another server may make
 * the same row at the same time, and then that one counts.
 *
 * Rows of a batch are asked for in the order of their keys, so that two servers that make the same
 * ones wait for each other in one direction only.
 */
#ifndef COLLECTOR_INTAKE_IDS_H
#define COLLECTOR_INTAKE_IDS_H

#include "collector/db.h"
#include "collector/digest.h"
#include "collector/id_map.h"
#include "collector/intake_limits.h"
#include "collector/stack_group.h"

enum term_kind { TERM_OS = 1, TERM_DEVICE = 2, TERM_API = 3 };

struct intake_ids { /* of one worker; all zero but `grouper`: nothing is remembered */
    struct stack_grouper *grouper;
    struct id_map images, names, versions, terms, stacks, sites;
    bool calls_todo; /* of this batch: the job "calls" has something to do */
    struct intake_limits limits;
};

struct intake_report { /* one of a batch */
    int64_t seq, project;
    uint8_t id[16];
    uint64_t received_ms;
    int64_t packed;   /* bytes of the body as it is stored */
    int64_t body_sum; /* and their checksum (damage.h); -1: of before there was one */
    struct digest digest;
    int64_t version, os, device; /* rows; 0: none */
    int64_t *apis, *sites;       /* of each call: its term, its place */
    int64_t group;               /* 0: none */
};

/* All rows that `reports` need, in the caller's transaction. Digest images and stacks get their
 * `row`. May be called again after a rollback. What it made counts by limits_write, which the
 * caller calls last. */
fw_error intake_ids_fill(struct intake_ids *ids, struct db_conn *conn,
                         struct intake_report **reports, size_t count, struct arena *arena,
                         struct fw_failure *why);
/* Whether the group of this stack is remembered. */
bool intake_ids_has_group(struct intake_ids *ids, int64_t project,
                          const struct digest_stack *stack);
/* A frame of a digest with the row of its image in place of the number. */
static inline struct stack_frame intake_row_frame(const struct digest *d,
                                                  const struct stack_frame *frame)
{
    struct stack_frame row = *frame;
    row.image = frame->image ? d->images[frame->image - 1].row : 0;
    return row;
}
/* After a rollback: what was remembered may not be. */
void intake_ids_forget(struct intake_ids *ids);
void intake_ids_free(struct intake_ids *ids);

#endif
