/*
 * A worker: leases reports of the inbox, reads them, and has them written (intake_write).
 *
 * Invariant: whatever happens to a worker, its reports are in the inbox until the transaction that
 * makes their rows. A lease that ran out is anybody's. Each lease counts as an attempt, so that a
 * report that ends the server is not tried for ever: after INTAKE_ATTEMPTS it gets state 1 with the
 * reason. One that was tried before is leased alone, so that a server that is killed again and
 * again for other reasons makes no report look guilty that was only near; every report of a batch
 * that failed for its data is processed alone, too.
 */
#include "base/failure.h"
#include "collector/damage.h"
#include "collector/db.h"
#include "collector/heavy.h"
#include "collector/intake_inner.h"
#include "collector/intake_write.h"
#include "collector/log.h"
#include "collector/metrics.h"
#include "collector/packs.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { AT_ONCE_LEAST = 8 };

struct leased { /* a row of the inbox */
    struct intake_report report;
    int64_t size, attempts; /* attempts before this one */
    bool done;
};

struct worker {
    struct intake *in;
    struct intake_writer writer;
    struct arena arena; /* digests of one batch */
    struct leased rows[INTAKE_LEASED];
    size_t count;
    bool again; /* the only row was tried before */
    int64_t lease_ms;
    uint64_t until_ms; /* when to give up writing */
    size_t at_once;    /* reports of one transaction, so that it takes DB_TURN_MS or so */
};

/* Worth trying again: the database's or the machine's fault, not the report's. */
static bool passes(fw_error e)
{
    return e == FW_ERR_TIMEOUT || e == FW_ERR_VANISHED || e == FW_ERR_FULL || e == FW_ERR_SYSTEM ||
           e == FW_ERR_PERMISSION || e == FW_ERR_MEMORY;
}

/* ---- leasing ---- */

static fw_error choose(struct worker *w, struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    int64_t bytes = 0;
    fw_error e = db_query(conn, &rows, why,
                          "SELECT seq, project, report_id, received_ms, size, packed, attempts,"
                          " COALESCE(body_sum, -1)"
                          " FROM inbox WHERE state = 0 AND " DB_LEASE_OVER(
                              "lease_ms", "$1") " ORDER BY seq LIMIT $2"
                                                " FOR UPDATE SKIP LOCKED",
                          DB_VALUES(db_int((int64_t)collector_now_ms()), db_int(INTAKE_LEASED)));
    if (e)
        return e;
    while (w->count < INTAKE_LEASED && bytes < INTAKE_LEASED_BYTES && db_next(rows)) {
        int64_t attempts = db_get_int(rows, 6);
        if (attempts && w->count)
            break;
        struct leased *row = &w->rows[w->count++];
        *row = (struct leased){.report = {.seq = db_get_int(rows, 0),
                                          .project = db_get_int(rows, 1),
                                          .received_ms = (uint64_t)db_get_int(rows, 3),
                                          .packed = db_get_int(rows, 5),
                                          .body_sum = db_get_int(rows, 7)},
                               .size = db_get_int(rows, 4),
                               .attempts = attempts};
        struct span id = db_get_bytes(rows, 2);
        memcpy(row->report.id, id.data, id.size < 16 ? id.size : 16);
        bytes += row->size;
        w->again = attempts > 0;
        if (w->again)
            break;
    }
    return db_end(rows, why);
}

static fw_error give_up(struct db_conn *conn, int64_t seq, const char *reason,
                        struct fw_failure *why)
{
    return db_run(conn, why,
                  "UPDATE inbox SET state = 1, lease_ms = 0, error = COALESCE(error, $2)"
                  " WHERE seq = $1 AND state = 0",
                  DB_VALUES(db_int(seq), db_text(reason)));
}

/* Rows that were tried often enough leave the list. */
static fw_error lease_chosen(struct worker *w, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = FW_OK;
    size_t kept = 0;
    for (size_t i = 0; i < w->count && !e; i++) {
        struct leased *row = &w->rows[i];
        if (row->attempts >= INTAKE_ATTEMPTS) {
            e = give_up(conn, row->report.seq, "each attempt to process it ended without a result",
                        why);
            metrics_add(w->in->c->metrics, METRIC_REPORTS_FAILED, 1);
            continue;
        }
        e = db_run(conn, why,
                   "UPDATE inbox SET lease_ms = $2, attempts = attempts + 1 WHERE seq = $1",
                   DB_VALUES(db_int(row->report.seq), db_int(w->lease_ms)));
        w->rows[kept++] = *row;
    }
    w->count = kept;
    return e;
}

static fw_error lease(struct worker *w, struct fw_failure *why)
{
    struct db_conn *conn;
    uint16_t random = 0;
    w->count = 0;
    w->again = false;
    fw_error e = db_take(w->in->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin_soft(conn, why);
    e = e ? e : choose(w, conn, why);
    RAND_bytes((unsigned char *)&random, sizeof random); /* tells leases of one moment apart */
    w->until_ms = collector_now_ms() + INTAKE_LEASE_MS / 2;
    w->lease_ms = (int64_t)collector_now_ms() + INTAKE_LEASE_MS + random % 8192;
    bool any = w->count > 0; /* given up ones must be committed, too */
    e = e || !any ? e : lease_chosen(w, conn, why);
    if (!e && any)
        e = db_commit(conn, why);
    db_give(w->in->c->db, conn);
    if (e)
        w->count = 0;
    return e;
}

/* ---- what cannot be processed ---- */

/* A data error leaves the row for the next attempt, or ends it. */
static void refuse(struct worker *w, struct leased *row, const struct fw_failure *reason)
{
    struct db_conn *conn;
    struct fw_failure why = {0};
    row->done = true;
    if (db_take(w->in->c->db, DB_WRITE, &conn, &why))
        return; /* the lease runs out */
    bool last = row->attempts + 1 >= INTAKE_ATTEMPTS;
    db_run(conn, &why,
           "UPDATE inbox SET state = $3, lease_ms = 0, error = $4"
           " WHERE seq = $1 AND state = 0 AND lease_ms = $2",
           DB_VALUES(db_int(row->report.seq), db_int(w->lease_ms), db_int(last),
                     db_text(reason->message)));
    db_give(w->in->c->db, conn);
    if (!last)
        return;
    metrics_add(w->in->c->metrics, METRIC_REPORTS_FAILED, 1);
    log_line("report %lld of the inbox cannot be processed: %s", (long long)row->report.seq,
             reason->message);
}

/* Rows whose turn did not come are anybody's again, and this was no attempt. */
static void release(struct worker *w)
{
    struct db_conn *conn;
    bool any = false;
    for (size_t i = 0; i < w->count; i++)
        any |= !w->rows[i].done;
    if (!any || db_take(w->in->c->db, DB_WRITE, &conn, NULL))
        return;
    fw_error e = FW_OK;
    for (size_t i = 0; i < w->count && !e; i++)
        if (!w->rows[i].done)
            e = db_run(conn, NULL,
                       "UPDATE inbox SET lease_ms = 0, attempts = attempts - 1"
                       " WHERE seq = $1 AND state = 0 AND lease_ms = $2",
                       DB_VALUES(db_int(w->rows[i].report.seq), db_int(w->lease_ms)));
    db_give(w->in->c->db, conn);
}

/* ---- reading ---- */

static fw_error load(struct worker *w, const struct leased *row, uint8_t **body, size_t *size,
                     struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    fw_error e = db_take(w->in->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, "SELECT body FROM inbox_body WHERE seq = $1",
                 DB_VALUES(db_int(row->report.seq)));
    if (!e) {
        fw_error unpacked = failure_say(why, FW_ERR_CORRUPT, 0, "its body is not there");
        if (db_next(rows)) {
            struct span packed = db_get_bytes(rows, 0);
            bool whole = row->report.body_sum < 0 || damage_sum(packed) == row->report.body_sum;
            unpacked = whole ? packs_unsqueeze(packed, INTAKE_FOREIGN_BYTES, body, size, why)
                             : failure_say(why, FW_ERR_CORRUPT, 0,
                                           "its body is damaged: the checksum is another one");
        }
        e = db_end(rows, why);
        e = e ? e : unpacked;
    }
    db_give(w->in->c->db, conn);
    return e;
}

static fw_error digest(struct worker *w, struct leased *row, struct fw_failure *why)
{
    uint8_t *body = NULL;
    size_t size = 0;
    struct report *report = NULL;
    fw_error loaded = load(w, row, &body, &size, why);
    if (loaded)
        return loaded;
    if (!heavy_begin(w->in->c->heavy, size)) {
        free(body);
        return failure_say(why, FW_ERR_TIMEOUT, 0, "other large reports are being read");
    }
    fw_error e = report_read((struct span){body, size}, &report, why);
    if (!e && report->kind == REPORT_OTHER)
        e = failure_say(why, FW_ERR_FORMAT, 0, "there is no report in it");
    if (!e && digest_report(report, row->report.received_ms, w->in->salt, &w->arena,
                            &row->report.digest) != FW_OK)
        e = failure_say(why, FW_ERR_MEMORY, 0, "it takes more memory than there is");
    report_free(report);
    heavy_end(w->in->c->heavy, size);
    free(body);
    return e ? FW_ERR_CORRUPT : FW_OK; /* whatever it is, it is this report's fault */
}

/* ---- writing ---- */

/* Tries again what passes, as long as the lease is safe. */
static fw_error write_rows(struct worker *w, struct leased **rows, size_t count,
                           struct fw_failure *why)
{
    struct intake_report *reports[INTAKE_LEASED];
    fw_error e;
    for (size_t i = 0; i < count; i++)
        reports[i] = &rows[i]->report;
    for (unsigned wait = 50;; wait = wait < 2000 ? 2 * wait : wait) {
        e = intake_write(&w->writer, reports, count, w->lease_ms, why);
        if (!passes(e) || collector_now_ms() >= w->until_ms || intake_stopping(w->in))
            return e;
        intake_sleep(w->in, wait);
    }
}

static void adapt(struct worker *w, size_t count)
{
    if (w->writer.held_ms > DB_TURN_MS)
        w->at_once = count / 2 > AT_ONCE_LEAST ? count / 2 : AT_ONCE_LEAST;
    else if (w->writer.held_ms < DB_TURN_MS / 2 && count == w->at_once)
        w->at_once += count / 4 + 1;
    if (w->at_once > INTAKE_LEASED)
        w->at_once = INTAKE_LEASED;
}

static void write_together(struct worker *w, struct leased **rows, size_t count)
{
    struct fw_failure why = {0};
    if (!count)
        return;
    fw_error e = write_rows(w, rows, count, &why);
    adapt(w, count);
    if (!e) {
        for (size_t i = 0; i < count; i++)
            rows[i]->done = true;
        metrics_add(w->in->c->metrics, METRIC_REPORTS_PROCESSED, count);
    } else if (e == FW_ERR_NOT_FOUND || passes(e))
        log_line("%zu reports wait: %s", count, why.message);
    else if (count == 1)
        refuse(w, rows[0], &why);
    else
        for (size_t i = 0; i < count; i++)
            write_together(w, &rows[i], 1);
}

static size_t rows_of(const struct digest *d)
{
    return d->stack_count + d->image_count + d->call_count;
}

static void process(struct worker *w)
{
    struct leased *together[INTAKE_LEASED];
    size_t count = 0, rows = 0;
    for (size_t i = 0; i < w->count && !intake_stopping(w->in); i++) {
        struct leased *row = &w->rows[i];
        struct fw_failure why = {0};
        fw_error e = digest(w, row, &why);
        if (e) {
            if (!passes(e))
                refuse(w, row, &why);
            continue;
        }
        bool alone = row->attempts > 0;
        if (alone || count == w->at_once || rows + rows_of(&row->report.digest) > INTAKE_ROWS) {
            write_together(w, together, count);
            count = rows = 0;
        }
        together[count++] = row;
        rows += rows_of(&row->report.digest);
        if (alone) {
            write_together(w, together, count);
            count = rows = 0;
        }
    }
    if (!intake_stopping(w->in))
        write_together(w, together, count);
    release(w);
    arena_reset(&w->arena);
}

/* ---- the thread ---- */

void *intake_worker(void *context)
{
    struct worker *w = calloc(1, sizeof *w);
    bool said = false;
    uint64_t seen = 0;
    if (!w)
        return NULL;
    w->in = context;
    w->at_once = AT_ONCE_LEAST;
    w->writer.c = w->in->c;
    if (stack_grouper_new(w->in->c, &w->writer.ids.grouper) == FW_OK)
        while (!intake_stopping(w->in)) {
            struct fw_failure why = {0};
            fw_error e = lease(w, &why);
            if (e && !said)
                log_line("reports wait in the inbox: %s", why.message);
            said = e != FW_OK;
            process(w);
            if (w->count == 0)
                intake_wait(w->in, INTAKE_POLL_MS, &seen);
            if (w->count < INTAKE_LEASED && !w->again)
                intake_sleep(w->in, INTAKE_GATHER_MS);
        }
    stack_grouper_free(w->writer.ids.grouper);
    intake_ids_free(&w->writer.ids);
    intake_sums_free(&w->writer.sums);
    arena_free(&w->writer.arena);
    arena_free(&w->arena);
    free(w);
    return NULL;
}
