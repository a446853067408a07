/*
 * Jobs that give stacks their keys anew:
 *
 *     names:IMAGE      a debug file arrived for a row of `image`: all stacks with frames in it
 *     names:IMAGE@PROJECT  the same, of a project's own debug file
 *     rules:PROJECT    there are other rules: all stacks of the project
 *     rules-check      now and then: this program's built-in rules are others than those of before
 *     groups           what people did to groups is carried out to its end
 *
 * Each begins from the start when it is run again, and finds done what was done: a stack whose key
 * leads to the group that it is in does not move.
 */
#include "base/failure.h"
#include "collector/grouping_inner.h"
#include "collector/groups.h"
#include "collector/job_kinds.h"
#include "collector/symbols.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHECK_MS = 3600000 };

extern const struct job_kind job_names, job_rules, job_rules_check, job_groups;

struct progress {
    struct collector *c;
    const struct job *job;
    uint64_t done, total;
};

static bool still_ours(void *context)
{
    const struct progress *p = context;
    return jobs_progress(p->c, p->job, p->done, p->total);
}

static fw_error count_stacks(struct collector *c, const struct groups_rekey *r, uint64_t *count,
                             struct fw_failure *why)
{
    struct db_conn *conn;
    int64_t found;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = r->image
            ? db_query_int(conn, &found, why, "SELECT COUNT(*) FROM stack_image WHERE image = $1",
                           DB_VALUES(db_int(r->image)))
            : db_query_int(conn, &found, why,
                           "SELECT COUNT(*) FROM stack WHERE project = $1"
                           " AND group_id IS NOT NULL",
                           DB_VALUES(db_int(r->project)));
    *count = (uint64_t)found;
    db_give(c->db, conn);
    return e;
}

static fw_error run_batches(struct progress *p, struct stack_grouper *grouper,
                            struct groups_rekey *r, struct fw_failure *why)
{
    for (bool more = true; more; p->done = r->examined) {
        if (!still_ours(p))
            return failure_say(why, FW_ERR_TIMEOUT, 0, "stopped after %llu stacks",
                               (unsigned long long)r->examined);
        fw_error e = groups_rekey_batch(p->c, grouper, r, &more, why);
        if (e)
            return e;
    }
    return FW_OK;
}

static fw_error rekey(struct collector *c, const struct job *job, struct groups_rekey *r,
                      struct fw_failure *why)
{
    struct progress p = {.c = c, .job = job};
    struct stack_grouper *grouper;
    fw_error e = count_stacks(c, r, &p.total, why);
    if (e)
        return e;
    if (stack_grouper_new(c, &grouper) != FW_OK)
        return failure_memory(why);
    e = run_batches(&p, grouper, r, why);
    stack_grouper_free(grouper);
    return e ? e : groups_settle_all(c, still_ours, &p, why);
}

/* project: NULL when the subject names none. */
static bool row_of(const struct job *job, int64_t *row, int64_t *project, struct fw_failure *why)
{
    char *end;
    *row = strtoll(job->subject, &end, 10);
    if (project && *end == '@')
        *project = strtoll(end + 1, &end, 10);
    if (*row > 0 && !*end)
        return true;
    failure_say(why, FW_ERR_ARGUMENT, 0, "\"%.40s\" is no number of a row", job->subject);
    return false;
}

/* Whether another server may have grouped without the new map after this job looked: servers
 * remember for a moment that an image has none. */
static bool others_may_lag(struct collector *c, int64_t image)
{
    struct db_conn *conn;
    struct db_rows *rows;
    bool lag = false;
    if (!db_is_postgres(c->db) || db_take(c->db, DB_READ, &conn, NULL) != FW_OK)
        return false;
    if (db_query(conn, &rows, NULL, "SELECT MAX(map_ms) FROM project_image WHERE image = $1",
                 DB_VALUES(db_int(image))) == FW_OK) {
        if (db_next(rows))
            lag = db_get_int(rows, 0) + 2 * SYMBOLS_MISS_MS > (int64_t)collector_now_ms();
        db_end(rows, NULL);
    }
    db_give(c->db, conn);
    return lag;
}

static fw_error run_names(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct groups_rekey r = {0};
    if (!row_of(job, &r.image, &r.project, why))
        return why->code;
    bool lag = others_may_lag(c, r.image);
    fw_error e = rekey(c, job, &r, why);
    if (!e && lag)
        return failure_say(why, FW_ERR_TIMEOUT, 0, "once more for what other servers took in");
    return e;
}

static fw_error run_rules(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct groups_rekey r = {0};
    return row_of(job, &r.project, NULL, why) ? rekey(c, job, &r, why) : why->code;
}

/* --- Built-in rules of a new version -----------------------------------------------------------
 */

static fw_error add_all_projects(struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    char ids[64][24];
    int64_t last = 0;
    for (size_t count = 1; count;) {
        count = 0;
        fw_error e =
            db_query(conn, &rows, why, "SELECT id FROM project WHERE id > $1 ORDER BY id LIMIT 64",
                     DB_VALUES(db_int(last)));
        if (e)
            return e;
        while (count < 64 && db_next(rows)) {
            last = db_get_int(rows, 0);
            snprintf(ids[count++], sizeof ids[0], "%lld", (long long)last);
        }
        e = db_end(rows, why);
        for (size_t i = 0; i < count && !e; i++)
            e = jobs_add(conn, "rules", ids[i], "", why);
        if (e)
            return e;
    }
    return FW_OK;
}

static fw_error check_builtin(struct db_conn *conn, struct fw_failure *why)
{
    char version[16];
    uint64_t rows;
    snprintf(version, sizeof version, "%d", GROUP_BUILTIN_VERSION);
    fw_error e = db_change(conn, why, &rows,
                           "INSERT INTO setting (name, value) VALUES ('rules_builtin', $1)"
                           " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                           " WHERE setting.value <> excluded.value",
                           DB_VALUES(db_text(version)));
    return e || !rows ? e : add_all_projects(conn, why);
}

static fw_error run_rules_check(struct collector *c, const struct job *job, struct fw_failure *why)
{
    (void)job;
    struct db_conn *conn;
    fw_error e = db_take(c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin(conn, why);
    e = e ? e : check_builtin(conn, why);
    e = e ? e : db_commit(conn, why);
    db_give(c->db, conn);
    return e ? e : groups_settle_all(c, NULL, NULL, why);
}

static fw_error run_groups(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct progress p = {.c = c, .job = job};
    return groups_settle_all(c, still_ours, &p, why);
}

const struct job_kind job_names = {"names", run_names, 0};
const struct job_kind job_rules = {"rules", run_rules, 0};
const struct job_kind job_rules_check = {"rules-check", run_rules_check, CHECK_MS};
const struct job_kind job_groups = {"groups", run_groups, 0};
