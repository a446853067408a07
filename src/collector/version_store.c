/* version_store.h; and the job "versions", which finds out when versions came out. */
#include "collector/version_store.h"

#include "base/array.h"
#include "base/failure.h"
#include "collector/job_kinds.h"
#include "collector/jobs.h"
#include "collector/versions.h"

#include <stdio.h>
#include <stdlib.h>

enum { EVERY_MS = 3600 * 1000, AT_ONCE = 500, SHARE = 10 };
static const int64_t DAY_MS = 86400000;

struct row {
    int64_t id, date_ms, prerelease_set; /* -1: nobody has */
    char version[256], build[256];
};

static fw_error write_row(struct db_conn *conn, const struct row *row, struct fw_failure *why)
{
    struct version_order o;
    version_order(row->version, row->build, row->date_ms, &o);
    return db_run(conn, why,
                  "UPDATE version SET numbered = $2, line = $3, sort_key = $4, prerelease = $5,"
                  " date_ms = $6 WHERE id = $1",
                  DB_VALUES(db_int(row->id), db_int(o.numbered), db_text(o.line),
                            db_bytes(o.key, o.size),
                            db_int(row->prerelease_set >= 0 ? row->prerelease_set : o.prerelease),
                            db_int(row->date_ms)));
}

/* Rows of `sql`: id, version, build, date_ms, prerelease_set; AT_ONCE of them. */
static fw_error read_rows(struct db_conn *conn, const char *sql, const struct db_value *values,
                          size_t count, struct row *list, size_t *found, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why, sql, values, count);
    *found = 0;
    if (e)
        return e;
    while (*found < AT_ONCE && db_next(rows)) {
        struct row *row = &list[(*found)++];
        row->id = db_get_int(rows, 0);
        snprintf(row->version, sizeof row->version, "%s", db_get_text(rows, 1));
        snprintf(row->build, sizeof row->build, "%s", db_get_text(rows, 2));
        row->date_ms = db_get_int(rows, 3);
        row->prerelease_set = db_is_null(rows, 4) ? -1 : db_get_int(rows, 4);
    }
    return db_end(rows, why);
}

static fw_error write_rows(struct db_conn *conn, const struct row *list, size_t count,
                           struct fw_failure *why)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++)
        e = write_row(conn, &list[i], why);
    return e;
}

/* ---- rows of before ---- */

static fw_error fill_some(struct collector *c, struct row *list, size_t *found,
                          struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin(conn, why);
    e = e ? e
          : read_rows(conn,
                      "SELECT id, version, build, date_ms, prerelease_set FROM version"
                      " WHERE sort_key IS NULL ORDER BY id LIMIT $1",
                      DB_VALUES(db_int(AT_ONCE)), list, found, why);
    e = e ? e : write_rows(conn, list, *found, why);
    e = e ? e : db_commit(conn, why);
    db_give(c->db, conn);
    return e;
}

fw_error version_store_start(struct collector *c, struct fw_failure *why)
{
    struct row *list = calloc(AT_ONCE, sizeof *list);
    size_t found = AT_ONCE;
    fw_error e = list ? FW_OK : failure_memory(why);
    while (!e && found == AT_ONCE)
        e = fill_some(c, list, &found, why);
    free(list);
    return e;
}

/* ---- what somebody sets ---- */

#define OF_LABEL "project = $1 AND (version = $2 OR version || ' (' || build || ')' = $2)"

static fw_error set_columns(struct db_conn *conn, int64_t project, const char *label,
                            const struct version_change *change, struct fw_failure *why)
{
    fw_error e = FW_OK;
    if (change->released_ms != INT64_MIN)
        e = db_run(conn, why,
                   "UPDATE version SET released_ms = NULLIF(CAST($3 AS BIGINT), 0),"
                   " date_ms = CASE WHEN CAST($3 AS BIGINT) = 0 THEN first_ms ELSE $3 END"
                   " WHERE " OF_LABEL,
                   DB_VALUES(db_int(project), db_text(label), db_int(change->released_ms)));
    if (!e && change->prerelease != INT64_MIN)
        e = db_run(conn, why,
                   "UPDATE version SET prerelease_set = NULLIF(CAST($3 AS BIGINT), -1)"
                   " WHERE " OF_LABEL,
                   DB_VALUES(db_int(project), db_text(label), db_int(change->prerelease)));
    return e ? e
             : db_run(conn, why, "UPDATE version SET sort_key = NULL WHERE " OF_LABEL,
                      DB_VALUES(db_int(project), db_text(label)));
}

fw_error version_store_set(struct db_conn *conn, int64_t project, const char *label,
                           const struct version_change *change, struct fw_failure *why)
{
    struct row *list = calloc(AT_ONCE, sizeof *list);
    size_t found = AT_ONCE, all = 0;
    fw_error e = list ? set_columns(conn, project, label, change, why) : failure_memory(why);
    while (!e && found == AT_ONCE) {
        e = read_rows(conn,
                      "SELECT id, version, build, date_ms, prerelease_set FROM version WHERE"
                      " " OF_LABEL " AND sort_key IS NULL ORDER BY id LIMIT $3",
                      DB_VALUES(db_int(project), db_text(label), db_int(AT_ONCE)), list, &found,
                      why);
        e = e ? e : write_rows(conn, list, found, why);
        all += found;
    }
    free(list);
    if (!e && !all)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "no report of version \"%.60s\" has come in",
                           label);
    return e;
}

/* ---- what it is compared with ---- */

/* $3: releases alone. A version is before another when all of its builds are: the same text is
 * not, whatever its builds. With builds that are no release it is named with its build. */
static const char before_sql[] =
    "WITH at AS (SELECT version, numbered, line, sort_key FROM version WHERE " OF_LABEL
    " ORDER BY sort_key LIMIT 1)"
    " SELECT CASE WHEN v.build = '' OR NOT EXISTS (SELECT 1 FROM version o WHERE o.project = $1"
    " AND o.version = v.version AND o.prerelease <> v.prerelease) THEN v.version"
    " ELSE v.version || ' (' || v.build || ')' END, v.prerelease"
    " FROM at JOIN version v ON v.project = $1 AND v.numbered = at.numbered AND v.line = at.line"
    " AND v.sort_key < at.sort_key AND v.version <> at.version WHERE v.prerelease <= $3"
    " ORDER BY v.sort_key DESC, v.id DESC LIMIT 1";

fw_error version_store_before(struct db_conn *conn, int64_t project, const char *label,
                              struct version_before *before, struct fw_failure *why)
{
    fw_error e = FW_OK;
    *before = (struct version_before){.label = ""};
    for (int64_t allowed = 0; allowed < 2 && !e && !*before->label; allowed++) {
        struct db_rows *rows;
        e = db_query(conn, &rows, why, before_sql,
                     DB_VALUES(db_int(project), db_text(label), db_int(allowed)));
        if (e)
            return e;
        if (db_next(rows)) {
            snprintf(before->label, sizeof before->label, "%s", db_get_text(rows, 0));
            before->prerelease = db_get_int(rows, 1) != 0;
        }
        e = db_end(rows, why);
    }
    return e;
}

/* ---- the job ---- */

struct dated { /* a version, and the day it came out */
    int64_t version, day;
};

struct dates {
    struct dated *list;
    size_t count, capacity;
};

struct counting { /* the days of one version, oldest first */
    int64_t version, total;
    int64_t (*days)[2]; /* day, how much came */
    size_t count, capacity;
};

static bool put_date(struct dates *dates, const struct counting *c)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->count; i++) {
        sum += c->days[i][1];
        if (sum * SHARE < c->total)
            continue;
        if (!array_room(&dates->list, &dates->capacity, dates->count, sizeof *dates->list))
            return false;
        dates->list[dates->count++] = (struct dated){c->version, c->days[i][0]};
        break;
    }
    return true;
}

static fw_error read_dates(struct db_conn *conn, int64_t project, struct dates *dates,
                           struct fw_failure *why)
{
    struct db_rows *rows;
    struct counting now = {0};
    bool fine = true;
    fw_error e = db_query(conn, &rows, why,
                          "SELECT d.version, d.day, d.reports + d.sessions FROM project_day d"
                          " JOIN version v ON v.id = d.version AND v.released_ms IS NULL"
                          " WHERE d.project = $1 AND d.reports + d.sessions > 0"
                          " ORDER BY d.version, d.day",
                          DB_VALUES(db_int(project)));
    if (e)
        return e;
    while (fine && db_next(rows)) {
        if (db_get_int(rows, 0) != now.version) {
            fine = put_date(dates, &now);
            now.version = db_get_int(rows, 0);
            now.count = 0;
            now.total = 0;
        }
        fine = fine && array_room(&now.days, &now.capacity, now.count, sizeof *now.days);
        if (!fine)
            break;
        now.days[now.count][0] = db_get_int(rows, 1);
        now.days[now.count++][1] = db_get_int(rows, 2);
        now.total += db_get_int(rows, 2);
    }
    fine = fine && put_date(dates, &now);
    free(now.days);
    e = db_end(rows, why);
    return e || fine ? e : failure_memory(why);
}

/* Of the same day as its first report: that one's moment, which parts two builds of a day. */
static fw_error write_date(struct db_conn *conn, const struct dated *d, struct row *list,
                           struct fw_failure *why)
{
    size_t found;
    fw_error e =
        read_rows(conn,
                  "SELECT id, version, build, d.ms, prerelease_set FROM (SELECT v.*,"
                  " CASE WHEN v.first_ms / $3 = $2 THEN v.first_ms ELSE $2 * $3 END AS ms"
                  " FROM version v WHERE v.id = $1 AND v.released_ms IS NULL) d"
                  " WHERE d.ms <> d.date_ms",
                  DB_VALUES(db_int(d->version), db_int(d->day), db_int(DAY_MS)), list, &found, why);
    return e ? e : write_rows(conn, list, found, why);
}

static fw_error write_dates(struct collector *c, const struct dated *dates, size_t count,
                            struct row *list, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin(conn, why);
    for (size_t i = 0; i < count && !e; i++)
        e = write_date(conn, &dates[i], list, why);
    e = e ? e : db_commit(conn, why);
    db_give(c->db, conn);
    return e;
}

static fw_error date_project(struct collector *c, const struct job *job, int64_t project,
                             struct row *list, struct fw_failure *why)
{
    struct db_conn *conn;
    struct dates dates = {0};
    enum { TURN = 50 };
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = read_dates(conn, project, &dates, why);
    db_give(c->db, conn);
    for (size_t i = 0; i < dates.count && !e; i += TURN) {
        size_t count = dates.count - i < TURN ? dates.count - i : TURN;
        e = jobs_progress(c, job, i, dates.count) ? write_dates(c, dates.list + i, count, list, why)
                                                  : failure_say(why, FW_ERR_TIMEOUT, 0, "stopped");
    }
    free(dates.list);
    return e;
}

static fw_error next_project(struct collector *c, int64_t *project, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query_int(conn, project, why, "SELECT MIN(id) FROM project WHERE id > $1",
                     DB_VALUES(db_int(*project)));
    db_give(c->db, conn);
    return e;
}

static fw_error run_versions(struct collector *c, const struct job *job, struct fw_failure *why)
{
    int64_t project = 0;
    struct row *list = calloc(AT_ONCE, sizeof *list);
    fw_error e = list ? next_project(c, &project, why) : failure_memory(why);
    while (!e && project) {
        e = date_project(c, job, project, list, why);
        e = e ? e : next_project(c, &project, why);
    }
    free(list);
    return e;
}

extern const struct job_kind job_versions;
const struct job_kind job_versions = {"versions", run_versions, EVERY_MS};
