/* calls_sums.h: the job "calls". It may be killed anywhere and run again: a place is done when its
 * `todo` is 0, in the transaction that moves its sums. */
#include "collector/calls_sums.h"

#include "base/failure.h"
#include "collector/clock.h"
#include "collector/generation.h"
#include "collector/intake_limits.h"
#include "collector/job_kinds.h"
#include "collector/jobs.h"
#include "collector/stack_code.h"
#include "collector/stack_group.h"
#include "collector/symbols.h"

#include <openssl/sha.h>
#include <stdlib.h>

enum { BATCH = 200, KEY = 16 };

struct site { /* a row of call_site, and what it is called */
    int64_t id, project, api, caller;
    struct stack_frame frame;
    struct stack_place place;
};

struct naming {
    struct collector *c;
    const struct job *job;
    struct fw_failure *why;
    struct stack_grouper *grouper;
    struct db_conn *conn; /* NULL while names are looked up */
    struct arena arena;
    int64_t generation, after;
    struct site sites[BATCH];
    size_t count, limit;
    uint64_t done;
    int64_t project, callers; /* whose callers were counted, and how many there are */
    bool waiting; /* places were left for the moment when all servers know of their map */
};

fw_error calls_rename(struct db_conn *conn, int64_t project, int64_t image, struct fw_failure *why)
{
    uint64_t rows = 0;
    fw_error e = db_change(conn, why, &rows,
                           "UPDATE call_site SET todo = todo | 1"
                           " WHERE image = $1 AND ($2 = 0 OR project = $2)",
                           DB_VALUES(db_int(image), db_int(project)));
    return e || !rows ? e : jobs_add(conn, "calls", "", "", why);
}

/* ---- reading and naming ---- */

/* Other servers remember for a moment that an image has no map: not before that is over. */
static fw_error read_sites(struct naming *n)
{
    struct db_rows *rows;
    int64_t recent =
        db_is_postgres(n->c->db) ? (int64_t)collector_now_ms() - 2 * SYMBOLS_MISS_MS : INT64_MAX;
    fw_error e =
        db_query(n->conn, &rows, n->why,
                 "SELECT s.id, s.project, s.api, s.image, s.site_offset, s.kind, CASE WHEN EXISTS"
                 " (SELECT 1 FROM project_image p WHERE p.image = s.image AND p.project = s.project"
                 " AND p.map_ms > $3) THEN 1 ELSE 0 END"
                 " FROM call_site s WHERE s.todo <> 0 AND s.id > $1 ORDER BY s.id LIMIT $2",
                 DB_VALUES(db_int(n->after), db_int((int64_t)n->limit), db_int(recent)));
    n->count = 0;
    if (e)
        return e;
    size_t read = 0;
    for (; read < n->limit && db_next(rows); read++) {
        n->after = db_get_int(rows, 0);
        if (db_get_int(rows, 6)) {
            n->waiting = true;
            continue;
        }
        n->sites[n->count++] = (struct site){
            .id = n->after,
            .project = db_get_int(rows, 1),
            .api = db_get_int(rows, 2),
            .frame = stack_frame_of(db_get_int(rows, 3), (uint64_t)db_get_int(rows, 4),
                                    (uint64_t)db_get_int(rows, 5))};
    }
    n->after = read ? n->after : 0;
    return db_end(rows, n->why);
}

static fw_error look(struct naming *n)
{
    fw_error e = db_take(n->c->db, DB_READ, &n->conn, n->why);
    if (e)
        return e;
    e = db_begin(n->conn, n->why); /* generation and places are of one moment */
    e = e ? e : generation_look(n->conn, &n->generation, n->why);
    e = e ? e : stack_grouper_look(n->grouper, n->conn, n->why);
    e = e ? e : read_sites(n);
    db_give(n->c->db, n->conn);
    n->conn = NULL;
    for (size_t i = 0; i < n->count && !e; i++)
        e = stack_group_place(n->grouper, n->sites[i].project, &n->sites[i].frame, &n->arena,
                              &n->sites[i].place, n->why);
    return e;
}

/* ---- writing ---- */

/* Of the image and the function, 0 between them. False: out of memory. */
static bool key_of(struct naming *n, const struct stack_place *place, uint8_t key[KEY])
{
    const char *function = place->function ? place->function : "";
    size_t image = strlen(place->image) + 1, size = strlen(function);
    uint8_t hash[SHA256_DIGEST_LENGTH], *text = arena_take(&n->arena, image + size);
    if (!text)
        return false;
    memcpy(text, place->image, image);
    memcpy(text + image, function, size);
    SHA256(text, image + size, hash);
    memcpy(key, hash, KEY);
    return true;
}

/* Whether the project has as many callers as it may. They are counted once, not for each new one:
 * other servers may add some meanwhile, and the limit is one of order, not of numbers. */
static fw_error is_full(struct naming *n, int64_t project, bool *full)
{
    fw_error e = FW_OK;
    if (n->project != project)
        e = db_query_int(n->conn, &n->callers, n->why,
                         "SELECT COUNT(*) FROM call_caller WHERE project = $1",
                         DB_VALUES(db_int(project)));
    n->project = e ? 0 : project;
    *full = n->callers >= CALLS_CALLERS;
    n->callers += !*full;
    return e;
}

/* The row of its caller, which is made when there is none. */
static fw_error find_caller(struct naming *n, const struct site *site, int64_t *caller)
{
    struct stack_place place = site->place;
    uint8_t key[KEY];
    bool full = false;
    if (!key_of(n, &place, key))
        return failure_memory(n->why);
    fw_error e =
        db_query_int(n->conn, caller, n->why,
                     "UPDATE call_caller SET file = $4, line = $5 WHERE project = $1"
                     " AND api = $2 AND key = $3 RETURNING id",
                     DB_VALUES(db_int(site->project), db_int(site->api), db_bytes(key, KEY),
                               db_text(place.file), db_int(place.line)));
    if (e || *caller)
        return e;
    e = is_full(n, site->project, &full);
    if (full) {
        place = (struct stack_place){.image = LIMITS_OTHER, .function = LIMITS_OTHER};
        if (!key_of(n, &place, key))
            return failure_memory(n->why);
    }
    return e ? e
             : db_query_int(n->conn, caller, n->why,
                            "INSERT INTO call_caller (project, api, key, image, function, file,"
                            " line) VALUES ($1, $2, $3, $4, $5, $6, $7)"
                            " ON CONFLICT (project, api, key) DO UPDATE SET line = excluded.line"
                            " RETURNING id",
                            DB_VALUES(db_int(site->project), db_int(site->api), db_bytes(key, KEY),
                                      db_text(place.image),
                                      db_text(place.function ? place.function : ""),
                                      db_text(place.file), db_int(place.line)));
}

static fw_error run_all(struct naming *n, const char *const *statements, size_t count, int64_t site,
                        int64_t caller)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++)
        e = db_run(n->conn, n->why, statements[i], DB_VALUES(db_int(site), db_int(caller)));
    return e;
}

/* $1 the place, $2 a caller. */
#define DAYS_OF_SITE                                                                               \
    "(SELECT project, day, CAST(SUM(count) AS BIGINT) AS count FROM call_day WHERE site = $1"      \
    " GROUP BY project, day)"
static const char *const leave[] = {
    "UPDATE call_caller_day SET count = call_caller_day.count - d.count FROM " DAYS_OF_SITE " AS d"
    " WHERE call_caller_day.project = d.project AND call_caller_day.day = d.day"
    " AND call_caller_day.caller = $2",
    "DELETE FROM call_caller_day WHERE caller = $2 AND count <= 0 AND $1 <> 0",
    "UPDATE call_caller SET stale = 1 WHERE id = $2 AND $1 <> 0",
};
static const char *const join[] = {
    "INSERT INTO call_caller_day (project, day, caller, count) SELECT d.project, d.day,"
    " CAST($2 AS BIGINT), d.count FROM " DAYS_OF_SITE " AS d WHERE 1 = 1"
    " ON CONFLICT (project, day, caller)"
    " DO UPDATE SET count = call_caller_day.count + excluded.count",
};
static const char *const finish[] = {
    "UPDATE call_site SET caller = $2, todo = 0 WHERE id = $1",
    "UPDATE call_caller SET first_version = (SELECT v.id FROM version v WHERE v.id IN"
    " (SELECT d.version FROM call_day d WHERE d.site = $1 UNION ALL SELECT c.first_version"
    " FROM call_caller c WHERE c.id = $2 AND c.first_version IS NOT NULL)"
    " ORDER BY v.sort_key, v.id LIMIT 1) WHERE id = $2",
};

static fw_error write_site(struct naming *n, const struct site *site)
{
    int64_t before = 0, after = 0;
    fw_error e = db_query_int(n->conn, &before, n->why,
                              "SELECT COALESCE(caller, -1) FROM call_site WHERE id = $1",
                              DB_VALUES(db_int(site->id)));
    if (e || !before) /* retention took it away */
        return e;
    e = find_caller(n, site, &after);
    if (!e && before != after && before > 0)
        e = run_all(n, leave, sizeof leave / sizeof *leave, site->id, before);
    if (!e && before != after)
        e = run_all(n, join, sizeof join / sizeof *join, site->id, after);
    return e ? e : run_all(n, finish, sizeof finish / sizeof *finish, site->id, after);
}

/* Nothing when somebody changed maps or sums since the places were looked at. */
static fw_error write_sites(struct naming *n, bool *same)
{
    int64_t now = 0;
    fw_error e = db_begin_soft(n->conn, n->why); /* `todo` tells what is to be done again */
    e = e ? e : db_pass_gate(n->conn, DB_GATE_ALONE, n->why);
    e = e ? e : db_use_indexes(n->conn, n->why);
    e = e ? e : generation_look(n->conn, &now, n->why);
    *same = now == n->generation;
    if (e || !*same)
        return e;
    for (size_t i = 0; i < n->count && !e; i++)
        e = write_site(n, &n->sites[i]);
    return e ? e : db_commit(n->conn, n->why);
}

static fw_error turn(struct naming *n)
{
    int64_t from = n->after;
    bool same = true;
    fw_error e = look(n);
    if (e || !n->count)
        return e;
    e = db_take(n->c->db, DB_WRITE, &n->conn, n->why);
    if (e)
        return e;
    int64_t since = clock_ms();
    e = write_sites(n, &same);
    int64_t took = clock_ms() - since;
    db_give(n->c->db, n->conn);
    n->conn = NULL;
    if (took > DB_TURN_MS && n->limit > 1)
        n->limit /= 2;
    else if (took < DB_TURN_MS / 2)
        n->limit = n->limit * 2 < BATCH ? n->limit * 2 : BATCH;
    if (!same)
        n->after = from;
    n->done += same ? n->count : 0;
    arena_reset(&n->arena);
    return e;
}

/* ---- callers that places left ---- */

/* $1: the caller. */
static const char *const settle[] = {
    "UPDATE call_caller SET stale = 0, first_version = (SELECT v.id FROM version v WHERE v.id IN"
    " (SELECT d.version FROM call_site s JOIN call_day d ON d.site = s.id WHERE s.caller = $1)"
    " ORDER BY v.sort_key, v.id LIMIT 1) WHERE id = $1",
    "DELETE FROM call_caller WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM call_site s"
    " WHERE s.caller = $1)",
};

static fw_error settle_one(struct naming *n, int64_t after, int64_t *caller)
{
    fw_error e = db_take(n->c->db, DB_WRITE, &n->conn, n->why);
    if (e)
        return e;
    e = db_begin_soft(n->conn, n->why);
    e = e ? e : db_pass_gate(n->conn, DB_GATE_ALONE, n->why);
    e = e ? e
          : db_query_int(n->conn, caller, n->why,
                         "SELECT id FROM call_caller WHERE stale <> 0 AND id > $1"
                         " ORDER BY id LIMIT 1",
                         DB_VALUES(db_int(after)));
    for (size_t i = 0; i < sizeof settle / sizeof *settle && *caller && !e; i++)
        e = db_run(n->conn, n->why, settle[i], DB_VALUES(db_int(*caller)));
    e = e ? e : db_commit(n->conn, n->why);
    db_give(n->c->db, n->conn);
    n->conn = NULL;
    return e;
}

static fw_error settle_callers(struct naming *n)
{
    fw_error e = FW_OK;
    for (int64_t after = 0, caller = 1; caller && !e; after = caller) {
        if (!jobs_progress(n->c, n->job, n->done, 0))
            return failure_say(n->why, FW_ERR_TIMEOUT, 0, "stopped while callers were named");
        e = settle_one(n, after, &caller);
    }
    return e;
}

static fw_error name_all(struct naming *n)
{
    fw_error e;
    do {
        if (!jobs_progress(n->c, n->job, n->done, 0))
            return failure_say(n->why, FW_ERR_TIMEOUT, 0, "stopped while callers were named");
        e = turn(n);
    } while (!e && n->after);
    e = e ? e : settle_callers(n);
    if (!e && n->waiting)
        return failure_say(n->why, FW_ERR_TIMEOUT, 0, "once more when all servers know a new map");
    return e;
}

static fw_error run_calls(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct naming *n = calloc(1, sizeof *n);
    if (!n || stack_grouper_new(c, &n->grouper) != FW_OK) {
        free(n);
        return failure_memory(why);
    }
    n->c = c;
    n->job = job;
    n->why = why;
    n->limit = 16;
    fw_error e = name_all(n);
    arena_free(&n->arena);
    stack_grouper_free(n->grouper);
    free(n);
    return e;
}

extern const struct job_kind job_calls;
const struct job_kind job_calls = {"calls", run_calls, 0};
