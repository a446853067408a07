/* intake_limits.h; and the job "limits", which counts again what retention takes away. */
#include "collector/intake_limits.h"

#include "base/array.h"
#include "base/failure.h"
#include "collector/job_kinds.h"
#include "collector/jobs.h"
#include "collector/log.h"

#include <stdatomic.h>
#include <stdlib.h>

static const struct {
    const char *name;
    int64_t most;
} kinds[LIMIT_COUNT] = {
    [LIMIT_OS] = {"operating systems", 10000},    [LIMIT_DEVICE] = {"devices", 10000},
    [LIMIT_API] = {"watched functions", 10000},   [LIMIT_VERSION] = {"versions", 10000},
    [LIMIT_IMAGE] = {"images", 100000},           [LIMIT_STACK] = {"stacks", 10000000},
    [LIMIT_GROUP] = {"groups", 100000},           [LIMIT_NAME] = {"names of code", 1000000},
    [LIMIT_SITE] = {"places of calls", 10000000},
};

void limits_begin(struct intake_limits *limits)
{
    limits->count = 0;
}

static atomic_bool any_near; /* set by workers, set anew by the job */

bool limits_any_near(void)
{
    return atomic_load_explicit(&any_near, memory_order_relaxed);
}

static struct limits_project *find(const struct intake_limits *limits, int64_t project)
{
    for (size_t i = 0; i < limits->count; i++)
        if (limits->projects[i].project == project)
            return &limits->projects[i];
    return NULL;
}

static fw_error load(struct intake_limits *limits, struct db_conn *conn, int64_t project,
                     struct fw_failure *why)
{
    struct db_rows *rows;
    if (!array_room(&limits->projects, &limits->capacity, limits->count, sizeof *limits->projects))
        return failure_memory(why);
    struct limits_project *p = &limits->projects[limits->count];
    *p = (struct limits_project){.project = project};
    fw_error e = db_query(conn, &rows, why, "SELECT kind, made FROM made WHERE project = $1",
                          DB_VALUES(db_int(project)));
    if (e)
        return e;
    while (db_next(rows)) {
        int64_t kind = db_get_int(rows, 0);
        if (kind > 0 && kind < LIMIT_COUNT)
            p->before[kind] = db_get_int(rows, 1);
    }
    e = db_end(rows, why);
    limits->count += !e;
    return e;
}

fw_error limits_room(struct intake_limits *limits, struct db_conn *conn, int64_t project,
                     enum limit_of of, bool *room, struct fw_failure *why)
{
    fw_error e = find(limits, project) ? FW_OK : load(limits, conn, project, why);
    const struct limits_project *p = e ? NULL : find(limits, project);
    *room = p && p->before[of] + p->added[of] < kinds[of].most;
    return e;
}

void limits_made(struct intake_limits *limits, int64_t project, enum limit_of of)
{
    struct limits_project *p = find(limits, project);
    if (p)
        p->added[of]++;
}

static int by_project(const void *a, const void *b)
{
    int64_t x = ((const struct limits_project *)a)->project;
    int64_t y = ((const struct limits_project *)b)->project;
    return (x > y) - (x < y);
}

fw_error limits_write(const struct intake_limits *limits, struct db_conn *conn,
                      struct fw_failure *why)
{
    fw_error e = FW_OK;
    if (limits->count)
        qsort(limits->projects, limits->count, sizeof *limits->projects, by_project);
    for (size_t i = 0; i < limits->count; i++) {
        const struct limits_project *p = &limits->projects[i];
        for (int of = 1; of < LIMIT_COUNT && !e; of++) {
            if (!p->added[of])
                continue;
            e = db_run(
                conn, why,
                "INSERT INTO made (project, kind, made) VALUES ($1, $2, $3)"
                " ON CONFLICT (project, kind) DO UPDATE SET made = made.made + excluded.made",
                DB_VALUES(db_int(p->project), db_int(of), db_int(p->added[of])));
            if (limits_is_near(p->before[of] + p->added[of], kinds[of].most))
                atomic_store_explicit(&any_near, true, memory_order_relaxed);
            if (p->before[of] + p->added[of] >= kinds[of].most)
                log_line("project %lld has brought %lld %s: further ones %s", (long long)p->project,
                         (long long)kinds[of].most, kinds[of].name,
                         of == LIMIT_NAME ? "are not kept" : "count as " LIMITS_OTHER);
        }
    }
    return e;
}

const char *limits_name(enum limit_of of, int64_t *most)
{
    *most = kinds[of].most;
    return kinds[of].name;
}

void limits_free(struct intake_limits *limits)
{
    free(limits->projects);
    *limits = (struct intake_limits){.projects = NULL};
}

/* ---- the job ---- */

enum { RECOUNT_MS = 6 * 3600 * 1000, PROJECTS_AT_ONCE = 256 };

static const struct recount {
    int kind;
    const char *sql;
} recounts[] = {
    {LIMIT_STACK, "SELECT m.project, (SELECT COUNT(*) FROM stack s WHERE s.project = m.project)"
                  " FROM made m WHERE m.kind = $1"},
    {LIMIT_GROUP, "SELECT m.project, (SELECT COUNT(*) FROM hang_group g WHERE g.project ="
                  " m.project) FROM made m WHERE m.kind = $1"},
    {LIMIT_NAME, "SELECT m.project, (SELECT COUNT(*) FROM brought_name b WHERE b.project ="
                 " m.project) FROM made m WHERE m.kind = $1"},
    {LIMIT_SITE, "SELECT m.project, (SELECT COUNT(*) FROM call_site s WHERE s.project = m.project)"
                 " FROM made m WHERE m.kind = $1"},
    {LIMIT_VERSION, "SELECT m.project, (SELECT COUNT(*) FROM version v WHERE v.project ="
                    " m.project) FROM made m WHERE m.kind = $1"},
};

/* Counted without a lock: what is made meanwhile is missing until the next time. */
static fw_error recount(struct collector *c, const struct recount *r, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    int64_t found[PROJECTS_AT_ONCE][2];
    size_t count = 0;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, r->sql, DB_VALUES(db_int(r->kind)));
    if (!e) {
        for (; count < PROJECTS_AT_ONCE && db_next(rows); count++) {
            found[count][0] = db_get_int(rows, 0);
            found[count][1] = db_get_int(rows, 1);
        }
        e = db_end(rows, why);
    }
    db_give(c->db, conn);
    e = e ? e : db_take(c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin(conn, why);
    for (size_t i = 0; i < count && !e; i++)
        e = db_run(conn, why, "UPDATE made SET made = $3 WHERE project = $1 AND kind = $2",
                   DB_VALUES(db_int(found[i][0]), db_int(r->kind), db_int(found[i][1])));
    e = e ? e : db_commit(conn, why);
    db_give(c->db, conn);
    return e;
}

static fw_error look_near(struct collector *c, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    bool near = false;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, "SELECT kind, MAX(made) FROM made GROUP BY kind", DB_NONE);
    while (!e && db_next(rows)) {
        int64_t kind = db_get_int(rows, 0);
        near |=
            kind > 0 && kind < LIMIT_COUNT && limits_is_near(db_get_int(rows, 1), kinds[kind].most);
    }
    e = e ? e : db_end(rows, why);
    db_give(c->db, conn);
    if (!e)
        atomic_store_explicit(&any_near, near, memory_order_relaxed);
    return e;
}

static fw_error run_limits(struct collector *c, const struct job *job, struct fw_failure *why)
{
    (void)job;
    fw_error e = FW_OK;
    for (size_t i = 0; i < sizeof recounts / sizeof *recounts && !e; i++)
        e = recount(c, &recounts[i], why);
    return e ? e : look_near(c, why);
}

extern const struct job_kind job_limits;
const struct job_kind job_limits = {"limits", run_limits, RECOUNT_MS};
