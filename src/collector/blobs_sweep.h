/*
 * Removing blobs that no row names: a blob is made before the row that names it and goes after the
 * row, so servers that were killed in between leave some. Young ones stay: their row may still
 * come.
 */
#ifndef COLLECTOR_BLOBS_SWEEP_H
#define COLLECTOR_BLOBS_SWEEP_H

#include "collector/db.h"
#include "collector/jobs.h"

struct blobs_sweep {
    const char *prefix; /* of the keys that are looked at */
    uint64_t before_ms; /* wall clock; blobs that changed later stay */
    /* Whether a row names the blob; true for keys that are not of ours. */
    fw_error (*named)(struct db_conn *conn, const char *key, bool *named, struct fw_failure *why);
};

/* From inside the handler of `job`, no connection held. FW_ERR_TIMEOUT: the job was told to stop.
 */
fw_error blobs_sweep(struct collector *c, const struct job *job, const struct blobs_sweep *sweep,
                     struct fw_failure *why);

#endif
