/*
 * What the files of jobs.h share: jobs.c has the threads of the runners and the beat, jobs_table.c
 * the rows of the table `job`. Nobody else includes it.
 */
#ifndef COLLECTOR_JOBS_INNER_H
#define COLLECTOR_JOBS_INNER_H

#include "collector/jobs.h"

#include <pthread.h>

struct jobs_runner { /* a thread, and the job that it runs */
    struct job job;  /* first: jobs_progress finds the runner by it */
    struct jobs *jobs;
    pthread_t thread;
    const struct job_kind *kind;
    char *texts[3]; /* of the job: kind, subject, payload */
    unsigned lost;  /* servers that ended with this job */
    /* Below: under jobs->lock. */
    bool busy, lease_lost;
    bool noted;           /* done or total changed since the last beat */
    uint64_t done, total; /* as the handler told */
    uint64_t renewed_ms;  /* when the lease was last renewed */
};

struct jobs {
    struct collector *c;
    const struct job_kind *kinds;
    size_t kind_count;
    char owner[40];
    struct jobs_runner *runners;
    unsigned runner_count, started; /* started: threads of runners to wait for */
    pthread_t beat;
    bool beating;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* work was added, or the end has come */
    uint64_t woken;         /* counts calls of jobs_wake */
    bool stop;
};

struct jobs_beat { /* what one renewal writes, taken under the lock */
    int64_t id;
    unsigned attempts;
    uint64_t done, total;
};

/* ---- jobs_table.c; called without jobs->lock ---- */

/* The row of a periodic kind, unless one is queued or runs. */
fw_error jobs_add_periodic(struct db_conn *conn, const struct job_kind *kind,
                           struct fw_failure *why);
/* Takes a job that is due into `r`; false: there is none. */
bool jobs_take_next(struct jobs_runner *r);
/* What jobs_take_next kept of the job. */
void jobs_forget(struct jobs_runner *r);
/* What becomes of the job of `r`, in the caller's transaction; `stopping`: the server ends. Nothing
 * is changed when the lease was lost. */
/* Whether a job that ended so is run again. */
bool jobs_is_passing(fw_error error);
fw_error jobs_write_end(struct jobs_runner *r, struct db_conn *conn, fw_error result, bool stopping,
                        const char *message);
/* Renews a lease at `now`; *rows is 0 when it was lost. */
fw_error jobs_write_beat(struct jobs *jobs, const struct jobs_beat *beat, uint64_t now,
                         uint64_t *rows);

#endif
