/*
 * Rows that are too old: retention.h. A rule finds the keys of rows on a connection that reads, and
 * removes them one by one in short transactions, asking once more whether they are too old.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/group_sums.h"
#include "collector/groups.h"
#include "collector/retention.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 200, FOUND_MAX = 100000, KEYS = 3, ID_SIZE = 16 };
static const int64_t DAY_MS = 86400000;

/* What $2 of a rule is. */
enum cut { CUT_DAY, CUT_ROW_MS, CUT_STACK_MS, CUT_BODY_MS, CUT_SEEN_MS, CUT_AUDIT_MS };

/* $1: the project, $2: the cut, $3 of `find`: so many; of `remove`: the keys. Rules of no project
 * name both all the same: each database wants to know the type of each value. */
#define NO_PROJECT       "CAST($1 AS BIGINT) = 0 AND CAST($2 AS BIGINT) <> 0 AND "
#define NO_STACK(column) "NOT EXISTS (SELECT 1 FROM stack WHERE stack.id = " column ")"

static const struct rule {
    enum retention_what what;
    enum cut cut;
    unsigned char keys; /* columns of numbers; 0: one of bytes */
    bool global;        /* of no project */
    bool groups;        /* one column more: the group that loses something; 0: none */
    const char *find, *remove;
} rules[] = {
    {RETENTION_REPORTS, CUT_DAY, 1, false, true,
     "SELECT id, COALESCE(group_id, 0) FROM report WHERE project = $1 AND day < $2 LIMIT $3",
     "DELETE FROM report WHERE project = $1 AND day < $2 AND id = $3 "
     "RETURNING " GROUP_SUMS_COLUMNS},
    {RETENTION_DAYS, CUT_DAY, 2, false, false,
     "SELECT day, version FROM project_day WHERE project = $1 AND day < $2 LIMIT $3",
     "DELETE FROM project_day WHERE project = $1 AND day < $2 AND day = $3 AND version = $4"},
    {RETENTION_DAYS, CUT_DAY, 3, false, false,
     "SELECT day, term, version FROM term_day WHERE project = $1 AND day < $2 LIMIT $3",
     "DELETE FROM term_day WHERE project = $1 AND day < $2 AND day = $3 AND term = $4"
     " AND version = $5"},
    {RETENTION_DAYS, CUT_DAY, 2, false, false,
     "SELECT day, image FROM image_day WHERE project = $1 AND day < $2 LIMIT $3",
     "DELETE FROM image_day WHERE project = $1 AND day < $2 AND day = $3 AND image = $4"},
    {RETENTION_SESSIONS, CUT_DAY, 0, false, false,
     "SELECT session FROM session WHERE project = $1 AND day < $2 LIMIT $3",
     "DELETE FROM session WHERE project = $1 AND day < $2 AND session = $3"},
    {RETENTION_CALLS, CUT_ROW_MS, 3, false, false,
     "SELECT api, stack, version FROM call WHERE project = $1 AND last_ms < $2 LIMIT $3",
     "DELETE FROM call WHERE project = $1 AND last_ms < $2 AND api = $3 AND stack = $4"
     " AND version = $5"},
    {RETENTION_KINDS, CUT_DAY, 3, false, false,
     "SELECT version, site, day FROM call_day WHERE project = $1 AND day < $2 LIMIT $3",
     "DELETE FROM call_day WHERE project = $1 AND day < $2 AND version = $3 AND site = $4"
     " AND day = $5"},
    {RETENTION_KINDS, CUT_DAY, 2, false, false,
     "SELECT day, caller FROM call_caller_day WHERE project = $1 AND day < $2 LIMIT $3",
     "DELETE FROM call_caller_day WHERE project = $1 AND day < $2 AND day = $3 AND caller = $4"},
    /* What nothing refers to. Workers forget which places and versions there are. */
    {RETENTION_KINDS, CUT_DAY, 1, false, true,
     "SELECT s.id, CAST(0 AS BIGINT) FROM call_site s WHERE s.project = $1"
     " AND CAST($2 AS BIGINT) <> 0"
     " AND NOT EXISTS (SELECT 1 FROM call_day d WHERE d.site = s.id) LIMIT $3",
     "DELETE FROM call_site WHERE project = $1 AND CAST($2 AS BIGINT) <> 0 AND id = $3"
     " AND NOT EXISTS (SELECT 1 FROM call_day d WHERE d.site = call_site.id)"},
    {RETENTION_KINDS, CUT_DAY, 1, false, false,
     "SELECT c.id FROM call_caller c WHERE c.project = $1 AND CAST($2 AS BIGINT) <> 0"
     " AND NOT EXISTS (SELECT 1 FROM call_site s WHERE s.caller = c.id) LIMIT $3",
     "DELETE FROM call_caller WHERE project = $1 AND CAST($2 AS BIGINT) <> 0 AND id = $3"
     " AND NOT EXISTS (SELECT 1 FROM call_site s WHERE s.caller = call_caller.id)"},
    {RETENTION_KINDS, CUT_STACK_MS, 1, false, true,
     "SELECT v.id, CAST(0 AS BIGINT) FROM version v WHERE v.project = $1 AND v.last_ms < $2"
     " LIMIT $3",
     "DELETE FROM version WHERE project = $1 AND last_ms < $2 AND id = $3"},
    /* stack.last_ms is written once a day, so a stack that a report within row_days has is not
     * found. Those that somebody merged or split by hand stay: they say where their like go. */
    {RETENTION_STACKS, CUT_STACK_MS, 1, false, true,
     "SELECT s.id, COALESCE(s.group_id, 0) FROM stack s WHERE s.project = $1 AND s.last_ms < $2"
     " AND s.pinned = 0 AND NOT EXISTS (SELECT 1 FROM report WHERE report.stack = s.id) LIMIT $3",
     "DELETE FROM stack WHERE project = $1 AND last_ms < $2 AND id = $3 AND pinned = 0"
     " AND NOT EXISTS (SELECT 1 FROM report WHERE report.stack = stack.id)"},
    /* last_ms is written once a day, too, so what a report within row_days brought stays. */
    {RETENTION_NAMES, CUT_STACK_MS, 3, false, false,
     "SELECT DISTINCT image, frame_offset, flags FROM brought_name"
     " WHERE project = $1 AND last_ms < $2 LIMIT $3",
     "DELETE FROM brought_name WHERE project = $1 AND last_ms < $2 AND image = $3"
     " AND frame_offset = $4 AND flags = $5"},
    {RETENTION_UNREADABLE, CUT_BODY_MS, 1, false, false,
     "SELECT seq FROM inbox WHERE project = $1 AND received_ms < $2 AND state = 1 LIMIT $3",
     "DELETE FROM inbox_body WHERE seq = $3 AND EXISTS (SELECT 1 FROM inbox WHERE inbox.seq ="
     " inbox_body.seq AND project = $1 AND received_ms < $2 AND state = 1)"},
    {RETENTION_KINDS, CUT_BODY_MS, 1, false, false,
     "SELECT seq FROM inbox WHERE project = $1 AND received_ms < $2 AND state = 1"
     " AND NOT EXISTS (SELECT 1 FROM inbox_body b WHERE b.seq = inbox.seq) LIMIT $3",
     "DELETE FROM inbox WHERE project = $1 AND received_ms < $2 AND seq = $3 AND state = 1"},
    {RETENTION_SEEN, CUT_SEEN_MS, 0, false, false,
     "SELECT report_id FROM seen WHERE project = $1 AND received_ms < $2 LIMIT $3",
     "DELETE FROM seen WHERE project = $1 AND received_ms < $2 AND report_id = $3"},
    /* What names a stack that is gone. No number is given twice. */
    {RETENTION_FLAME, CUT_ROW_MS, 2, true, false,
     "SELECT key_stack, stack FROM flame WHERE " NO_PROJECT
     "(" NO_STACK("flame.key_stack") " OR " NO_STACK("flame.stack") ") LIMIT $3",
     "DELETE FROM flame WHERE " NO_PROJECT "key_stack = $3 AND stack = $4"},
    {RETENTION_KINDS, CUT_ROW_MS, 2, true, false,
     "SELECT image, stack FROM stack_image WHERE " NO_PROJECT NO_STACK(
         "stack_image.stack") " LIMIT $3",
     "DELETE FROM stack_image WHERE " NO_PROJECT "image = $3 AND stack = $4"},
    {RETENTION_AUDIT, CUT_AUDIT_MS, 1, true, false,
     "SELECT id FROM audit WHERE CAST($1 AS BIGINT) = 0 AND at_ms < $2 LIMIT $3",
     "DELETE FROM audit WHERE CAST($1 AS BIGINT) = 0 AND at_ms < $2 AND id = $3"},
};
enum { RULES = sizeof rules / sizeof *rules };

static int64_t cut_of(const struct retention_run *run, enum cut cut, const struct keep_settings *s)
{
    int64_t now = (int64_t)run->now_ms;
    int64_t seen = s->row_days > KEEP_SEEN_DAYS ? s->row_days : KEEP_SEEN_DAYS;
    switch (cut) {
    case CUT_DAY: return now / DAY_MS - s->row_days;
    case CUT_ROW_MS: return now - s->row_days * DAY_MS;
    case CUT_STACK_MS: return now - (s->row_days + 2) * DAY_MS;
    case CUT_BODY_MS: return now - s->body_days * DAY_MS;
    case CUT_SEEN_MS: return now - seen * DAY_MS;
    default: return now - KEEP_AUDIT_DAYS * DAY_MS;
    }
}

/* ---- finding ---- */

struct doomed { /* a row */
    int64_t key[KEYS];
    int64_t group;
    uint8_t id[ID_SIZE];
    size_t id_size;
};

struct found {
    struct doomed *rows;
    size_t count, capacity;
};

static void read_doomed(const struct rule *rule, const struct db_rows *rows, struct doomed *row)
{
    *row = (struct doomed){0};
    for (int i = 0; i < rule->keys; i++)
        row->key[i] = db_get_int(rows, i);
    if (rule->groups)
        row->group = db_get_int(rows, rule->keys);
    if (rule->keys)
        return;
    struct span id = db_get_bytes(rows, 0);
    row->id_size = id.size <= ID_SIZE ? id.size : ID_SIZE;
    if (row->id_size)
        memcpy(row->id, id.data, row->id_size);
}

static fw_error find(const struct retention_run *run, const struct rule *rule, int64_t project,
                     int64_t cut, struct found *found, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    found->count = 0;
    fw_error e = db_take(run->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, rule->find,
                 DB_VALUES(db_int(project), db_int(cut), db_int(FOUND_MAX)));
    if (!e) {
        bool room = true;
        while (room && db_next(rows)) {
            room = array_room(&found->rows, &found->capacity, found->count, sizeof *found->rows);
            if (room)
                read_doomed(rule, rows, &found->rows[found->count++]);
        }
        e = db_end(rows, why);
        if (!e && !room)
            e = failure_memory(why);
    }
    db_give(run->c->db, conn);
    return e;
}

/* ---- removing ---- */

/* A report goes out of the sums of its group. */
static fw_error remove_report(struct db_conn *conn, const char *sql, const struct db_value *values,
                              size_t count, struct group_sums *sums, uint64_t *removed,
                              struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why, sql, values, count);
    if (e)
        return e;
    if (db_next(rows)) {
        struct group_report report = group_report_of(rows, 0);
        group_sums_add(sums, &report, -1); /* group_sums_write tells when there was no memory */
        ++*removed;
    }
    return db_end(rows, why);
}

static fw_error remove_one(struct db_conn *conn, const struct rule *rule, int64_t project,
                           int64_t cut, const struct doomed *row, struct group_sums *sums,
                           uint64_t *removed, struct fw_failure *why)
{
    struct db_value values[2 + KEYS] = {db_int(project), db_int(cut)};
    size_t count = 2;
    uint64_t changed = 0;
    for (int i = 0; i < rule->keys; i++)
        values[count++] = db_int(row->key[i]);
    if (!rule->keys)
        values[count++] = db_bytes(row->id, row->id_size);
    if (rule->what == RETENTION_REPORTS)
        return remove_report(conn, rule->remove, values, count, sums, removed, why);
    fw_error e = db_change(conn, why, &changed, rule->remove, values, count);
    *removed += changed;
    return e;
}

static fw_error remove_rows(struct db_conn *conn, const struct rule *rule, int64_t project,
                            int64_t cut, const struct doomed *rows, size_t count, uint64_t *removed,
                            struct fw_failure *why)
{
    struct group_sums sums = {0};
    fw_error e = db_begin(conn, why);
    if (!e && rule->groups) /* workers wait, and forget what they know of stacks */
        e = stack_group_changed(conn, why);
    for (size_t i = 0; i < count && !e; i++) {
        if (rows[i].group && (i == 0 || rows[i].group != rows[i - 1].group))
            e = groups_mark_stale(conn, rows[i].group, why);
        e = e ? e : remove_one(conn, rule, project, cut, &rows[i], &sums, removed, why);
    }
    e = e ? e : group_sums_write(&sums, conn, why);
    group_sums_free(&sums);
    return e ? e : db_commit(conn, why);
}

static fw_error remove_found(struct retention_run *run, const struct rule *rule, int64_t project,
                             int64_t cut, const struct found *found, struct fw_failure *why)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < found->count && !e; i += BATCH) {
        struct db_conn *conn;
        uint64_t removed = 0;
        size_t count = found->count - i < BATCH ? found->count - i : BATCH;
        e = retention_go_on(run, why);
        e = e ? e : db_take(run->c->db, DB_WRITE, &conn, why);
        if (e)
            return e;
        e = remove_rows(conn, rule, project, cut, found->rows + i, count, &removed, why);
        db_give(run->c->db, conn);
        if (!e && rule->what < RETENTION_KINDS)
            run->counts.of[rule->what] += removed;
    }
    return e;
}

static bool is_of(const struct rule *rule, int64_t project)
{
    return rule->global == (project == 0);
}

fw_error retention_rows(struct retention_run *run, int64_t project,
                        const struct keep_settings *settings, struct fw_failure *why)
{
    struct found found = {0};
    fw_error e = FW_OK;
    for (size_t i = 0; i < RULES && !e; i++) {
        if (!is_of(&rules[i], project))
            continue;
        int64_t cut = cut_of(run, rules[i].cut, settings);
        do {
            e = find(run, &rules[i], project, cut, &found, why);
            e = e ? e : remove_found(run, &rules[i], project, cut, &found, why);
        } while (!e && found.count == FOUND_MAX);
    }
    free(found.rows);
    return e ? e : groups_settle_all(run->c, run->ours, run->context, why);
}

/* ---- counting ---- */

static fw_error count_rule(struct retention_run *run, struct db_conn *conn, const struct rule *rule,
                           int64_t project, int64_t cut, struct fw_failure *why)
{
    struct db_rows *rows;
    char sql[800];
    snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM (%s) AS found", rule->find);
    fw_error e =
        db_query(conn, &rows, why, sql, DB_VALUES(db_int(project), db_int(cut), db_int(INT64_MAX)));
    if (e)
        return e;
    if (db_next(rows))
        run->counts.of[rule->what] += (uint64_t)db_get_int(rows, 0);
    return db_end(rows, why);
}

fw_error retention_rows_count(struct retention_run *run, int64_t project,
                              const struct keep_settings *settings, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(run->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    for (size_t i = 0; i < RULES && !e; i++)
        if (is_of(&rules[i], project) && rules[i].what < RETENTION_KINDS)
            e = count_rule(run, conn, &rules[i], project, cut_of(run, rules[i].cut, settings), why);
    db_give(run->c->db, conn);
    return e;
}
