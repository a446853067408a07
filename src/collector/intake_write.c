/*
 * One transaction for a batch of reports:
 *
 *     inbox (state 2: ours) -> image, version, term, stack, groups -> report -> sums
 *
 * Taking the inbox rows first makes it happen once: they are taken only while they are waiting and
 * leased to this worker. Every table is written in the order of its keys, and the tables in this
 * order, so that two servers wait for each other and do not deadlock; where they do (two new groups
 * at the same moment), the database ends one of them and it begins again.
 */
#include "collector/intake_write.h"
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/jobs.h"
#include "collector/symbols.h"

enum { HELD_MAPS = 512 };

static fw_error take_rows(struct db_conn *conn, struct intake_report **reports, size_t count,
                          int64_t lease_ms, struct fw_failure *why)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++) {
        uint64_t changed = 0;
        e = db_change(conn, why, &changed,
                      "UPDATE inbox SET state = 2, lease_ms = 0, error = NULL"
                      " WHERE seq = $1 AND state = 0 AND lease_ms = $2",
                      DB_VALUES(db_int(reports[i]->seq), db_int(lease_ms)));
        if (!e && changed != 1)
            e = failure_say(why, FW_ERR_NOT_FOUND, 0, "another server has report %lld of the inbox",
                            (long long)reports[i]->seq);
    }
    return e;
}

static struct db_value row_or_null(int64_t row)
{
    return row ? db_int(row) : db_null();
}

/* `added`: the report was not there. It never is, but for an id that retention forgot in `seen`. */
static fw_error insert_report(struct db_conn *conn, const struct intake_report *r, bool *added,
                              struct fw_failure *why)
{
    const struct digest *d = &r->digest;
    uint64_t changed = 0;
    fw_error e = db_change(
        conn, why, &changed,
        "INSERT INTO report (project, report_id, kind, received_ms, started_ms, day, version, os,"
        " device, session, install, stack, group_id, duration_ns, ending, threads, frames,"
        " complete, body_offset, body_size, body_sum)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,"
        " $19, $20, $21) ON CONFLICT (project, report_id) DO NOTHING",
        DB_VALUES(db_int(r->project), db_bytes(r->id, sizeof r->id), db_int(d->kind),
                  db_int((int64_t)r->received_ms), db_int((int64_t)d->started_ms), db_int(d->day),
                  db_int(r->version), row_or_null(r->os), row_or_null(r->device),
                  d->has_session ? db_bytes(d->session, sizeof d->session) : db_null(),
                  d->has_install ? db_bytes(d->install, sizeof d->install) : db_null(),
                  d->key == SIZE_MAX ? db_null() : db_int(d->stacks[d->key].row),
                  row_or_null(r->group), db_int((int64_t)d->duration_ns), db_int(d->ending),
                  db_int((int64_t)d->threads), db_int((int64_t)d->frames), db_int(d->complete),
                  db_int(r->seq), db_int(r->packed),
                  r->body_sum < 0 ? db_null() : db_int(r->body_sum)));
    *added = changed == 1;
    return e;
}

static fw_error write_all(struct intake_writer *w, struct db_conn *conn,
                          struct intake_report **reports, size_t count, int64_t lease_ms,
                          struct fw_failure *why)
{
    w->sums.count = w->sums.groups.count = 0;
    fw_error e = db_begin_soft(conn, why); /* what is lost is in the inbox as before */
    e = e ? e : take_rows(conn, reports, count, lease_ms, why);
    e = e ? e : intake_ids_fill(&w->ids, conn, reports, count, &w->arena, why);
    for (size_t i = 0; i < count && !e; i++) {
        bool added;
        e = insert_report(conn, reports[i], &added, why);
        if (!e && added && intake_sums_add(&w->sums, reports[i]) != FW_OK)
            e = failure_memory(why);
    }
    e = e ? e : intake_sums_write(&w->sums, conn, reports, count, collector_now_ms(), why);
    if (!e && w->ids.calls_todo)
        e = jobs_add(conn, "calls", "", "", why);
    e = e ? e : limits_write(&w->ids.limits, conn, why);
    return e ? e : db_commit(conn, why);
}

/* Maps of stacks that may need names are opened before: a thread has one connection at a time, and
 * finding a map takes one. */
static size_t hold_maps(struct intake_writer *w, struct intake_report **reports, size_t count,
                        struct symbols_image **held)
{
    size_t holding = 0;
    for (size_t i = 0; i < count; i++) {
        const struct digest *d = &reports[i]->digest;
        if (d->key == SIZE_MAX ||
            intake_ids_has_group(&w->ids, reports[i]->project, &d->stacks[d->key]))
            continue;
        const struct digest_stack *key = &d->stacks[d->key];
        for (size_t j = 0; j < key->count && holding < HELD_MAPS; j++) {
            int64_t number = key->frames[j].image;
            const struct digest_image *image = number ? &d->images[number - 1] : NULL;
            if (!image || !image->debug_id.size || (j && key->frames[j - 1].image == number))
                continue;
            held[holding] = symbols_take(w->c->symbols, reports[i]->project, image->debug_id.data,
                                         image->debug_id.size, *image->arch ? image->arch : NULL);
            holding += held[holding] != NULL;
        }
    }
    return holding;
}

fw_error intake_write(struct intake_writer *w, struct intake_report **reports, size_t count,
                      int64_t lease_ms, struct fw_failure *why)
{
    struct symbols_image *held[HELD_MAPS];
    struct db_conn *conn;
    size_t holding = hold_maps(w, reports, count, held);
    fw_error e = db_take(w->c->db, DB_WRITE, &conn, why);
    int64_t since = clock_ms();
    if (!e) {
        e = write_all(w, conn, reports, count, lease_ms, why);
        db_give(w->c->db, conn);
        if (e)
            intake_ids_forget(&w->ids);
    }
    w->held_ms = clock_ms() - since;
    while (holding > 0)
        symbols_drop(held[--holding]);
    arena_reset(&w->arena);
    return e;
}
