/*
 * The runners of jobs.h: their threads and their life; jobs_table.c writes the rows. Runners look
 * for work when they are woken and once a second; a thread of its own, the beat, renews the leases
 * of all runners and writes their progress, whatever their handlers are doing.
 */
#include "base/failure.h"
#include "collector/jobs_inner.h"
#include "collector/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_POLL_MS = 1000 };

/* --- Threads ---------------------------------------------------------------------------------- */

/* Waits up to JOBS_POLL_MS, or until woken after `woken`; jobs->lock is held. */
static void wait_locked(struct jobs *jobs, uint64_t woken)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += JOBS_POLL_MS / 1000;
    while (!jobs->stop && jobs->woken == woken)
        if (pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until) != 0)
            return;
}

static void wait_for_work(struct jobs *jobs, uint64_t woken)
{
    pthread_mutex_lock(&jobs->lock);
    wait_locked(jobs, woken);
    pthread_mutex_unlock(&jobs->lock);
}

/* Messages quote foreign names: a text that the database would refuse must not hold up the end. */
static void text_of(fw_error result, const struct fw_failure *why, char *text, size_t size)
{
    snprintf(text, size, "%s", why->message[0] ? why->message : fw_error_text(result));
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
            *p = '?';
}

/* One that is tried again later has not ended. */
static void count_end(struct jobs *jobs, fw_error result)
{
    if (result == FW_OK)
        metrics_add(jobs->c->metrics, METRIC_JOBS_DONE, 1);
    else if (!jobs_is_passing(result))
        metrics_add(jobs->c->metrics, METRIC_JOBS_FAILED, 1);
}

/* Writes how a job ended, again and again while the lease is ours: a database that is away for a
 * moment must not make a finished job run once more. */
static void finish(struct jobs_runner *r, fw_error result, const struct fw_failure *why)
{
    struct jobs *jobs = r->jobs;
    char message[sizeof why->message];
    text_of(result, why, message, sizeof message);
    for (;;) {
        struct db_conn *conn;
        pthread_mutex_lock(&jobs->lock);
        bool stopping = jobs->stop, lost = r->lease_lost;
        uint64_t woken = jobs->woken;
        pthread_mutex_unlock(&jobs->lock);
        if (lost)
            return;
        if (db_take(jobs->c->db, DB_WRITE, &conn, NULL) == FW_OK) {
            bool written = db_begin(conn, NULL) == FW_OK &&
                           jobs_write_end(r, conn, result, stopping, message) == FW_OK &&
                           db_commit(conn, NULL) == FW_OK;
            if (!written)
                db_rollback(conn);
            db_give(jobs->c->db, conn);
            if (written) {
                count_end(jobs, result);
                return;
            }
        }
        if (stopping) /* another server takes it over when the lease ends */
            return;
        wait_for_work(jobs, woken);
    }
}

static void set_busy(struct jobs_runner *r, bool busy)
{
    pthread_mutex_lock(&r->jobs->lock);
    r->busy = busy;
    r->lease_lost = r->noted = false;
    r->done = r->total = 0;
    r->renewed_ms = collector_now_ms();
    pthread_mutex_unlock(&r->jobs->lock);
}

static void run_one(struct jobs_runner *r)
{
    struct fw_failure why = {0};
    fw_error result;
    set_busy(r, true);
    if (r->lost > JOBS_LOST_MAX)
        result = failure_say(&why, FW_ERR_UNSUPPORTED, 0,
                             "given up: %u times the server ended while it ran this", r->lost);
    else
        result = r->kind->run(r->jobs->c, &r->job, &why);
    finish(r, result, &why);
    set_busy(r, false);
    jobs_forget(r);
}

static void *run(void *context)
{
    struct jobs_runner *r = context;
    struct jobs *jobs = r->jobs;
    for (;;) {
        pthread_mutex_lock(&jobs->lock);
        uint64_t woken = jobs->woken;
        bool stop = jobs->stop;
        pthread_mutex_unlock(&jobs->lock);
        if (stop)
            return NULL;
        if (jobs_take_next(r))
            run_one(r);
        else
            wait_for_work(jobs, woken);
    }
}

/* False: nothing is due. */
static bool beat_due(struct jobs_runner *r, struct jobs_beat *beat)
{
    uint64_t now = collector_now_ms();
    pthread_mutex_lock(&r->jobs->lock);
    bool due = r->busy && !r->lease_lost && (r->noted || now - r->renewed_ms >= JOBS_BEAT_MS);
    if (due) {
        *beat = (struct jobs_beat){r->job.id, r->job.attempts, r->done, r->total};
        r->noted = false;
    }
    pthread_mutex_unlock(&r->jobs->lock);
    return due;
}

static void beat_runner(struct jobs_runner *r)
{
    struct jobs_beat beat;
    if (!beat_due(r, &beat))
        return;
    uint64_t rows = 0, now = collector_now_ms();
    fw_error error = jobs_write_beat(r->jobs, &beat, now, &rows);
    pthread_mutex_lock(&r->jobs->lock);
    if (r->busy && r->job.id == beat.id && r->job.attempts == beat.attempts) {
        if (error == FW_OK && rows)
            r->renewed_ms = now;
        else if (error == FW_OK || collector_now_ms() - r->renewed_ms >= JOBS_LEASE_MS)
            r->lease_lost = true;
    }
    pthread_mutex_unlock(&r->jobs->lock);
}

static void *beat(void *context)
{
    struct jobs *jobs = context;
    for (;;) {
        pthread_mutex_lock(&jobs->lock);
        /* Not woken by new work, and it beats on while runners end: see jobs_stop. */
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += JOBS_POLL_MS / 1000;
        while (jobs->beating && pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until) == 0) {
        }
        bool beating = jobs->beating;
        pthread_mutex_unlock(&jobs->lock);
        if (!beating)
            return NULL;
        for (unsigned i = 0; i < jobs->runner_count; i++)
            beat_runner(&jobs->runners[i]);
    }
}

/* --- Life ------------------------------------------------------------------------------------- */

static fw_error open_jobs(struct jobs *jobs, struct fw_failure *why)
{
    uint64_t nonce;
    if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
        return failure_say(why, FW_ERR_SYSTEM, 0, "no random numbers for the name of this server");
    snprintf(jobs->owner, sizeof jobs->owner, "%ld-%016llx", (long)getpid(),
             (unsigned long long)nonce);
    struct db_conn *conn;
    fw_error error = db_take(jobs->c->db, DB_WRITE, &conn, why);
    if (error != FW_OK)
        return error;
    for (size_t i = 0; error == FW_OK && i < jobs->kind_count; i++)
        if (jobs->kinds[i].every_ms)
            error = jobs_add_periodic(conn, &jobs->kinds[i], why);
    db_give(jobs->c->db, conn);
    return error;
}

static fw_error start_threads(struct jobs *jobs, struct fw_failure *why)
{
    jobs->beating = true;
    if (pthread_create(&jobs->beat, NULL, beat, jobs) != 0) {
        jobs->beating = false;
        return failure_say(why, FW_ERR_SYSTEM, 0, "no thread for jobs");
    }
    for (unsigned i = 0; i < jobs->runner_count; i++, jobs->started++) {
        jobs->runners[i].jobs = jobs;
        jobs->runners[i].job.kind = "";
        if (pthread_create(&jobs->runners[i].thread, NULL, run, &jobs->runners[i]) != 0)
            return failure_say(why, FW_ERR_SYSTEM, 0, "no thread for jobs");
    }
    return FW_OK;
}

fw_error jobs_start(struct collector *c, const struct job_kind *kinds, size_t count,
                    unsigned workers, struct jobs **out, struct fw_failure *why)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    struct jobs_runner *runners = calloc(workers ? workers : 1, sizeof *runners);
    *out = NULL;
    if (!jobs || !runners) {
        free(jobs);
        free(runners);
        return failure_say(why, FW_ERR_MEMORY, 0, "no memory for jobs");
    }
    *jobs = (struct jobs){.c = c,
                          .kinds = kinds,
                          .kind_count = count,
                          .runners = runners,
                          .runner_count = workers ? workers : 1};
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs->changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&jobs->lock, NULL);
    fw_error error = open_jobs(jobs, why);
    if (error == FW_OK)
        error = start_threads(jobs, why);
    if (error != FW_OK) {
        jobs_stop(jobs);
        return error;
    }
    *out = jobs;
    return FW_OK;
}

/* The beat goes on until the last handler ended: a slow one keeps its lease. */
void jobs_stop(struct jobs *jobs)
{
    if (!jobs)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->stop = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    for (unsigned i = 0; i < jobs->started; i++)
        pthread_join(jobs->runners[i].thread, NULL);
    pthread_mutex_lock(&jobs->lock);
    bool beating = jobs->beating;
    jobs->beating = false;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    if (beating)
        pthread_join(jobs->beat, NULL);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs->runners);
    free(jobs);
}

void jobs_wake(struct jobs *jobs)
{
    if (!jobs)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->woken++;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

bool jobs_progress(struct collector *c, const struct job *job, uint64_t done, uint64_t total)
{
    (void)c;
    struct jobs_runner *r =
        (struct jobs_runner *)((char *)(uintptr_t)job - offsetof(struct jobs_runner, job));
    pthread_mutex_lock(&r->jobs->lock);
    r->noted = r->noted || r->done != done || r->total != total;
    r->done = done;
    r->total = total;
    bool ours = !r->lease_lost && !r->jobs->stop;
    pthread_mutex_unlock(&r->jobs->lock);
    return ours;
}
