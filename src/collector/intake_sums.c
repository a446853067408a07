/*
 * Sums of a batch: intake_sums.h. One list holds those of all tables but the groups'; `tables` says
 * how the values of two equal keys become one, and the statement that brings them into the row.
 */
#include "collector/intake_sums.h"
#include "base/array.h"
#include "base/failure.h"
#include "collector/groups_fixed.h"
#include "report/fwr.h"

#include <stdlib.h>

enum table {
    IMAGE_DAY,
    SESSION, /* before PROJECT_DAY, to which new ones add */
    PROJECT_DAY,
    TERM_DAY,
    FLAME,
    CALL,
    CALL_DAY,
    CALL_CALLER_DAY,
    TABLES
};

enum { KEYS = 4, VALUES = 9, DAY_MS = 86400 * 1000 };

struct intake_sum {
    enum table table;
    bool has_id;
    int64_t key[KEYS];
    uint8_t id[16]; /* of SESSION */
    int64_t value[VALUES];
};

/* Values by place: + sum, > the largest, < the smallest. */
static const struct {
    unsigned char keys, values;
    const char *how;
    const char *sql; /* NULL: written by a function of its own */
} tables[TABLES] = {
    [IMAGE_DAY] = {3, 2, "++",
                   "INSERT INTO image_day (project, day, image, reports, frames)"
                   " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (project, day, image) DO UPDATE"
                   " SET reports = image_day.reports + $4, frames = image_day.frames + $5"},
    [SESSION] = {1, 3, ">><", NULL},
    [PROJECT_DAY] =
        {3, 9, "+++++++++",
         "INSERT INTO project_day (project, day, version, reports, blocked_ns, killed, slow0,"
         " slow1, slow2, slow3, sessions, observed_ns)"
         " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
         " ON CONFLICT (project, day, version) DO UPDATE"
         " SET reports = project_day.reports + $4, blocked_ns = project_day.blocked_ns + $5,"
         " killed = project_day.killed + $6, slow0 = project_day.slow0 + $7,"
         " slow1 = project_day.slow1 + $8, slow2 = project_day.slow2 + $9,"
         " slow3 = project_day.slow3 + $10, sessions = project_day.sessions + $11,"
         " observed_ns = project_day.observed_ns + $12"},
    [TERM_DAY] = {4, 7, "+++++++",
                  "INSERT INTO term_day (project, term, day, version, reports, blocked_ns, killed,"
                  " slow0, slow1, slow2, slow3)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
                  " ON CONFLICT (project, term, day, version) DO UPDATE"
                  " SET reports = term_day.reports + $5, blocked_ns = term_day.blocked_ns + $6,"
                  " killed = term_day.killed + $7, slow0 = term_day.slow0 + $8,"
                  " slow1 = term_day.slow1 + $9, slow2 = term_day.slow2 + $10,"
                  " slow3 = term_day.slow3 + $11"},
    [FLAME] = {2, 2, "++",
               "INSERT INTO flame (key_stack, stack, weight_ns, samples) VALUES ($1, $2, $3, $4)"
               " ON CONFLICT (key_stack, stack) DO UPDATE"
               " SET weight_ns = flame.weight_ns + $3, samples = flame.samples + $4"},
    [CALL] =
        {4, 6, "+<>>>>",
         "INSERT INTO call (project, api, stack, version, count, first_ms, last_ms, caller_image,"
         " caller_offset, caller_kind) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
         " ON CONFLICT (project, api, stack, version) DO UPDATE"
         " SET count = call.count + $5, first_ms = LEAST(call.first_ms, $6),"
         " last_ms = GREATEST(call.last_ms, $7)"},
    [CALL_DAY] = {4, 1, "+",
                  "INSERT INTO call_day (project, version, site, day, count)"
                  " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (project, version, site, day)"
                  " DO UPDATE SET count = call_day.count + $5"},
    /* By place here, by caller there; of a place without one the job adds them. */
    [CALL_CALLER_DAY] =
        {3, 1, "+",
         "INSERT INTO call_caller_day (project, day, caller, count) SELECT CAST($1 AS BIGINT),"
         " CAST($2 AS BIGINT), s.caller, CAST($4 AS BIGINT) FROM call_site s WHERE s.id = $3"
         " AND s.caller IS NOT NULL ON CONFLICT (project, day, caller)"
         " DO UPDATE SET count = call_caller_day.count + excluded.count"},
};

enum { SESSION_OBSERVED, SESSION_VERSION, SESSION_DAY };
enum { PROJECT_SESSIONS = 7, PROJECT_OBSERVED = 8 };

static bool put(struct intake_sums *s, struct intake_sum sum)
{
    if (!array_room(&s->sums, &s->capacity, s->count, sizeof *s->sums))
        return false;
    s->sums[s->count++] = sum;
    return true;
}

/* ---- what a report adds ---- */

static int slow_class(uint64_t duration_ns)
{
    static const uint64_t below[] = {500000000, 2000000000, 8000000000};
    int i = 0;
    while (i < 3 && duration_ns >= below[i])
        i++;
    return i;
}

static bool add_group(struct intake_sums *s, const struct intake_report *r)
{
    const struct digest *d = &r->digest;
    struct group_report report = {.group = r->group,
                                  .day = d->day,
                                  .version = r->version,
                                  .os = r->os,
                                  .device = r->device,
                                  .duration_ns = (int64_t)d->duration_ns,
                                  .started_ms = (int64_t)d->started_ms,
                                  .killed = d->ending == FWR_KILLED,
                                  .has_install = d->has_install,
                                  .install_size = sizeof d->install};
    memcpy(report.install, d->install, sizeof report.install);
    return group_sums_add(&s->groups, &report, 1) == FW_OK;
}

static bool add_days(struct intake_sums *s, const struct intake_report *r)
{
    const struct digest *d = &r->digest;
    int64_t values[7] = {1, (int64_t)d->duration_ns, d->ending == FWR_KILLED};
    values[3 + slow_class(d->duration_ns)] = 1;
    struct intake_sum project = {PROJECT_DAY, .key = {r->project, d->day, r->version}};
    memcpy(project.value, values, sizeof values);
    bool ok = put(s, project);
    int64_t terms[] = {r->os, r->device};
    for (int i = 0; i < 2; i++) {
        struct intake_sum term = {TERM_DAY, .key = {r->project, terms[i], d->day, r->version}};
        memcpy(term.value, values, sizeof values);
        ok &= !terms[i] || put(s, term);
    }
    return ok;
}

/* The day of a call is that of its last one, as far as that can be believed. */
static int64_t day_of_call(const struct intake_report *r, const struct digest_call *call)
{
    uint64_t ms = call->last_ms;
    if (ms > r->received_ms || ms + UINT64_C(400) * DAY_MS < r->received_ms)
        ms = r->received_ms;
    return (int64_t)(ms / DAY_MS);
}

static bool add_calls(struct intake_sums *s, const struct intake_report *r)
{
    const struct digest *d = &r->digest;
    bool ok = true;
    for (size_t i = 0; i < d->call_count; i++) {
        const struct digest_call *call = &d->calls[i];
        const struct digest_stack *stack = &d->stacks[call->stack];
        struct stack_frame caller = {0};
        if (stack->count)
            caller = intake_row_frame(d, &stack->frames[0]);
        ok &= put(s,
                  (struct intake_sum){CALL, .key = {r->project, r->apis[i], stack->row, r->version},
                                      .value = {(int64_t)call->count, (int64_t)call->first_ms,
                                                (int64_t)call->last_ms, caller.image,
                                                (int64_t)caller.offset, stack_flags(&caller)}});
        int64_t day = day_of_call(r, call);
        ok &=
            put(s, (struct intake_sum){CALL_DAY, .key = {r->project, r->version, r->sites[i], day},
                                       .value = {(int64_t)call->count}});
        ok &= put(s, (struct intake_sum){CALL_CALLER_DAY, .key = {r->project, day, r->sites[i]},
                                         .value = {(int64_t)call->count}});
    }
    return ok;
}

fw_error intake_sums_add(struct intake_sums *s, const struct intake_report *r)
{
    const struct digest *d = &r->digest;
    bool ok = true;
    for (size_t i = 0; i < d->image_count; i++)
        if (d->images[i].frames)
            ok &=
                put(s, (struct intake_sum){IMAGE_DAY, .key = {r->project, d->day, d->images[i].row},
                                           .value = {1, (int64_t)d->images[i].frames}});
    if (d->has_session) {
        struct intake_sum sum = {SESSION, true, .key = {r->project},
                                 .value = {(int64_t)d->observed_ns, r->version, d->day}};
        memcpy(sum.id, d->session, sizeof sum.id);
        ok &= put(s, sum);
    }
    if (d->counts)
        ok &= add_days(s, r);
    for (size_t i = 0; i < d->stack_count && d->key != SIZE_MAX; i++)
        ok &= put(s, (struct intake_sum){FLAME, .key = {d->stacks[d->key].row, d->stacks[i].row},
                                         .value = {(int64_t)d->stacks[i].weight_ns,
                                                   (int64_t)d->stacks[i].samples}});
    if (r->group)
        ok &= add_group(s, r);
    ok &= add_calls(s, r);
    return ok ? FW_OK : FW_ERR_MEMORY;
}

/* ---- one sum a row ---- */

static int order_keys(const struct intake_sum *a, const struct intake_sum *b)
{
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    for (int i = 0; i < KEYS; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return a->has_id ? memcmp(a->id, b->id, sizeof a->id) : 0;
}

static int by_keys(const void *a, const void *b)
{
    return order_keys(a, b);
}

static void merge_into(struct intake_sum *to, const struct intake_sum *from)
{
    const char *how = tables[to->table].how;
    for (int i = 0; how[i]; i++) {
        if (how[i] == '+')
            to->value[i] += from->value[i];
        else if ((how[i] == '>') == (from->value[i] > to->value[i]))
            to->value[i] = from->value[i];
    }
}

/* Sorted, and equal keys made one. */
static void settle(struct intake_sums *s)
{
    if (s->count == 0)
        return;
    qsort(s->sums, s->count, sizeof *s->sums, by_keys);
    size_t kept = 0;
    for (size_t i = 1; i < s->count; i++) {
        if (order_keys(&s->sums[kept], &s->sums[i]) == 0)
            merge_into(&s->sums[kept], &s->sums[i]);
        else
            s->sums[++kept] = s->sums[i];
    }
    s->count = kept + 1;
}

/* ---- rows ---- */

struct writing {
    struct intake_sums *s;
    struct db_conn *conn;
    struct intake_report **reports;
    size_t count;
    uint64_t now_ms;
    struct fw_failure *why;
};

static fw_error no_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

/*
 * A session counts once, and as long as the longest that any of its reports knows. The row is made
 * with -1 first, so that one statement tells (and holds) what it was before.
 */
static fw_error write_session(struct writing *w, const struct intake_sum *sum)
{
    struct db_rows *rows;
    struct db_value project = db_int(sum->key[0]), id = db_bytes(sum->id, sizeof sum->id);
    int64_t version = 0, day = 0, before = -1, observed = sum->value[SESSION_OBSERVED];
    fw_error e = db_query(w->conn, &rows, w->why,
                          "INSERT INTO session (project, session, version, day, observed_ns)"
                          " VALUES ($1, $2, $3, $4, -1) ON CONFLICT (project, session) DO UPDATE"
                          " SET observed_ns = session.observed_ns"
                          " RETURNING observed_ns, version, day",
                          DB_VALUES(project, id, db_int(sum->value[SESSION_VERSION]),
                                    db_int(sum->value[SESSION_DAY])));
    if (e)
        return e;
    if (db_next(rows)) {
        before = db_get_int(rows, 0);
        version = db_get_int(rows, 1);
        day = db_get_int(rows, 2);
    }
    e = db_end(rows, w->why);
    if (e || observed <= before)
        return e;
    struct intake_sum more = {PROJECT_DAY, .key = {sum->key[0], day, version}};
    more.value[PROJECT_SESSIONS] = before < 0;
    more.value[PROJECT_OBSERVED] = observed - (before < 0 ? 0 : before);
    if (!put(w->s, more))
        return no_memory(w->why);
    return db_run(w->conn, w->why,
                  "UPDATE session SET observed_ns = $3 WHERE project = $1 AND session = $2",
                  DB_VALUES(project, id, db_int(observed)));
}

static fw_error date_of(struct writing *w, int64_t version, int64_t *date_ms)
{
    return db_query_int(w->conn, date_ms, w->why, "SELECT date_ms FROM version WHERE id = $1",
                        DB_VALUES(db_int(version)));
}

/* The reports of the batch that are in this resolved group may be of a version in which it was to
 * be gone. */
static fw_error reopen(struct writing *w, int64_t group)
{
    struct group_fixed fixed;
    struct db_rows *rows;
    fw_error e = db_query(w->conn, &rows, w->why,
                          "SELECT " GROUP_FIXED_COLUMNS " FROM hang_group h WHERE h.id = $1",
                          DB_VALUES(db_int(group)));
    if (e)
        return e;
    bool found = db_next(rows);
    if (found)
        group_fixed_read(rows, 0, &fixed);
    e = db_end(rows, w->why);
    for (size_t i = 0; i < w->count && found && !e; i++) {
        const struct intake_report *r = w->reports[i];
        struct group_seen seen = {r->digest.version, r->digest.build, 0};
        if (r->group != group)
            continue;
        e = date_of(w, r->version, &seen.date_ms);
        if (!e && group_fixed_is_back(&fixed, &seen))
            return group_reopen(w->conn, group, &seen, (int64_t)w->now_ms, w->why);
    }
    return e;
}

static fw_error write_sum(struct writing *w, const struct intake_sum *sum)
{
    if (sum->table == SESSION)
        return write_session(w, sum);
    struct db_value values[KEYS + VALUES];
    size_t count = 0;
    for (int i = 0; i < tables[sum->table].keys; i++)
        values[count++] = db_int(sum->key[i]);
    for (int i = 0; i < tables[sum->table].values; i++)
        values[count++] = db_int(sum->value[i]);
    return db_run(w->conn, w->why, tables[sum->table].sql, values, count);
}

/* Those of one table; the list may grow behind them. */
static fw_error write_table(struct writing *w, enum table table)
{
    fw_error e = FW_OK;
    for (size_t i = 0, count = w->s->count; i < count && !e; i++)
        if (w->s->sums[i].table == table) {
            struct intake_sum sum = w->s->sums[i]; /* the list may move */
            e = write_sum(w, &sum);
        }
    return e;
}

fw_error intake_sums_write(struct intake_sums *s, struct db_conn *conn,
                           struct intake_report **reports, size_t count, uint64_t now_ms,
                           struct fw_failure *why)
{
    struct writing w = {s, conn, reports, count, now_ms, why};
    fw_error e = FW_OK;
    settle(s);
    for (int table = 0; table < TABLES && !e; table++) {
        e = write_table(&w, (enum table)table);
        if (table == SESSION)
            settle(s);
    }
    e = e ? e : group_sums_write(&s->groups, conn, why);
    for (size_t i = 0; i < s->groups.resolved_count && !e; i++)
        e = reopen(&w, s->groups.resolved[i]);
    s->count = 0;
    return e;
}

void intake_sums_free(struct intake_sums *s)
{
    free(s->sums);
    group_sums_free(&s->groups);
    *s = (struct intake_sums){0};
}
