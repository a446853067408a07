/* The sums of groups, made anew from `report`: groups.h. What counts is docs/collector.md, "Sums":
 * every report with a group_id. */
#include "collector/groups.h"
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/versions.h"
#include "report/fwr.h"

#define MOVING "SELECT id FROM hang_group WHERE moving <> 0 AND id BETWEEN $1 AND $2"

static fw_error next_range(struct db_conn *conn, size_t limit, int64_t range[2], size_t *count,
                           struct fw_failure *why)
{
    struct db_rows *rows;
    *count = 0;
    fw_error e = db_query(conn, &rows, why,
                          "SELECT id FROM hang_group WHERE moving <> 0 ORDER BY id LIMIT $1",
                          DB_VALUES(db_int((int64_t)limit)));
    if (e)
        return e;
    while (db_next(rows)) {
        range[1] = db_get_int(rows, 0);
        if (!(*count)++)
            range[0] = range[1];
    }
    return db_end(rows, why);
}

static fw_error sum(struct db_conn *conn, const int64_t range[2], struct fw_failure *why)
{
    static const char *const statements[] = {
        "DELETE FROM group_day WHERE group_id IN (" MOVING ")",
        "DELETE FROM group_term WHERE group_id IN (" MOVING ")",
        "DELETE FROM group_install WHERE group_id IN (" MOVING ")",
        "INSERT INTO group_term (group_id, term, reports, blocked_ns)"
        " SELECT group_id, os, COUNT(*), CAST(SUM(duration_ns) AS BIGINT) FROM report"
        " WHERE os IS NOT NULL AND group_id IN (" MOVING ") GROUP BY group_id, os",
        "INSERT INTO group_term (group_id, term, reports, blocked_ns)"
        " SELECT group_id, device, COUNT(*), CAST(SUM(duration_ns) AS BIGINT) FROM report"
        " WHERE device IS NOT NULL AND group_id IN (" MOVING ") GROUP BY group_id, device",
        "INSERT INTO group_install (group_id, install, reports)"
        " SELECT group_id, install, COUNT(*) FROM report"
        " WHERE install IS NOT NULL AND group_id IN (" MOVING ") GROUP BY group_id, install",
        "UPDATE hang_group SET reports = 0, blocked_ns = 0, longest_ns = 0, killed = 0,"
        " installs = (SELECT COUNT(*) FROM group_install i WHERE i.group_id = hang_group.id)"
        " WHERE id IN (" MOVING ")",
    };
    fw_error e = FW_OK;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !e; i++)
        e = db_run(conn, why, statements[i], DB_VALUES(db_int(range[0]), db_int(range[1])));
    return e;
}

static fw_error sum_days(struct db_conn *conn, const int64_t range[2], struct fw_failure *why)
{
    fw_error e =
        db_run(conn, why,
               "INSERT INTO group_day (group_id, day, version, reports, blocked_ns, killed)"
               " SELECT group_id, day, version, COUNT(*), CAST(SUM(duration_ns) AS BIGINT),"
               " CAST(SUM(CASE WHEN ending = $3 THEN 1 ELSE 0 END) AS BIGINT) FROM report"
               " WHERE group_id IN (" MOVING ") GROUP BY group_id, day, version",
               DB_VALUES(db_int(range[0]), db_int(range[1]), db_int(FWR_KILLED)));
    return e ? e
             : db_run(conn, why,
                      "UPDATE hang_group SET reports = r.reports, blocked_ns = r.blocked,"
                      " longest_ns = r.longest, killed = r.killed, first_ms = r.first_ms,"
                      " last_ms = r.last_ms, first_version = r.first_version,"
                      " last_version = r.last_version"
                      " FROM (SELECT group_id, COUNT(*) AS reports,"
                      " CAST(SUM(duration_ns) AS BIGINT) AS blocked, MAX(duration_ns) AS longest,"
                      " CAST(SUM(CASE WHEN ending = $3 THEN 1 ELSE 0 END) AS BIGINT) AS killed,"
                      " MIN(started_ms) AS first_ms, MAX(started_ms) AS last_ms,"
                      " MIN(version) AS first_version, MAX(version) AS last_version FROM report"
                      " WHERE group_id IN (" MOVING ") GROUP BY group_id) AS r"
                      " WHERE hang_group.id = r.group_id",
                      DB_VALUES(db_int(range[0]), db_int(range[1]), db_int(FWR_KILLED)));
}

struct back { /* resolved groups that hold reports of a later version */
    int64_t groups[GROUPS_SETTLE_BATCH];
    size_t count;
};

static fw_error find_back(struct db_conn *conn, const int64_t range[2], struct back *back,
                          struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why,
                          "SELECT h.id, v.version, v.build, r.version, r.build FROM hang_group h"
                          " JOIN version r ON r.id = h.resolved_version"
                          " JOIN (SELECT DISTINCT group_id, version FROM group_day"
                          " WHERE group_id IN (" MOVING ")) d ON d.group_id = h.id"
                          " JOIN version v ON v.id = d.version WHERE h.status = $3"
                          " ORDER BY h.id",
                          DB_VALUES(db_int(range[0]), db_int(range[1]), db_int(GROUP_RESOLVED)));
    if (e)
        return e;
    while (db_next(rows)) {
        int64_t group = db_get_int(rows, 0);
        if (back->count < GROUPS_SETTLE_BATCH &&
            (!back->count || back->groups[back->count - 1] != group) &&
            version_is_later(db_get_text(rows, 1), db_get_text(rows, 2), db_get_text(rows, 3),
                             db_get_text(rows, 4)))
            back->groups[back->count++] = group;
    }
    return db_end(rows, why);
}

/* What stacks bring that move into a resolved group may be a report of a later version: the same as
 * when it came in now. */
static fw_error reopen(struct db_conn *conn, const int64_t range[2], struct fw_failure *why)
{
    struct back back = {.count = 0};
    int64_t now = (int64_t)collector_now_ms();
    fw_error e = find_back(conn, range, &back, why);
    for (size_t i = 0; i < back.count && !e; i++)
        e = db_run(conn, why, "UPDATE hang_group SET status = 0, reopened_ms = $2 WHERE id = $1",
                   DB_VALUES(db_int(back.groups[i]), db_int(now)));
    return e;
}

/* Groups that nothing is left of, unless somebody touched them; and the sample of those whose
 * sample moved away. */
static fw_error tidy(struct db_conn *conn, const int64_t range[2], struct fw_failure *why)
{
    static const char *const statements[] = {
        "DELETE FROM hang_group WHERE moving <> 0 AND id BETWEEN $1 AND $2"
        " AND reports = 0 AND status <> 3"
        " AND ((status = 0 AND note = '' AND pinned = 0) OR moving >= 4)"
        " AND NOT EXISTS (SELECT 1 FROM stack WHERE stack.group_id = hang_group.id)"
        " AND NOT EXISTS (SELECT 1 FROM hang_group m WHERE m.merged_into = hang_group.id)",
        "UPDATE hang_group SET"
        " sample_stack = (SELECT MIN(id) FROM stack WHERE stack.group_id = hang_group.id)"
        " WHERE id IN (" MOVING ") AND status <> 3"
        " AND NOT EXISTS (SELECT 1 FROM stack WHERE stack.id = hang_group.sample_stack"
        " AND stack.group_id = hang_group.id)",
        "UPDATE hang_group SET moving = 0 WHERE id IN (" MOVING ")",
    };
    fw_error e = FW_OK;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !e; i++)
        e = db_run(conn, why, statements[i], DB_VALUES(db_int(range[0]), db_int(range[1])));
    return e;
}

static fw_error settle_range(struct db_conn *conn, const int64_t range[2], struct fw_failure *why)
{
    fw_error e = sum(conn, range, why);
    e = e ? e : sum_days(conn, range, why);
    e = e ? e : reopen(conn, range, why);
    return e ? e : tidy(conn, range, why);
}

static fw_error settle(struct db_conn *conn, size_t limit, size_t *count, struct fw_failure *why)
{
    int64_t range[2] = {0, 0};
    fw_error e = next_range(conn, limit, range, count, why);
    return e || !*count ? e : settle_range(conn, range, why);
}

fw_error groups_settle(struct db_conn *conn, size_t *count, struct fw_failure *why)
{
    return settle(conn, GROUPS_SETTLE_BATCH, count, why);
}

fw_error groups_settle_one(struct db_conn *conn, int64_t group, struct fw_failure *why)
{
    const int64_t range[2] = {group, group};
    return settle_range(conn, range, why);
}

/* As many groups at once as a turn of DB_TURN_MS has time for. */
static fw_error settle_batch(struct collector *c, size_t *limit, size_t *count,
                             struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    int64_t since = clock_ms();
    e = db_begin_soft(conn, why); /* `moving` tells what is to be done again */
    e = e ? e : stack_group_changed(conn, why);
    e = e ? e : db_use_indexes(conn, why);
    e = e ? e : settle(conn, *limit, count, why);
    e = e ? e : db_commit(conn, why);
    int64_t took = clock_ms() - since;
    if (took > DB_TURN_MS && *limit > 1)
        *limit /= 2;
    else if (took < DB_TURN_MS / 2 && *limit < GROUPS_SETTLE_BATCH)
        *limit *= 2;
    db_give(c->db, conn);
    return e;
}

fw_error groups_settle_all(struct collector *c, bool (*ours)(void *context), void *context,
                           struct fw_failure *why)
{
    size_t limit = 16;
    for (size_t count = 1; count;) {
        if (ours && !ours(context))
            return failure_say(why, FW_ERR_TIMEOUT, 0, "stopped while sums were made anew");
        fw_error e = settle_batch(c, &limit, &count, why);
        if (e)
            return e;
    }
    return FW_OK;
}
