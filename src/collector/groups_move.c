/* Reports follow their stacks: groups_move.h. */
#include "collector/groups_move.h"
#include "base/array.h"
#include "base/failure.h"
#include "collector/db_many.h"
#include "collector/group_sums.h"
#include "collector/groups.h"

#include <stdlib.h>

enum { PACE_FIRST = 128, PACE_LEAST = 128, PACE_MOST = 1024, PACE_POSTGRES = 8192 };

/* ---- pace ---- */

/* With PostgreSQL nobody waits for the connection. */
size_t groups_pace_limit(const struct groups_pace *pace, const struct db *db)
{
    if (db_is_postgres(db))
        return PACE_POSTGRES;
    return pace->reports ? pace->reports : PACE_FIRST;
}

void groups_pace_took(struct groups_pace *pace, const struct db *db, size_t moved, int64_t ms)
{
    size_t limit = groups_pace_limit(pace, db);
    if (ms > GROUPS_TURN_MS && limit > PACE_LEAST)
        limit /= 2;
    else if (ms < GROUPS_TURN_MS / 2 && moved * 2 > limit && limit < PACE_MOST)
        limit *= 2;
    pace->reports = limit;
}

/* ---- moving ---- */

struct report { /* that moves */
    int64_t id, stack, to;
    struct group_report sums;
};

struct moving {
    struct db_conn *conn;
    struct fw_failure *why;
    struct report *reports;
    size_t count, capacity, limit;
    bool more, no_memory;      /* more: there are others beyond the limit */
    int64_t cut;               /* the first stack that is not whole, when there are more */
    struct db_value before[2]; /* of the query: `after`, and how many rows */
};

static void take_row(void *context, const struct db_rows *rows)
{
    struct moving *m = context;
    if (m->count == m->limit || m->more) {
        if (!m->more)
            m->cut = db_get_int(rows, 1);
        m->more = true;
        return;
    }
    if (!array_room(&m->reports, &m->capacity, m->count, sizeof *m->reports)) {
        m->no_memory = true;
        return;
    }
    m->reports[m->count++] = (struct report){.id = db_get_int(rows, 0),
                                             .stack = db_get_int(rows, 1),
                                             .to = db_get_int(rows, 2),
                                             .sums = group_report_of(rows, 3)};
    m->before[1] = db_int((int64_t)(m->limit - m->count) + 1);
}

#define COLUMNS(to) "SELECT r.id, r.stack, " to ", " GROUP_SUMS_COLUMNS " FROM "

/* One stack's are read in the order of an index, and no further than the limit. */
static fw_error read_one(struct moving *m, const struct groups_move *move)
{
    struct db_rows *rows;
    fw_error e = db_query(
        m->conn, &rows, m->why,
        COLUMNS("CAST($4 AS BIGINT)") "report r WHERE r.stack = $3"
                                      " AND r.group_id <> $4 AND r.id > $1 ORDER BY r.id LIMIT $2",
        DB_VALUES(m->before[0], m->before[1], db_int(move->stack), db_int(move->to)));
    if (e)
        return e;
    while (db_next(rows))
        take_row(m, rows);
    return db_end(rows, m->why);
}

/* PostgreSQL alone: many are asked for at once, for each answer is waited for. LATERAL with a LIMIT
 * makes it look up one stack after the other; of a plain join it may read a whole index. */
static fw_error read_many(struct moving *m, const struct groups_move *moves, size_t count)
{
    struct db_many many = {.conn = m->conn,
                           .why = m->why,
                           .head = COLUMNS("v.column2") "(VALUES ",
                           .tail = ") AS v CROSS JOIN LATERAL (SELECT * FROM report"
                                   " WHERE stack = v.column1 AND group_id <> v.column2"
                                   " AND id > $1 ORDER BY id LIMIT $2) r"
                                   " ORDER BY r.stack, r.id LIMIT $2",
                           .columns = 2,
                           .before = m->before,
                           .before_count = 2,
                           .returned = take_row,
                           .context = m};
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e && !m->more; i++)
        e = db_many_add(&many, DB_ROW(db_int(moves[i].stack), db_int(moves[i].to)));
    return e ? e : db_many_end(&many);
}

static fw_error read_reports(struct moving *m, const struct groups_move *moves, size_t count,
                             bool together)
{
    fw_error e = together ? read_many(m, moves, count) : FW_OK;
    for (size_t i = 0; i < count && !e && !m->more && !together; i++)
        e = read_one(m, &moves[i]);
    return e || !m->no_memory ? e : failure_say(m->why, FW_ERR_MEMORY, 0, "out of memory");
}

static fw_error write_reports(struct moving *m)
{
    struct db_many many = {.conn = m->conn,
                           .why = m->why,
                           .head = "UPDATE report SET group_id = v.column2 FROM (VALUES ",
                           .tail = ") AS v WHERE report.id = v.column1 AND report.id IN ({first})",
                           .columns = 2};
    fw_error e = FW_OK;
    for (size_t i = 0; i < m->count && !e; i++)
        e = db_many_add(&many, DB_ROW(db_int(m->reports[i].id), db_int(m->reports[i].to)));
    return e ? e : db_many_end(&many);
}

fw_error groups_mark_stale(struct db_conn *conn, int64_t group, struct fw_failure *why)
{
    return db_run(conn, why,
                  "UPDATE hang_group SET moving = moving | 1 WHERE id = $1 AND (moving & 1) = 0",
                  DB_VALUES(db_int(group)));
}

/* Of a resolved one the versions are looked at when it is settled. */
static fw_error mark(struct moving *m, const struct group_sums *sums)
{
    fw_error e = FW_OK;
    int64_t before = 0;
    for (size_t i = 0; i < m->count && !e; i++) {
        int64_t group = m->reports[i].sums.group;
        if (group != before)
            e = groups_mark_stale(m->conn, group, m->why);
        before = group;
    }
    for (size_t i = 0; i < sums->resolved_count && !e; i++)
        e = groups_mark_stale(m->conn, sums->resolved[i], m->why);
    return e;
}

static fw_error write_sums(struct moving *m)
{
    struct group_sums sums = {0};
    fw_error e = FW_OK;
    for (size_t i = 0; i < m->count && !e; i++) {
        struct group_report report = m->reports[i].sums;
        e = group_sums_add(&sums, &report, -1);
        report.group = m->reports[i].to;
        e = e ? e : group_sums_add(&sums, &report, 1);
    }
    if (e)
        failure_say(m->why, e, 0, "out of memory");
    e = e ? e : group_sums_write(&sums, m->conn, m->why);
    e = e ? e : mark(m, &sums);
    group_sums_free(&sums);
    return e;
}

fw_error groups_move_reports(const struct db *db, struct db_conn *conn,
                             const struct groups_move *moves, size_t count, int64_t after,
                             size_t limit, struct groups_moved *done, struct fw_failure *why)
{
    struct moving m = {.conn = conn,
                       .why = why,
                       .limit = limit,
                       .before = {db_int(after), db_int((int64_t)limit + 1)}};
    fw_error e = read_reports(&m, moves, count, db_is_postgres(db) && count > 1);
    e = e ? e : write_reports(&m);
    e = e ? e : write_sums(&m);
    *done = (struct groups_moved){.moved = m.count,
                                  .last = m.count ? m.reports[m.count - 1].id : after};
    while (done->whole < count && (!m.more || moves[done->whole].stack < m.cut))
        done->whole++;
    free(m.reports);
    return e;
}
