/*
 * Reports come in: the queue and the thread that commits it (intake.h).
 *
 * Invariant: an item is INTAKE_ACCEPTED only after the transaction that holds its id and body has
 * committed. A transaction that failed, or whose answer was lost, gives INTAKE_RETRY to all that
 * were in it; if it happened after all, the resend finds its id in `seen`.
 */
#include "collector/clock.h"
#include "collector/damage.h"
#include "collector/intake_inner.h"

#include "base/failure.h"
#include "collector/db.h"
#include "collector/health.h"
#include "collector/log.h"
#include "collector/metrics.h"
#include "collector/packs.h"
#include "collector/server.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 3, PACKER_MS = 1000 };

/* ---- waiting ---- */

bool intake_stopping(struct intake *in)
{
    pthread_mutex_lock(&in->lock);
    bool stopping = in->stopping;
    pthread_mutex_unlock(&in->lock);
    return stopping;
}

void intake_wait(struct intake *in, unsigned ms, uint64_t *seen)
{
    struct timespec at = clock_after(ms);
    pthread_mutex_lock(&in->lock);
    while (!in->stopping && in->committed == *seen &&
           pthread_cond_timedwait(&in->changed, &in->lock, &at) == 0)
        ;
    *seen = in->committed;
    pthread_mutex_unlock(&in->lock);
}

void intake_sleep(struct intake *in, unsigned ms)
{
    struct timespec at = clock_after(ms);
    pthread_mutex_lock(&in->lock);
    while (!in->stopping && pthread_cond_timedwait(&in->changed, &in->lock, &at) == 0)
        ;
    pthread_mutex_unlock(&in->lock);
}

/* ---- one batch ---- */

struct batch_row {
    struct intake_item *item;
    struct span packed;
    int64_t sum; /* of `packed` */
    bool duplicate;
};

static int by_id(const void *a, const void *b)
{
    const struct intake_item *x = ((const struct batch_row *)a)->item;
    const struct intake_item *y = ((const struct batch_row *)b)->item;
    if (x->project != y->project)
        return x->project < y->project ? -1 : 1;
    return memcmp(x->id, y->id, sizeof x->id);
}

static fw_error insert_body(struct db_conn *conn, const struct batch_row *row, int64_t now_ms,
                            struct fw_failure *why)
{
    int64_t seq;
    fw_error e = db_query_int(conn, &seq, why,
                              "INSERT INTO inbox (project, report_id, received_ms, size, packed,"
                              " body_sum) VALUES ($1, $2, $3, $4, $5, $6) RETURNING seq",
                              DB_VALUES(db_int(row->item->project), db_bytes(row->item->id, 16),
                                        db_int(now_ms), db_int((int64_t)row->item->body.size),
                                        db_int((int64_t)row->packed.size), db_int(row->sum)));
    return e ? e
             : db_run(conn, why, "INSERT INTO inbox_body (seq, body) VALUES ($1, $2)",
                      DB_VALUES(db_int(seq), db_bytes(row->packed.data, row->packed.size)));
}

static fw_error insert_rows(struct db_conn *conn, struct batch_row *rows, size_t count,
                            struct fw_failure *why)
{
    int64_t now_ms = (int64_t)collector_now_ms();
    fw_error e = db_begin(conn, why);
    for (size_t i = 0; i < count && !e; i++) {
        uint64_t changed = 0;
        e = db_change(conn, why, &changed,
                      "INSERT INTO seen (project, report_id, received_ms) VALUES ($1, $2, $3)"
                      " ON CONFLICT (project, report_id) DO NOTHING",
                      DB_VALUES(db_int(rows[i].item->project), db_bytes(rows[i].item->id, 16),
                                db_int(now_ms)));
        rows[i].duplicate = changed == 0;
        if (!e && changed)
            e = insert_body(conn, &rows[i], now_ms, why);
    }
    return e ? e : db_commit(conn, why);
}

/* Conflicts and lost connections are tried again at once; the ids make that harmless. */
static fw_error commit_rows(struct intake *in, struct batch_row *rows, size_t count,
                            struct fw_failure *why)
{
    fw_error e = FW_ERR_SYSTEM;
    for (unsigned i = 0; i < TRIES; i++) {
        struct db_conn *conn;
        e = db_take_first(in->c->db, &conn, why);
        if (e)
            return e;
        e = insert_rows(conn, rows, count, why);
        db_give(in->c->db, conn);
        if (e != FW_ERR_TIMEOUT && e != FW_ERR_VANISHED)
            break;
    }
    return e;
}

static void tell(struct intake_item *item, enum intake_verdict verdict, bool full,
                 const char *reason)
{
    item->verdict = verdict;
    item->full = full;
    snprintf(item->reason, sizeof item->reason, "%s", reason);
}

static void tell_all(struct batch_row *rows, size_t count, bool full, const char *reason)
{
    for (size_t i = 0; i < count; i++)
        tell(rows[i].item, INTAKE_RETRY, full, reason);
}

static void store(struct intake *in, struct batch_row *rows, size_t count)
{
    struct fw_failure why = {0};
    if (server_disk_free(in->c) < in->c->options->disk_reserve) {
        tell_all(rows, count, true, "the server's disk is full");
        return;
    }
    qsort(rows, count, sizeof *rows, by_id);
    fw_error e = commit_rows(in, rows, count, &why);
    health_note(in->c->health, HEALTH_REPORTS, e ? &why : NULL);
    if (e) {
        tell_all(rows, count, e == FW_ERR_FULL,
                 e == FW_ERR_FULL ? "the server's disk is full" : "the database does not answer");
        return;
    }
    uint64_t duplicates = 0;
    for (size_t i = 0; i < count; i++) {
        duplicates += rows[i].duplicate;
        tell(rows[i].item, rows[i].duplicate ? INTAKE_DUPLICATE : INTAKE_ACCEPTED, false, "");
    }
    metrics_add(in->c->metrics, METRIC_REPORTS_ACCEPTED, count - duplicates);
    metrics_add(in->c->metrics, METRIC_REPORTS_DUPLICATE, duplicates);
}

/* ---- the committer ---- */

static void free_request(struct intake_request *r)
{
    for (size_t i = 0; i < r->count; i++)
        free((void *)(uintptr_t)r->packed[i].data);
    free(r->packed);
    free(r);
}

/* Takes requests off the queue: INTAKE_BATCH reports, or what is there after INTAKE_WAIT_MS. NULL
 * when the intake stops and all is done. */
static struct intake_request *take_batch(struct intake *in, size_t *items)
{
    pthread_mutex_lock(&in->lock);
    while (!in->first && !in->stopping)
        pthread_cond_wait(&in->queued, &in->lock);
    if (in->first && in->items < INTAKE_BATCH && !in->stopping) {
        struct timespec at = clock_after(INTAKE_WAIT_MS);
        while (in->items < INTAKE_BATCH && !in->stopping &&
               pthread_cond_timedwait(&in->queued, &in->lock, &at) == 0)
            ;
    }
    struct intake_request *batch = in->first, **end = &batch;
    *items = 0;
    while (*end && *items < INTAKE_BATCH) {
        *items += (*end)->count;
        in->bytes -= (*end)->bytes;
        end = &(*end)->next;
    }
    in->items -= *items;
    in->first = *end;
    *end = NULL;
    if (!in->first)
        in->last = &in->first;
    pthread_mutex_unlock(&in->lock);
    return batch;
}

static void commit_batch(struct intake *in, struct intake_request *batch, size_t items)
{
    struct batch_row *rows = calloc(items ? items : 1, sizeof *rows);
    size_t count = 0;
    for (struct intake_request *r = batch; r; r = r->next)
        for (size_t i = 0; i < r->count; i++) {
            if (r->items[i].verdict != INTAKE_ACCEPTED)
                continue;
            if (rows)
                rows[count++] = (struct batch_row){
                    .item = &r->items[i], .packed = r->packed[i], .sum = damage_sum(r->packed[i])};
            else
                tell(&r->items[i], INTAKE_RETRY, false, "the server is out of memory");
        }
    if (count)
        store(in, rows, count);
    free(rows);
    pthread_mutex_lock(&in->lock);
    in->committed++;
    pthread_cond_broadcast(&in->changed);
    pthread_mutex_unlock(&in->lock);
    for (struct intake_request *next; batch; batch = next) {
        next = batch->next;
        batch->told(batch->context);
        free_request(batch);
    }
}

static void *commit_loop(void *context)
{
    struct intake *in = context;
    struct intake_request *batch;
    size_t items;
    while ((batch = take_batch(in, &items)) != NULL)
        commit_batch(in, batch, items);
    return NULL;
}

/* ---- the packer ---- */

static void *pack_loop(void *context)
{
    struct intake *in = context;
    bool said = false;
    while (!intake_stopping(in)) {
        struct fw_failure why = {0};
        size_t count;
        fw_error e = packs_write(in->c, &count, &why);
        if (e && !said)
            log_line("bodies of reports stay in the database for now: %s", why.message);
        said = e != FW_OK;
        if (count == 0)
            intake_sleep(in, PACKER_MS);
    }
    return NULL;
}

/* ---- life ---- */

static void init(struct intake *in, struct collector *c)
{
    in->c = c;
    in->last = &in->first;
    pthread_mutex_init(&in->lock, NULL);
    clock_cond_init(&in->changed);
    clock_cond_init(&in->queued);
}

fw_error intake_start(struct collector *c, unsigned workers, struct intake **intake,
                      struct fw_failure *why)
{
    struct intake *in = calloc(1, sizeof *in);
    if (!in)
        return failure_memory(why);
    init(in, c);
    fw_error e = install_salt(c->db, in->salt, why);
    if (e) {
        intake_stop(in);
        return e;
    }
    workers = workers < INTAKE_WORKERS ? workers : INTAKE_WORKERS;
    in->has_committer = pthread_create(&in->committer, NULL, commit_loop, in) == 0;
    in->has_packer = pthread_create(&in->packer, NULL, pack_loop, in) == 0;
    while (in->worker_count < workers &&
           pthread_create(&in->workers[in->worker_count], NULL, intake_worker, in) == 0)
        in->worker_count++;
    if (!in->has_committer || !in->has_packer || in->worker_count < workers) {
        intake_stop(in);
        return failure_say(why, FW_ERR_SYSTEM, 0, "threads cannot be started");
    }
    *intake = in;
    return FW_OK;
}

void intake_stop(struct intake *in)
{
    if (!in)
        return;
    pthread_mutex_lock(&in->lock);
    in->stopping = true;
    pthread_cond_broadcast(&in->changed);
    pthread_cond_broadcast(&in->queued);
    pthread_mutex_unlock(&in->lock);
    if (in->has_committer)
        pthread_join(in->committer, NULL);
    if (in->has_packer)
        pthread_join(in->packer, NULL);
    for (unsigned i = 0; i < in->worker_count; i++)
        pthread_join(in->workers[i], NULL);
    pthread_cond_destroy(&in->changed);
    pthread_cond_destroy(&in->queued);
    pthread_mutex_destroy(&in->lock);
    free(in);
}

/* ---- adding ---- */

static struct intake_request *pack_request(struct intake_item *items, size_t count)
{
    struct intake_request *r = calloc(1, sizeof *r);
    struct span *packed = calloc(count ? count : 1, sizeof *packed);
    if (!r || !packed) {
        free(r);
        free(packed);
        return NULL;
    }
    *r = (struct intake_request){.items = items, .count = count, .packed = packed};
    for (size_t i = 0; i < count; i++) {
        uint8_t *bytes = NULL;
        if (items[i].verdict != INTAKE_ACCEPTED)
            continue;
        if (packs_squeeze(items[i].body, &bytes, &packed[i].size, NULL) != FW_OK)
            tell(&items[i], INTAKE_RETRY, false, "the server is out of memory");
        packed[i].data = bytes;
        r->bytes += bytes ? packed[i].size : 0;
    }
    return r;
}

bool intake_add(struct intake *in, struct intake_item *items, size_t count,
                void (*told)(void *context), void *context)
{
    struct intake_request *r = pack_request(items, count);
    if (!r)
        return false;
    r->told = told;
    r->context = context;
    pthread_mutex_lock(&in->lock);
    bool room = !in->stopping && (in->bytes == 0 || in->bytes + r->bytes <= INTAKE_QUEUE_BYTES);
    if (room) {
        *in->last = r;
        in->last = &r->next;
        in->bytes += r->bytes;
        in->items += count;
        pthread_cond_signal(&in->queued);
    }
    pthread_mutex_unlock(&in->lock);
    if (!room)
        free_request(r);
    return room;
}

const char *intake_salt(const struct intake *in)
{
    return in->salt;
}
