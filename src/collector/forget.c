/* The job "forget": forget.h. */
#include "collector/forget.h"
#include "base/failure.h"
#include "base/hex.h"
#include "collector/access.h"
#include "collector/group_sums.h"
#include "collector/groups.h"
#include "collector/jobs.h"
#include "report/fwr.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    BATCH = 200,
    NAP_MS = 100,
    ROUNDS = 300,
    PACKS_AT_ONCE = 256,
    SUBJECT = 24 + 2 * FORGET_HASH
};

/* ---- asking ---- */

fw_error forget_ask(struct db_conn *conn, int64_t project, const uint8_t install[FORGET_HASH],
                    int64_t *job, struct fw_failure *why)
{
    char subject[SUBJECT];
    int size = snprintf(subject, sizeof subject, "%" PRId64 ":", project);
    hex_text(subject + size, install, FORGET_HASH);
    *job = 0;
    fw_error e = jobs_add(conn, "forget", subject, "", why);
    /* One that was queued already means the reports of until now as well. */
    return e ? e
             : db_query_int(
                   conn, job, why,
                   "UPDATE job SET payload = CAST((SELECT COALESCE(MAX(seq), 0) FROM inbox)"
                   " AS TEXT) WHERE kind = 'forget' AND subject = $1 AND state = 0 RETURNING id",
                   DB_VALUES(db_text(subject)));
}

/* ---- small things ---- */

static fw_error number_now(struct forget *f, int64_t *value, const char *sql,
                           const struct db_value *values, size_t count, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(f->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query_int(conn, value, why, sql, values, count);
    db_give(f->c->db, conn);
    return e;
}

static fw_error go_on(const struct forget *f, struct fw_failure *why)
{
    if (!f->ours || f->ours(f->context))
        return FW_OK;
    return failure_say(why, FW_ERR_TIMEOUT, 0, "stopped while an installation was forgotten");
}

static struct db_value install_of(const struct forget *f)
{
    return db_bytes(f->install, FORGET_HASH);
}

/* ---- what a report had been counted in ---- */

struct counted {
    int64_t id, kind, ending, day, version, os, device, duration, group, body;
    bool has_body; /* in the inbox */
    uint8_t report_id[16], session[16];
    bool has_session;
};

static bool in_days(const struct counted *r)
{
    return (r->kind == FWR_KIND_HANG && r->ending != FWR_VETOED) || r->kind >= 100;
}

static int64_t is_slow(const struct counted *r, int class)
{
    static const int64_t from[] = {0, 500000000, 2000000000, 8000000000, INT64_MAX};
    return r->duration >= from[class] && r->duration < from[class + 1];
}

#define LESS(table, keys)                                                                          \
    "UPDATE " table " SET reports = reports - 1, blocked_ns = blocked_ns - $4,"                    \
    " killed = killed - $5, slow0 = slow0 - $6, slow1 = slow1 - $7, slow2 = slow2 - $8,"           \
    " slow3 = slow3 - $9 WHERE project = $1 AND day = $2 AND version = $3" keys

static fw_error uncount_days(struct forget *f, struct db_conn *conn, const struct counted *r,
                             struct fw_failure *why)
{
    struct db_value values[10] = {db_int(f->project),
                                  db_int(r->day),
                                  db_int(r->version),
                                  db_int(r->duration),
                                  db_int(r->ending == FWR_KILLED),
                                  db_int(is_slow(r, 0)),
                                  db_int(is_slow(r, 1)),
                                  db_int(is_slow(r, 2)),
                                  db_int(is_slow(r, 3))};
    const int64_t terms[] = {r->os, r->device};
    fw_error e = db_run(conn, why, LESS("project_day", ""), values, 9);
    for (int i = 0; i < 2 && !e; i++) {
        values[9] = db_int(terms[i]);
        if (terms[i])
            e = db_run(conn, why, LESS("term_day", " AND term = $10"), values, 10);
    }
    return e;
}

/* A session is of one process, so of this installation alone. */
static fw_error uncount_session(struct forget *f, struct db_conn *conn, const struct counted *r,
                                struct fw_failure *why)
{
    struct db_rows *rows;
    int64_t version = 0, day = 0, observed = 0;
    bool found = false;
    fw_error e = db_query(conn, &rows, why,
                          "DELETE FROM session WHERE project = $1 AND session = $2"
                          " RETURNING version, day, observed_ns",
                          DB_VALUES(db_int(f->project), db_bytes(r->session, 16)));
    if (e)
        return e;
    if (db_next(rows)) {
        found = true;
        version = db_get_int(rows, 0);
        day = db_get_int(rows, 1);
        observed = db_get_int(rows, 2);
    }
    e = db_end(rows, why);
    if (e || !found)
        return e;
    return db_run(conn, why,
                  "UPDATE project_day SET sessions = sessions - 1, observed_ns = observed_ns - $4"
                  " WHERE project = $1 AND day = $2 AND version = $3",
                  DB_VALUES(db_int(f->project), db_int(day), db_int(version), db_int(observed)));
}

static fw_error drop_empty_days(struct forget *f, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_run(conn, why,
                        "DELETE FROM project_day WHERE project = $1 AND reports = 0"
                        " AND sessions = 0 AND observed_ns = 0",
                        DB_VALUES(db_int(f->project)));
    return e ? e
             : db_run(conn, why, "DELETE FROM term_day WHERE project = $1 AND reports = 0",
                      DB_VALUES(db_int(f->project)));
}

/* ---- rows ---- */

static void read_id(struct span bytes, uint8_t id[16])
{
    memset(id, 0, 16);
    if (bytes.size)
        memcpy(id, bytes.data, bytes.size < 16 ? bytes.size : 16);
}

static fw_error read_reports(struct forget *f, struct db_conn *conn, struct counted *reports,
                             size_t *count, struct fw_failure *why)
{
    struct db_rows *rows;
    *count = 0;
    fw_error e =
        db_query(conn, &rows, why,
                 "SELECT id, kind, ending, day, version, os, device, duration_ns, group_id,"
                 " body_offset, report_id, session FROM report"
                 " WHERE install = $1 AND project = $2 AND pack IS NULL LIMIT $3",
                 DB_VALUES(install_of(f), db_int(f->project), db_int(BATCH)));
    if (e)
        return e;
    while (*count < BATCH && db_next(rows)) {
        struct counted *r = &reports[(*count)++];
        *r = (struct counted){.id = db_get_int(rows, 0),
                              .kind = db_get_int(rows, 1),
                              .ending = db_get_int(rows, 2),
                              .day = db_get_int(rows, 3),
                              .version = db_get_int(rows, 4),
                              .os = db_get_int(rows, 5),
                              .device = db_get_int(rows, 6),
                              .duration = db_get_int(rows, 7),
                              .group = db_get_int(rows, 8),
                              .body = db_get_int(rows, 9),
                              .has_body = !db_is_null(rows, 9),
                              .has_session = !db_is_null(rows, 11)};
        read_id(db_get_bytes(rows, 10), r->report_id);
        read_id(db_get_bytes(rows, 11), r->session);
    }
    return db_end(rows, why);
}

/* The body that waits for its pack. `gone` is false while somebody writes a pack with it: it will
 * be in that pack, or free again. */
static fw_error drop_body(struct forget *f, struct db_conn *conn, const struct counted *r,
                          bool *gone, struct fw_failure *why)
{
    uint64_t changed = 0;
    *gone = true;
    if (!r->has_body)
        return FW_OK;
    fw_error e =
        db_change(conn, why, &changed,
                  "DELETE FROM inbox WHERE seq = $1 AND project = $2 AND report_id = $3"
                  " AND state = 2 AND " DB_LEASE_OVER("lease_ms", "$4"),
                  DB_VALUES(db_int(r->body), db_int(f->project), db_bytes(r->report_id, 16),
                            db_int((int64_t)collector_now_ms())));
    *gone = changed == 1;
    if (e || !*gone)
        return e;
    return db_run(conn, why, "DELETE FROM inbox_body WHERE seq = $1", DB_VALUES(db_int(r->body)));
}

/* Out of the sums of its group as well. */
static fw_error drop_row(struct db_conn *conn, int64_t id, struct group_sums *sums,
                         struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e =
        db_query(conn, &rows, why, "DELETE FROM report WHERE id = $1 RETURNING " GROUP_SUMS_COLUMNS,
                 DB_VALUES(db_int(id)));
    if (e)
        return e;
    if (db_next(rows)) {
        struct group_report report = group_report_of(rows, 0);
        group_sums_add(sums, &report, -1); /* group_sums_write tells when there was no memory */
    }
    return db_end(rows, why);
}

static fw_error drop_report(struct forget *f, struct db_conn *conn, const struct counted *r,
                            struct group_sums *sums, struct fw_failure *why)
{
    bool gone = false;
    fw_error e = drop_body(f, conn, r, &gone, why);
    if (e || !gone)
        return e;
    if (r->group)
        e = groups_mark_stale(conn, r->group, why);
    if (!e && in_days(r))
        e = uncount_days(f, conn, r, why);
    if (!e && r->has_session)
        e = uncount_session(f, conn, r, why);
    e = e ? e : drop_row(conn, r->id, sums, why);
    f->reports += !e;
    return e;
}

/* Workers wait meanwhile: who holds the generation is alone with the sums. */
static fw_error drop_batch(struct forget *f, size_t *count, struct fw_failure *why)
{
    struct db_conn *conn;
    struct counted reports[BATCH];
    struct group_sums sums = {0};
    uint64_t before = f->reports;
    fw_error e = db_take(f->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin(conn, why);
    e = e ? e : stack_group_changed(conn, why);
    e = e ? e : read_reports(f, conn, reports, count, why);
    for (size_t i = 0; i < *count && !e; i++)
        e = drop_report(f, conn, &reports[i], &sums, why);
    e = e ? e : group_sums_write(&sums, conn, why);
    group_sums_free(&sums);
    e = e ? e : drop_empty_days(f, conn, why);
    e = e ? e : db_commit(conn, why);
    db_give(f->c->db, conn);
    if (e)
        f->reports = before;
    return e;
}

/* ---- all ---- */

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000000L}, NULL);
}

/* Whose they are is known when a worker has read them. */
static fw_error wait_for_workers(struct forget *f, struct fw_failure *why)
{
    int64_t waiting = 1;
    fw_error e = FW_OK;
    for (int i = 0; i < ROUNDS && waiting && !e; i++) {
        if (i)
            nap();
        e = go_on(f, why);
        e = e ? e
              : number_now(f, &waiting,
                           "SELECT COUNT(*) FROM inbox WHERE state = 0 AND seq <= $1"
                           " AND project = $2",
                           DB_VALUES(db_int(f->last_seq), db_int(f->project)), why);
    }
    if (!e && waiting)
        e = failure_say(why, FW_ERR_TIMEOUT, 0, "%" PRId64 " reports are not processed yet",
                        waiting);
    return e;
}

static fw_error rewrite_packs(struct forget *f, struct fw_failure *why)
{
    for (;;) {
        int64_t pack;
        fw_error e = go_on(f, why);
        e = e ? e
              : number_now(f, &pack,
                           "SELECT pack FROM report WHERE install = $1 AND project = $2"
                           " AND pack IS NOT NULL ORDER BY pack LIMIT 1",
                           DB_VALUES(install_of(f), db_int(f->project)), why);
        if (e || !pack)
            return e;
        e = forget_pack(f, pack, why);
        if (e)
            return e;
    }
}

/* Packs with bytes that no report names: forget_pack.c. */
static fw_error rewrite_others(struct forget *f, struct fw_failure *why)
{
    int64_t most = 0;
    fw_error e = number_now(f, &most, "SELECT MAX(id) FROM pack", DB_NONE, why);
    for (int64_t at = 0; at < most && !e;) {
        int64_t pack = 0;
        e = go_on(f, why);
        e = e ? e
              : number_now(f, &pack,
                           "SELECT id FROM pack WHERE id > $1 AND id <= $2 AND size <>"
                           " (SELECT COALESCE(SUM(body_size), 0) FROM report"
                           " WHERE report.pack = pack.id) ORDER BY id LIMIT 1",
                           DB_VALUES(db_int(at), db_int(at + PACKS_AT_ONCE)), why);
        at = pack ? pack : at + PACKS_AT_ONCE;
        if (!e && pack)
            e = forget_pack(f, pack, why);
    }
    return e;
}

static fw_error drop_reports(struct forget *f, struct fw_failure *why)
{
    int64_t left = 1;
    fw_error e = FW_OK;
    for (int i = 0; i < ROUNDS && left && !e; i++) {
        uint64_t before = f->reports;
        size_t count = 0;
        e = rewrite_packs(f, why);
        e = e ? e : drop_batch(f, &count, why);
        if (!e && f->reports != before) {
            i = 0;
            continue;
        }
        e = e ? e
              : number_now(f, &left,
                           "SELECT COUNT(*) FROM report WHERE install = $1 AND project = $2",
                           DB_VALUES(install_of(f), db_int(f->project)), why);
        if (!e && left)
            nap();
    }
    if (!e && left)
        e = failure_say(why, FW_ERR_TIMEOUT, 0, "%" PRId64 " bodies are on their way to a pack",
                        left);
    return e;
}

/* Nobody could read them, so they may be anybody's. */
static fw_error drop_unreadable(struct forget *f, struct fw_failure *why)
{
    struct db_conn *conn;
    const struct db_value values[] = {db_int(f->project), db_int(f->last_seq)};
    fw_error e = db_take(f->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin(conn, why);
    e = e ? e
          : db_run(conn, why,
                   "DELETE FROM inbox_body WHERE seq IN (SELECT seq FROM inbox WHERE state = 1"
                   " AND project = $1 AND seq <= $2)",
                   values, 2);
    e = e ? e
          : db_run(conn, why, "DELETE FROM inbox WHERE state = 1 AND project = $1 AND seq <= $2",
                   values, 2);
    e = e ? e : db_commit(conn, why);
    db_give(f->c->db, conn);
    return e;
}

/* FW_ERR_TIMEOUT: again later, reports still wait for a worker, or bodies for their pack. */
static fw_error forget_all(struct forget *f, struct fw_failure *why)
{
    fw_error e = wait_for_workers(f, why);
    e = e ? e : drop_reports(f, why);
    e = e ? e : rewrite_others(f, why);
    e = e ? e : drop_unreadable(f, why);
    e = e ? e : groups_settle_all(f->c, f->ours, f->context, why);
    return e ? e : db_erase(f->c->db, why);
}

/* ---- the job ---- */

struct progress {
    struct collector *c;
    const struct job *job;
    const struct forget *forget;
};

static bool still_ours(void *context)
{
    const struct progress *p = context;
    return jobs_progress(p->c, p->job, p->forget->reports, 0);
}

static bool read_subject(const struct job *job, struct forget *f)
{
    char *end;
    f->project = strtoll(job->subject, &end, 10);
    f->last_seq = strtoll(job->payload, NULL, 10);
    if (f->project <= 0 || *end != ':' || strlen(end + 1) != (size_t)2 * FORGET_HASH)
        return false;
    for (size_t i = 0; i < FORGET_HASH; i++) {
        char two[3] = {end[1 + 2 * i], end[2 + 2 * i], '\0'};
        f->install[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return true;
}

/* Neither the id nor its hash: how much, and whether that is all of it. */
static fw_error note(struct forget *f, bool done, struct fw_failure *why)
{
    const struct access who = {.label = "forget"};
    struct db_conn *conn;
    char subject[24], detail[96];
    fw_error e = db_take(f->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    snprintf(subject, sizeof subject, "%" PRId64, f->project);
    snprintf(detail, sizeof detail, "reports %" PRIu64 ", packs %" PRIu64, f->reports, f->packs);
    e = db_begin(conn, why);
    if (!e)
        audit(conn, &who, done ? "install.forgotten" : "install.forget.part", subject, detail);
    /* A pack that was replaced while a server ended, or a backup was made, goes now. */
    e = e ? e : jobs_add(conn, "packs.sweep", "", "", why);
    e = e ? e : db_commit(conn, why);
    db_give(f->c->db, conn);
    return e;
}

static fw_error run_job(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct forget f = {.c = c};
    struct progress progress = {c, job, &f};
    f.ours = still_ours;
    f.context = &progress;
    if (!read_subject(job, &f))
        return failure_say(why, FW_ERR_ARGUMENT, 0, "not an installation of a project");
    fw_error e = forget_all(&f, why);
    if (!e)
        return note(&f, true, why);
    struct fw_failure ignored = {0};
    if (f.reports || f.packs)
        note(&f, false, &ignored);
    return e;
}

extern const struct job_kind job_forget;
const struct job_kind job_forget = {"forget", run_job, 0};
