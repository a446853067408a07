/*
 * The runners of jobs.h. A job's row goes
 *
 *     queued (state 0) -> running (1) -> gone, or failed (3), or queued again for later
 *
 * and who holds a running one is told by `owner` and `attempts` together, which nobody else has:
 * each write to a held row names both, so a runner that lost its lease changes nothing any more.
 * Runners look for work when they are woken and once a second; a thread of its own, the beat,
 * renews the leases of all runners and writes their progress, whatever their handlers are doing.
 */
#include "collector/jobs.h"
#include "base/failure.h"
#include "base/utf8.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { JOB_QUEUED = 0, JOB_RUNNING = 1, JOB_FAILED = 3 };
enum { JOBS_POLL_MS = 1000, JOBS_RETRY_MAX_MS = 300000, JOBS_LOOK_AT = 1000 };

struct runner {
    struct job job; /* first: jobs_progress finds the runner by it */
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
    struct runner *runners;
    unsigned runner_count, started; /* started: threads of runners to wait for */
    pthread_t beat;
    bool beating;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* work was added, or the end has come */
    uint64_t woken;         /* counts calls of jobs_wake */
    bool stop;
};

/* --- The table -------------------------------------------------------------------------------- */

fw_error jobs_add(struct db_conn *conn, const char *kind, const char *subject, const char *payload,
                  struct fw_failure *why)
{
    int64_t now = (int64_t)collector_now_ms();
    return db_run(conn, why,
                  "INSERT INTO job (kind, subject, payload, state, run_ms, created_ms, changed_ms)"
                  " VALUES ($1, $2, $3, 0, $4, $4, $4)"
                  " ON CONFLICT (kind, subject) WHERE state = 0"
                  " DO UPDATE SET run_ms = LEAST(job.run_ms, excluded.run_ms)",
                  DB_VALUES(db_text(kind), db_text(subject), db_text(payload), db_int(now)));
}

static fw_error add_periodic(struct db_conn *conn, const struct job_kind *kind,
                             struct fw_failure *why)
{
    return db_run(conn, why,
                  "INSERT INTO job (kind, subject, payload, state, run_ms, created_ms, changed_ms)"
                  " SELECT CAST($1 AS TEXT), '', '', 0, CAST($2 AS BIGINT), CAST($2 AS BIGINT),"
                  " CAST($2 AS BIGINT)"
                  " WHERE NOT EXISTS (SELECT 1 FROM job WHERE kind = CAST($1 AS TEXT)"
                  " AND subject = '' AND state IN (0, 1))"
                  " ON CONFLICT DO NOTHING",
                  DB_VALUES(db_text(kind->name), db_int((int64_t)collector_now_ms())));
}

static const struct job_kind *find_kind(const struct jobs *jobs, const char *name)
{
    for (size_t i = 0; name && i < jobs->kind_count; i++)
        if (strcmp(jobs->kinds[i].name, name) == 0)
            return &jobs->kinds[i];
    return NULL;
}

/* A job that could be taken now, without holding up writers; 0: none. */
static int64_t look(const struct jobs *jobs)
{
    struct db_conn *conn;
    struct db_rows *rows;
    int64_t found = 0;
    if (db_take(jobs->c->db, DB_READ, &conn, NULL) != FW_OK)
        return 0;
    if (db_query(conn, &rows, NULL,
                 "SELECT id, kind FROM job WHERE ((state = 0 AND run_ms <= $1)"
                 " OR (state = 1 AND lease_ms < $1))"
                 " AND NOT EXISTS (SELECT 1 FROM job r WHERE r.kind = job.kind"
                 " AND r.subject = job.subject AND r.state = 1 AND r.id <> job.id)"
                 " ORDER BY run_ms, id LIMIT $2",
                 DB_VALUES(db_int((int64_t)collector_now_ms()), db_int(JOBS_LOOK_AT))) == FW_OK) {
        while (!found && db_next(rows))
            if (find_kind(jobs, db_get_text(rows, 1)))
                found = db_get_int(rows, 0);
        db_end(rows, NULL);
    }
    db_give(jobs->c->db, conn);
    return found;
}

static void forget_job(struct runner *r)
{
    for (size_t i = 0; i < sizeof r->texts / sizeof *r->texts; i++) {
        free(r->texts[i]);
        r->texts[i] = NULL;
    }
    r->job = (struct job){.kind = ""};
}

static bool keep_job(struct runner *r, int64_t id, const struct db_rows *rows)
{
    for (int i = 0; i < 3; i++) {
        const char *text = db_get_text(rows, i);
        r->texts[i] = strdup(text ? text : "");
        if (!r->texts[i])
            return false;
    }
    r->job = (struct job){.id = id,
                          .kind = r->texts[0],
                          .subject = r->texts[1],
                          .payload = r->texts[2],
                          .attempts = (unsigned)db_get_int(rows, 3)};
    r->lost = (unsigned)db_get_int(rows, 4);
    r->kind = find_kind(r->jobs, r->job.kind);
    return r->kind != NULL;
}

/* Takes job `id` unless another server was faster. */
static bool take(struct runner *r, struct db_conn *conn, int64_t id)
{
    int64_t now = (int64_t)collector_now_ms();
    struct db_rows *rows;
    if (db_begin(conn, NULL) != FW_OK)
        return false;
    bool kept = false;
    if (db_query(
            conn, &rows, NULL,
            "UPDATE job SET lost = lost + CASE WHEN state = 1 THEN 1 ELSE 0 END, state = 1,"
            " owner = $2, lease_ms = $3, attempts = attempts + 1, done = 0, total = 0,"
            " changed_ms = $4"
            " WHERE id = $1 AND ((state = 0 AND run_ms <= $4) OR (state = 1 AND lease_ms < $4))"
            " AND NOT EXISTS (SELECT 1 FROM job r WHERE r.kind = job.kind"
            " AND r.subject = job.subject AND r.state = 1 AND r.id <> job.id)"
            " RETURNING kind, subject, payload, attempts, lost",
            DB_VALUES(db_int(id), db_text(r->jobs->owner), db_int(now + JOBS_LEASE_MS),
                      db_int(now))) == FW_OK) {
        kept = db_next(rows) && keep_job(r, id, rows);
        kept = db_end(rows, NULL) == FW_OK && kept;
    }
    if (kept && db_commit(conn, NULL) == FW_OK)
        return true;
    db_rollback(conn);
    forget_job(r);
    return false;
}

static bool take_next(struct runner *r)
{
    struct db_conn *conn;
    int64_t id = look(r->jobs);
    if (!id || db_take(r->jobs->c->db, DB_WRITE, &conn, NULL) != FW_OK)
        return false;
    bool taken = take(r, conn, id);
    db_give(r->jobs->c->db, conn);
    return taken;
}

/* --- The end of a job ------------------------------------------------------------------------- */

static fw_error write_gone(const struct runner *r, struct db_conn *conn)
{
    return db_run(conn, NULL, "DELETE FROM job WHERE id = $1 AND owner = $2 AND attempts = $3",
                  DB_VALUES(db_int(r->job.id), db_text(r->jobs->owner), db_int(r->job.attempts)));
}

static fw_error write_done(const struct runner *r, struct db_conn *conn)
{
    fw_error error =
        db_run(conn, NULL, "DELETE FROM job WHERE kind = $1 AND subject = $2 AND state = 3",
               DB_VALUES(db_text(r->job.kind), db_text(r->job.subject)));
    return error != FW_OK ? error : write_gone(r, conn);
}

static fw_error write_failed(const struct runner *r, struct db_conn *conn, const char *message)
{
    return db_run(conn, NULL,
                  "UPDATE job SET state = 3, owner = '', message = $4, changed_ms = $5"
                  " WHERE id = $1 AND owner = $2 AND attempts = $3",
                  DB_VALUES(db_int(r->job.id), db_text(r->jobs->owner), db_int(r->job.attempts),
                            db_text(message), db_int((int64_t)collector_now_ms())));
}

/* Queued again; when the same was asked for meanwhile, that one does it. */
static fw_error write_again(const struct runner *r, struct db_conn *conn, uint64_t after_ms,
                            unsigned attempts, const char *message)
{
    int64_t now = (int64_t)collector_now_ms();
    uint64_t rows = 0;
    fw_error error =
        db_change(conn, NULL, &rows,
                  "UPDATE job SET state = 0, run_ms = $4, lease_ms = 0, owner = '', attempts = $5,"
                  " message = $6, changed_ms = $7"
                  " WHERE id = $1 AND owner = $2 AND attempts = $3"
                  " AND NOT EXISTS (SELECT 1 FROM job q WHERE q.kind = job.kind"
                  " AND q.subject = job.subject AND q.state = 0)",
                  DB_VALUES(db_int(r->job.id), db_text(r->jobs->owner), db_int(r->job.attempts),
                            db_int(now + (int64_t)after_ms), db_int(attempts), db_text(message),
                            db_int(now)));
    return error != FW_OK || rows ? error : write_gone(r, conn);
}

/* A periodic job's row lives on: what this run went through is not the next one's. */
static fw_error write_next(const struct runner *r, struct db_conn *conn, const char *message)
{
    fw_error error =
        db_run(conn, NULL, "UPDATE job SET lost = 0 WHERE id = $1 AND owner = $2 AND attempts = $3",
               DB_VALUES(db_int(r->job.id), db_text(r->jobs->owner), db_int(r->job.attempts)));
    return error != FW_OK ? error : write_again(r, conn, r->kind->every_ms, 0, message);
}

static bool is_passing(fw_error error)
{
    return error == FW_ERR_TIMEOUT || error == FW_ERR_VANISHED || error == FW_ERR_FULL ||
           error == FW_ERR_SYSTEM || error == FW_ERR_MEMORY;
}

static uint64_t backoff_ms(unsigned attempts)
{
    unsigned doublings = attempts ? attempts - 1 : 0;
    return doublings > 8 ? JOBS_RETRY_MAX_MS : (uint64_t)1000 << doublings;
}

static fw_error write_end(struct runner *r, struct db_conn *conn, fw_error result, bool stopping,
                          const char *message)
{
    bool periodic = r->kind->every_ms && !*r->job.subject;
    if (is_passing(result) && stopping)
        return write_again(r, conn, 0, r->job.attempts - 1, "");
    if (is_passing(result))
        return write_again(r, conn, backoff_ms(r->job.attempts), r->job.attempts, message);
    if (periodic)
        return write_next(r, conn, result == FW_OK ? "" : message);
    return result == FW_OK ? write_done(r, conn) : write_failed(r, conn, message);
}

/* Messages quote foreign names: a text that the database would refuse must not hold up the end. */
static void text_of(fw_error result, const struct fw_failure *why, char *text, size_t size)
{
    snprintf(text, size, "%s", why->message[0] ? why->message : fw_error_text(result));
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
            *p = '?';
}

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

/* Writes how a job ended, again and again while the lease is ours: a database that is away for a
 * moment must not make a finished job run once more. */
static void finish(struct runner *r, fw_error result, const struct fw_failure *why)
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
                           write_end(r, conn, result, stopping, message) == FW_OK &&
                           db_commit(conn, NULL) == FW_OK;
            if (!written)
                db_rollback(conn);
            db_give(jobs->c->db, conn);
            if (written)
                return;
        }
        if (stopping) /* another server takes it over when the lease ends */
            return;
        wait_for_work(jobs, woken);
    }
}

static void set_busy(struct runner *r, bool busy)
{
    pthread_mutex_lock(&r->jobs->lock);
    r->busy = busy;
    r->lease_lost = r->noted = false;
    r->done = r->total = 0;
    r->renewed_ms = collector_now_ms();
    pthread_mutex_unlock(&r->jobs->lock);
}

static void run_one(struct runner *r)
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
    forget_job(r);
}

static void *run(void *context)
{
    struct runner *r = context;
    struct jobs *jobs = r->jobs;
    for (;;) {
        pthread_mutex_lock(&jobs->lock);
        uint64_t woken = jobs->woken;
        bool stop = jobs->stop;
        pthread_mutex_unlock(&jobs->lock);
        if (stop)
            return NULL;
        if (take_next(r))
            run_one(r);
        else
            wait_for_work(jobs, woken);
    }
}

struct beat { /* what one renewal writes, taken under the lock */
    int64_t id;
    unsigned attempts;
    uint64_t done, total;
};

/* False: nothing is due. */
static bool beat_due(struct runner *r, struct beat *beat)
{
    uint64_t now = collector_now_ms();
    pthread_mutex_lock(&r->jobs->lock);
    bool due = r->busy && !r->lease_lost && (r->noted || now - r->renewed_ms >= JOBS_BEAT_MS);
    if (due) {
        *beat = (struct beat){r->job.id, r->job.attempts, r->done, r->total};
        r->noted = false;
    }
    pthread_mutex_unlock(&r->jobs->lock);
    return due;
}

static fw_error write_beat(struct jobs *jobs, const struct beat *beat, uint64_t now, uint64_t *rows)
{
    struct db_conn *conn;
    fw_error error = db_take(jobs->c->db, DB_WRITE, &conn, NULL);
    if (error != FW_OK)
        return error;
    error = db_change(conn, NULL, rows,
                      "UPDATE job SET lease_ms = $4, done = $5, total = $6, changed_ms = $7"
                      " WHERE id = $1 AND owner = $2 AND attempts = $3 AND state = 1",
                      DB_VALUES(db_int(beat->id), db_text(jobs->owner), db_int(beat->attempts),
                                db_int((int64_t)(now + JOBS_LEASE_MS)), db_int((int64_t)beat->done),
                                db_int((int64_t)beat->total), db_int((int64_t)now)));
    db_give(jobs->c->db, conn);
    return error;
}

static void beat_runner(struct runner *r)
{
    struct beat beat;
    if (!beat_due(r, &beat))
        return;
    uint64_t rows = 0, now = collector_now_ms();
    fw_error error = write_beat(r->jobs, &beat, now, &rows);
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
            error = add_periodic(conn, &jobs->kinds[i], why);
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
    struct runner *runners = calloc(workers ? workers : 1, sizeof *runners);
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
    struct runner *r = (struct runner *)((char *)(uintptr_t)job - offsetof(struct runner, job));
    pthread_mutex_lock(&r->jobs->lock);
    r->noted = r->noted || r->done != done || r->total != total;
    r->done = done;
    r->total = total;
    bool ours = !r->lease_lost && !r->jobs->stop;
    pthread_mutex_unlock(&r->jobs->lock);
    return ours;
}
