/*
 * Bodies that are too old, or too many for the disk: retention.h. They go pack by pack: first the
 * reports let go of the pack (report.pack NULL, in one transaction with the pack's row when none is
 * left in it), then the blob goes. A pack holds reports of a few minutes, of all projects: one of a
 * project that keeps bodies longer stays until those are over too.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/retention.h"

#include <stdio.h>
#include <stdlib.h>

enum { FOUND_MAX = 1000 };
static const int64_t DAY_MS = 86400000;

struct pack {
    int64_t id;
    uint64_t size;
    char key[128];
};

struct packs {
    struct pack *list;
    size_t count, capacity;
};

/* Packs from before `cut` in which the project (0: any) has bodies, the oldest first. A pack is
 * made after its reports came. */
static const char find_packs[] =
    "SELECT pack.id, pack.size, pack.key FROM pack WHERE pack.created_ms < $1"
    " AND ($2 = 0 OR EXISTS (SELECT 1 FROM report WHERE report.pack = pack.id"
    " AND report.project = $2)) ORDER BY pack.id LIMIT $3";

static fw_error find(const struct retention_run *run, int64_t project, int64_t cut,
                     struct packs *packs, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    packs->count = 0;
    fw_error e = db_take(run->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, find_packs,
                 DB_VALUES(db_int(cut), db_int(project), db_int(FOUND_MAX)));
    if (!e) {
        bool room = true;
        while (room && db_next(rows)) {
            room = array_room(&packs->list, &packs->capacity, packs->count, sizeof *packs->list);
            if (!room)
                break;
            struct pack *pack = &packs->list[packs->count++];
            *pack = (struct pack){.id = db_get_int(rows, 0), .size = (uint64_t)db_get_int(rows, 1)};
            snprintf(pack->key, sizeof pack->key, "%s", db_get_text(rows, 2));
        }
        e = db_end(rows, why);
        if (!e && !room)
            e = failure_memory(why);
    }
    db_give(run->c->db, conn);
    return e;
}

static fw_error let_go(struct db_conn *conn, int64_t pack, int64_t project, uint64_t *bodies,
                       uint64_t *empty, struct fw_failure *why)
{
    fw_error e = db_begin(conn, why);
    e = e ? e
          : db_change(conn, why, bodies,
                      "UPDATE report SET pack = NULL, body_offset = NULL, body_size = NULL"
                      " WHERE pack = $1 AND ($2 = 0 OR project = $2)",
                      DB_VALUES(db_int(pack), db_int(project)));
    e = e ? e
          : db_change(conn, why, empty,
                      "DELETE FROM pack WHERE id = $1"
                      " AND NOT EXISTS (SELECT 1 FROM report WHERE report.pack = pack.id)",
                      DB_VALUES(db_int(pack)));
    return e ? e : db_commit(conn, why);
}

static fw_error remove_pack(struct retention_run *run, const struct pack *pack, int64_t project,
                            struct fw_failure *why)
{
    struct db_conn *conn;
    uint64_t bodies = 0, empty = 0;
    fw_error e = db_take(run->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = let_go(conn, pack->id, project, &bodies, &empty, why);
    db_give(run->c->db, conn);
    if (e)
        return e;
    run->counts.of[RETENTION_BODIES] += bodies;
    if (empty) {
        run->counts.body_bytes += pack->size;
        blobs_remove(run->c->blobs, pack->key, NULL); /* what stays, packs.sweep finds */
    }
    return FW_OK;
}

fw_error retention_bodies(struct retention_run *run, int64_t project,
                          const struct keep_settings *settings, struct fw_failure *why)
{
    struct packs packs = {0};
    int64_t cut = (int64_t)run->now_ms - settings->body_days * DAY_MS;
    fw_error e;
    do {
        e = find(run, project, cut, &packs, why);
        for (size_t i = 0; i < packs.count && !e; i++) {
            e = retention_go_on(run, why);
            e = e ? e : remove_pack(run, &packs.list[i], project, why);
        }
    } while (!e && packs.count == FOUND_MAX);
    free(packs.list);
    return e;
}

fw_error retention_bodies_count(struct retention_run *run, int64_t project,
                                const struct keep_settings *settings, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    fw_error e = db_take(run->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(
        conn, &rows, why,
        "SELECT COUNT(*), CAST(SUM(report.body_size) AS BIGINT) FROM pack"
        " JOIN report ON report.pack = pack.id"
        " WHERE pack.created_ms < $1 AND report.project = $2",
        DB_VALUES(db_int((int64_t)run->now_ms - settings->body_days * DAY_MS), db_int(project)));
    if (!e) {
        if (db_next(rows)) {
            run->counts.of[RETENTION_BODIES] += (uint64_t)db_get_int(rows, 0);
            run->counts.body_bytes += (uint64_t)db_get_int(rows, 1);
        }
        e = db_end(rows, why);
    }
    db_give(run->c->db, conn);
    return e;
}

fw_error retention_disk(struct retention_run *run, double share, struct fw_failure *why)
{
    struct packs packs = {0};
    fw_error e = FW_OK;
    if (blobs_used(run->c->blobs) > share)
        e = find(run, 0, (int64_t)run->now_ms - DAY_MS, &packs, why);
    for (size_t i = 0; i < packs.count && !e && blobs_used(run->c->blobs) > share; i++) {
        e = retention_go_on(run, why);
        e = e ? e : remove_pack(run, &packs.list[i], 0, why);
    }
    free(packs.list);
    return e;
}
