/*
 * Work that outlives a request: converting uploads, giving names to waiting stacks, regrouping,
 * retention, packing. Rows of the table `job`; any server takes a queued one, holds it by a lease
 * that it renews, and another takes over what a killed server left.
 *
 * Every handler may be run again from the beginning after any of its steps. Two jobs of one kind
 * and subject never run at the same time, on all servers together. The servers' clocks agree within
 * JOBS_LEASE_MS / 2.
 */
#ifndef COLLECTOR_JOBS_H
#define COLLECTOR_JOBS_H

#include "collector/collector.h"
#include "collector/db.h"

enum {
    JOBS_LEASE_MS = 60000, /* what a server that was killed held is free again after this */
    JOBS_BEAT_MS = 10000,  /* how often a lease is renewed */
    JOBS_LOST_MAX = 5, /* servers that may end while they run a job, until it counts as failed */
};

struct job {
    int64_t id;
    const char *kind, *subject; /* one job of a kind and subject is queued at a time */
    const char *payload;        /* JSON, or "" */
    unsigned attempts;          /* this one included */
};

/* FW_OK: done. FW_ERR_TIMEOUT, FW_ERR_VANISHED, FW_ERR_FULL, FW_ERR_SYSTEM, FW_ERR_MEMORY: again
 * later (1 s, doubled, up to 5 min). Others: failed for good; `why` is kept for people. */
typedef fw_error (*job_run)(struct collector *c, const struct job *job, struct fw_failure *why);

struct job_kind {
    const char *name;
    job_run run;
    uint64_t every_ms; /* runs by itself this often, subject ""; 0: only when asked for */
};

/* `kinds` must stay valid until jobs_stop. Jobs of other kinds are left to other servers. */
fw_error jobs_start(struct collector *c, const struct job_kind *kinds, size_t count,
                    unsigned workers, struct jobs **jobs, struct fw_failure *why);
/* Handlers that run are told by jobs_progress and waited for. NULL is fine. */
void jobs_stop(struct jobs *jobs);
/* In the caller's transaction. One that is queued already keeps its payload and runs now if it
 * waited for later; one that runs already is followed by this one. */
fw_error jobs_add(struct db_conn *conn, const char *kind, const char *subject, const char *payload,
                  struct fw_failure *why);
/* After the commit: looks at once instead of at the next poll. NULL is fine. */
void jobs_wake(struct jobs *jobs);
/* From inside a job's handler, `job` as it was given: what the page shows. Cheap, and touches no
 * database: the numbers are written with the next beat. False: the lease was lost or the server
 * ends; return FW_ERR_TIMEOUT. */
bool jobs_progress(struct collector *c, const struct job *job, uint64_t done, uint64_t total);

#endif
