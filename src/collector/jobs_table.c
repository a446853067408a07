/*
 * The rows of the table `job`: asking for a job, taking one, what becomes of it. A row goes
 *
 *     queued (state 0) -> running (1) -> gone, or failed (3), or queued again for later
 *
 * and who holds a running one is told by `owner` and `attempts` together, which nobody else has:
 * each write to a held row names both, so a runner that lost its lease changes nothing any more.
 */
#include "collector/jobs_inner.h"

#include <stdlib.h>
#include <string.h>

enum { JOBS_RETRY_MAX_MS = 300000, JOBS_LOOK_AT = 1000 };

/* --- Asking and taking ------------------------------------------------------------------------ */

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

fw_error jobs_add_periodic(struct db_conn *conn, const struct job_kind *kind,
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

/* No job is put off for longer than a day: that one was, by a clock that was wrong. */
#define DUE(now)                                                                                   \
    "(state = 0 AND (run_ms <= " now " OR run_ms > " now " + 86400000))"                           \
    " OR (state = 1 AND " DB_LEASE_OVER("lease_ms", now) ")"

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
                 "SELECT id, kind FROM job WHERE (" DUE(
                     "$1") ")"
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

void jobs_forget(struct jobs_runner *r)
{
    for (size_t i = 0; i < sizeof r->texts / sizeof *r->texts; i++) {
        free(r->texts[i]);
        r->texts[i] = NULL;
    }
    r->job = (struct job){.kind = ""};
}

static bool keep_job(struct jobs_runner *r, int64_t id, const struct db_rows *rows)
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
static bool take(struct jobs_runner *r, struct db_conn *conn, int64_t id)
{
    int64_t now = (int64_t)collector_now_ms();
    struct db_rows *rows;
    if (db_begin(conn, NULL) != FW_OK)
        return false;
    bool kept = false;
    if (db_query(conn, &rows, NULL,
                 "UPDATE job SET lost = lost + CASE WHEN state = 1 THEN 1 ELSE 0 END, state = 1,"
                 " owner = $2, lease_ms = $3, attempts = attempts + 1, done = 0, total = 0,"
                 " changed_ms = $4"
                 " WHERE id = $1 AND (" DUE(
                     "$4") ")"
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
    jobs_forget(r);
    return false;
}

bool jobs_take_next(struct jobs_runner *r)
{
    struct db_conn *conn;
    int64_t id = look(r->jobs);
    if (!id || db_take(r->jobs->c->db, DB_WRITE, &conn, NULL) != FW_OK)
        return false;
    bool taken = take(r, conn, id);
    db_give(r->jobs->c->db, conn);
    return taken;
}

/* --- While it runs ---------------------------------------------------------------------------- */

fw_error jobs_write_beat(struct jobs *jobs, const struct jobs_beat *beat, uint64_t now,
                         uint64_t *rows)
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

/* --- The end of a job ------------------------------------------------------------------------- */

static fw_error write_gone(const struct jobs_runner *r, struct db_conn *conn)
{
    return db_run(conn, NULL, "DELETE FROM job WHERE id = $1 AND owner = $2 AND attempts = $3",
                  DB_VALUES(db_int(r->job.id), db_text(r->jobs->owner), db_int(r->job.attempts)));
}

static fw_error write_done(const struct jobs_runner *r, struct db_conn *conn)
{
    fw_error error =
        db_run(conn, NULL, "DELETE FROM job WHERE kind = $1 AND subject = $2 AND state = 3",
               DB_VALUES(db_text(r->job.kind), db_text(r->job.subject)));
    return error != FW_OK ? error : write_gone(r, conn);
}

static fw_error write_failed(const struct jobs_runner *r, struct db_conn *conn, const char *message)
{
    return db_run(conn, NULL,
                  "UPDATE job SET state = 3, owner = '', message = $4, changed_ms = $5"
                  " WHERE id = $1 AND owner = $2 AND attempts = $3",
                  DB_VALUES(db_int(r->job.id), db_text(r->jobs->owner), db_int(r->job.attempts),
                            db_text(message), db_int((int64_t)collector_now_ms())));
}

/* Queued again; when the same was asked for meanwhile, that one does it. */
static fw_error write_again(const struct jobs_runner *r, struct db_conn *conn, uint64_t after_ms,
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
static fw_error write_next(const struct jobs_runner *r, struct db_conn *conn, const char *message)
{
    fw_error error =
        db_run(conn, NULL, "UPDATE job SET lost = 0 WHERE id = $1 AND owner = $2 AND attempts = $3",
               DB_VALUES(db_int(r->job.id), db_text(r->jobs->owner), db_int(r->job.attempts)));
    return error != FW_OK ? error : write_again(r, conn, r->kind->every_ms, 0, message);
}

bool jobs_is_passing(fw_error error)
{
    return error == FW_ERR_TIMEOUT || error == FW_ERR_VANISHED || error == FW_ERR_FULL ||
           error == FW_ERR_SYSTEM || error == FW_ERR_MEMORY;
}

static uint64_t backoff_ms(unsigned attempts)
{
    unsigned doublings = attempts ? attempts - 1 : 0;
    return doublings > 8 ? JOBS_RETRY_MAX_MS : (uint64_t)1000 << doublings;
}

fw_error jobs_write_end(struct jobs_runner *r, struct db_conn *conn, fw_error result, bool stopping,
                        const char *message)
{
    bool periodic = r->kind->every_ms && !*r->job.subject;
    if (jobs_is_passing(result) && stopping)
        return write_again(r, conn, 0, r->job.attempts - 1, "");
    if (jobs_is_passing(result))
        return write_again(r, conn, backoff_ms(r->job.attempts), r->job.attempts, message);
    if (periodic)
        return write_next(r, conn, result == FW_OK ? "" : message);
    return result == FW_OK ? write_done(r, conn) : write_failed(r, conn, message);
}
