/*
 * Groups that reports left: groups_settle_all.
 *
 * Their sums are right already (group_sums.h). What cannot be subtracted is found anew: the longest
 * report, the first and the last one, of each day and version and of all. With SQLite, where one
 * connection writes, all reports of the groups are read on one that reads, and the turn of the
 * writer then adds what came in since: those with higher row numbers. With PostgreSQL rows become
 * visible in another order than they are numbered, and nobody waits for the connection: there the
 * writer reads.
 */
#include "collector/groups.h"
#include "base/array.h"
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/db_many.h"
#include "collector/generation.h"
#include "collector/groups_fixed.h"

#include <stdio.h>
#include <stdlib.h>

/* Groups of a turn at most, and reports of those that are read. */
enum { TURN_GROUPS = 512, TURN_REPORTS = 20000, TRIES = 50 };

#define MOVING "moving <> 0 AND moving < 8 AND id BETWEEN $1 AND $2"
#define STALE  MOVING " AND (moving & 1) = 1"

struct extremes {
    int64_t group, longest_ns, first_ms, last_ms, first_version, last_version;
};

struct cell { /* of group_day */
    int64_t group, day, version, longest_ns, first_ms, last_ms;
};

struct settling {
    struct collector *c;
    struct db_conn *conn;
    struct fw_failure *why;
    int64_t generation;
    int64_t range[2]; /* of groups */
    size_t limit;     /* groups of a turn */
    size_t count;     /* that there were */
    int64_t last_report;
    struct extremes of[TURN_GROUPS]; /* by group */
    size_t of_count;
    struct cell *cells; /* that group_day has otherwise */
    size_t cell_count, cell_capacity;
};

/* ---- reading ---- */

static fw_error find_range(struct settling *s, int64_t from, int64_t to)
{
    struct db_rows *rows;
    int64_t reports = 0;
    fw_error e = db_query(s->conn, &rows, s->why,
                          "SELECT id, CASE WHEN (moving & 1) = 1 THEN reports ELSE 0 END"
                          " FROM hang_group WHERE moving <> 0 AND moving < 8"
                          " AND id BETWEEN $1 AND $2 ORDER BY id LIMIT $3",
                          DB_VALUES(db_int(from), db_int(to), db_int((int64_t)s->limit)));
    s->count = 0;
    if (e)
        return e;
    while (reports < TURN_REPORTS && db_next(rows)) {
        int64_t more = db_get_int(rows, 1);
        if (s->count && reports + more > TURN_REPORTS)
            break;
        reports += more;
        s->range[1] = db_get_int(rows, 0);
        if (!s->count++)
            s->range[0] = s->range[1];
    }
    return db_end(rows, s->why);
}

static struct cell cell_of(const struct db_rows *rows)
{
    return (struct cell){db_get_int(rows, 0), db_get_int(rows, 1), db_get_int(rows, 2),
                         db_get_int(rows, 3), db_get_int(rows, 4), db_get_int(rows, 5)};
}

static int by_group(const void *a, const void *b)
{
    const struct extremes *x = a, *y = b;
    return (x->group > y->group) - (x->group < y->group);
}

#define MOST(x)  to->x = from->x > to->x ? from->x : to->x
#define LEAST(x) to->x = from->x < to->x ? from->x : to->x
static void merge(struct extremes *to, const struct extremes *from)
{
    MOST(longest_ns);
    LEAST(first_ms);
    MOST(last_ms);
    LEAST(first_version);
    MOST(last_version);
}

static void merge_cell(struct cell *to, const struct cell *from)
{
    MOST(longest_ns);
    LEAST(first_ms);
    MOST(last_ms);
}
#undef MOST
#undef LEAST

static void put(struct settling *s, struct extremes one)
{
    struct extremes *known = bsearch(&one, s->of, s->of_count, sizeof one, by_group);
    if (known)
        merge(known, &one);
    else if (s->of_count < TURN_GROUPS) { /* kept in their order */
        size_t at = s->of_count++;
        for (; at > 0 && s->of[at - 1].group > one.group; at--)
            s->of[at] = s->of[at - 1];
        s->of[at] = one;
    }
}

static void put_all(struct settling *s, const struct cell *cell)
{
    put(s, (struct extremes){cell->group, cell->longest_ns, cell->first_ms, cell->last_ms,
                             cell->version, cell->version});
}

#define CELLS(of, group)                                                                           \
    "SELECT r.group_id, r.day, r.version, MAX(r.duration_ns) AS longest,"                          \
    " MIN(r.started_ms) AS earliest, MAX(r.started_ms) AS latest FROM report r WHERE " of          \
    " IN (SELECT id FROM hang_group WHERE " STALE ") GROUP BY " group ", r.day, r.version"

/* Those of a range of groups. */
static fw_error read_groups(struct settling *s)
{
    struct db_rows *rows;
    s->of_count = s->cell_count = 0;
    fw_error e = db_query(
        s->conn, &rows, s->why,
        "SELECT c.*, CASE WHEN d.longest_ns <> c.longest OR d.first_ms <> c.earliest"
        " OR d.last_ms <> c.latest THEN 1 ELSE 0 END"
        " FROM (" CELLS(
            "r.group_id",
            "r.group_id") ") c JOIN group_day d"
                          " ON d.group_id = c.group_id AND d.day = c.day AND d.version = c.version",
        DB_VALUES(db_int(s->range[0]), db_int(s->range[1])));
    if (e)
        return e;
    while (!e && db_next(rows)) {
        struct cell cell = cell_of(rows);
        put_all(s, &cell);
        if (!db_get_int(rows, 6))
            continue;
        if (array_room(&s->cells, &s->cell_capacity, s->cell_count, sizeof *s->cells))
            s->cells[s->cell_count++] = cell;
        else
            e = failure_memory(s->why);
    }
    fw_error ended = db_end(rows, s->why);
    return e ? e : ended;
}

/* What came in since. group_day has it, beside what it had otherwise. "+": by the rows, of which
 * few are that new, and by no index of groups. */
static fw_error read_since(struct settling *s)
{
    struct db_rows *rows;
    fw_error e =
        db_query(s->conn, &rows, s->why, CELLS("r.id > $3 AND +r.group_id", "+r.group_id"),
                 DB_VALUES(db_int(s->range[0]), db_int(s->range[1]), db_int(s->last_report)));
    if (e)
        return e;
    while (db_next(rows)) {
        struct cell cell = cell_of(rows);
        put_all(s, &cell);
        for (size_t i = 0; i < s->cell_count; i++) {
            struct cell *known = &s->cells[i];
            if (known->group == cell.group && known->day == cell.day &&
                known->version == cell.version)
                merge_cell(known, &cell);
        }
    }
    return db_end(rows, s->why);
}

static fw_error read_last(struct settling *s)
{
    struct db_rows *rows;
    fw_error e = db_query(s->conn, &rows, s->why, "SELECT MAX(id) FROM report", DB_NONE);
    if (e)
        return e;
    s->last_report = db_next(rows) ? db_get_int(rows, 0) : 0;
    return db_end(rows, s->why);
}

static fw_error look(struct settling *s, int64_t from, int64_t to)
{
    fw_error e = db_take(s->c->db, DB_READ, &s->conn, s->why);
    if (e)
        return e;
    e = db_begin(s->conn, s->why);
    e = e ? e : db_use_indexes(s->conn, s->why);
    e = e ? e : generation_look(s->conn, &s->generation, s->why);
    e = e ? e : find_range(s, from, to);
    if (!e && s->count && !db_is_postgres(s->c->db)) {
        e = read_last(s);
        e = e ? e : read_groups(s);
    }
    db_give(s->c->db, s->conn);
    return e;
}

/* ---- writing ---- */

static fw_error write_extremes(struct settling *s)
{
    struct db_many many = {
        .conn = s->conn,
        .why = s->why,
        .head = "UPDATE hang_group SET longest_ns = v.column2,"
                " first_ms = v.column3, last_ms = v.column4,"
                " first_version = v.column5, last_version = v.column6"
                " FROM (VALUES ",
        .tail = ") AS v WHERE hang_group.id = v.column1 AND hang_group.id IN ({first})",
        .columns = 6};
    fw_error e = FW_OK;
    for (size_t i = 0; i < s->of_count && !e; i++) {
        const struct extremes *x = &s->of[i];
        e = db_many_add(&many, DB_ROW(db_int(x->group), db_int(x->longest_ns), db_int(x->first_ms),
                                      db_int(x->last_ms), db_int(x->first_version),
                                      db_int(x->last_version)));
    }
    return e ? e : db_many_end(&many);
}

static fw_error write_cells(struct settling *s)
{
    struct db_many many = {
        .conn = s->conn,
        .why = s->why,
        .head = "UPDATE group_day SET longest_ns = v.column4, first_ms = v.column5,"
                " last_ms = v.column6 FROM (VALUES ",
        .tail = ") AS v WHERE group_day.group_id = v.column1 AND group_day.day = v.column2"
                " AND group_day.version = v.column3 AND group_day.group_id IN ({first})",
        .columns = 6};
    fw_error e = FW_OK;
    for (size_t i = 0; i < s->cell_count && !e; i++) {
        const struct cell *x = &s->cells[i];
        e = db_many_add(&many,
                        DB_ROW(db_int(x->group), db_int(x->day), db_int(x->version),
                               db_int(x->longest_ns), db_int(x->first_ms), db_int(x->last_ms)));
    }
    return e ? e : db_many_end(&many);
}

struct resolved {
    int64_t groups[TURN_GROUPS];
    struct group_fixed fixed[TURN_GROUPS];
    size_t count;
};

static fw_error list_resolved(struct settling *s, struct resolved *list)
{
    struct db_rows *rows;
    fw_error e =
        db_query(s->conn, &rows, s->why,
                 "SELECT h.id, " GROUP_FIXED_COLUMNS " FROM hang_group h WHERE " MOVING
                 " AND h.status = $3 AND h.fixed_version IS NOT NULL",
                 DB_VALUES(db_int(s->range[0]), db_int(s->range[1]), db_int(GROUP_RESOLVED)));
    if (e)
        return e;
    while (list->count < TURN_GROUPS && db_next(rows)) {
        list->groups[list->count] = db_get_int(rows, 0);
        group_fixed_read(rows, 1, &list->fixed[list->count++]);
    }
    return db_end(rows, s->why);
}

struct back { /* a version that opens a group again */
    bool found;
    char version[256], build[256];
};

/* Whether it holds reports of a version in which it was to be gone. One group is asked for at a
 * time: for a join of many PostgreSQL may read all of group_day over and over, by what it believes
 * of a group's size. */
static fw_error is_back(struct settling *s, int64_t group, const struct group_fixed *fixed,
                        struct back *back)
{
    struct db_rows *rows;
    *back = (struct back){.found = false};
    fw_error e = db_query(s->conn, &rows, s->why,
                          "SELECT v.version, v.build, v.date_ms FROM version v WHERE v.id IN"
                          " (SELECT version FROM group_day WHERE group_id = $1)",
                          DB_VALUES(db_int(group)));
    if (e)
        return e;
    while (!back->found && db_next(rows)) {
        const struct group_seen seen = {db_get_text(rows, 0), db_get_text(rows, 1),
                                        db_get_int(rows, 2)};
        back->found = group_fixed_is_back(fixed, &seen);
        snprintf(back->version, sizeof back->version, "%s", seen.version);
        snprintf(back->build, sizeof back->build, "%s", seen.build);
    }
    return db_end(rows, s->why);
}

/* What stacks bring that move into a resolved group may be a report of such a version: the same as
 * when it came in now. */
static fw_error reopen(struct settling *s)
{
    struct resolved *list = calloc(1, sizeof *list);
    fw_error e = list ? list_resolved(s, list) : failure_memory(s->why);
    for (size_t i = 0; !e && i < list->count; i++) {
        struct back back;
        e = is_back(s, list->groups[i], &list->fixed[i], &back);
        const struct group_seen seen = {back.version, back.build, 0};
        if (!e && back.found)
            e = group_reopen(s->conn, list->groups[i], &seen, (int64_t)collector_now_ms(), s->why);
    }
    free(list);
    return e;
}

#define GONE                                                                                       \
    MOVING " AND reports = 0 AND status <> 3"                                                      \
           " AND ((status = 0 AND note = '' AND pinned = 0) OR moving >= 4)"                       \
           " AND NOT EXISTS (SELECT 1 FROM stack WHERE stack.group_id = hang_group.id)"            \
           " AND NOT EXISTS (SELECT 1 FROM hang_group m WHERE m.merged_into = hang_group.id)"
/* Groups that nothing is left of, unless somebody touched them; and the sample of those whose
 * sample moved away. */
static fw_error tidy(struct settling *s)
{
    static const char *const statements[] = {
        "DELETE FROM group_event WHERE group_id IN (SELECT id FROM hang_group WHERE " GONE ")",
        "DELETE FROM hang_group WHERE " GONE,
        "UPDATE hang_group SET"
        " sample_stack = (SELECT MIN(id) FROM stack WHERE stack.group_id = hang_group.id)"
        " WHERE " STALE " AND status <> 3"
        " AND NOT EXISTS (SELECT 1 FROM stack WHERE stack.id = hang_group.sample_stack"
        " AND stack.group_id = hang_group.id)",
        "UPDATE hang_group SET moving = 0,"
        " longest_ns = CASE WHEN reports = 0 THEN 0 ELSE longest_ns END"
        " WHERE " MOVING,
    };
    fw_error e = FW_OK;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !e; i++)
        e = db_run(s->conn, s->why, statements[i],
                   DB_VALUES(db_int(s->range[0]), db_int(s->range[1])));
    return e;
}

static fw_error write_range(struct settling *s)
{
    fw_error e = db_use_indexes(s->conn, s->why);
    if (!e)
        e = db_is_postgres(s->c->db) ? read_groups(s) : read_since(s);
    e = e ? e : write_cells(s);
    e = e ? e : write_extremes(s);
    e = e ? e : reopen(s);
    return e ? e : tidy(s);
}

/* ---- turns ---- */

/* As many groups at once as a turn has time for. */
static fw_error write(struct settling *s, bool *same)
{
    fw_error e = db_take(s->c->db, DB_WRITE, &s->conn, s->why);
    if (e)
        return e;
    int64_t since = clock_ms();
    e = db_begin_soft(s->conn, s->why); /* `moving` tells what is to be done again */
    e = e ? e : generation_claim(s->conn, &s->generation, same, s->why);
    if (!e && *same) {
        e = write_range(s);
        e = e ? e : db_commit(s->conn, s->why);
        int64_t took = clock_ms() - since;
        int64_t turn = db_is_postgres(s->c->db) ? 10 * GROUPS_TURN_MS : GROUPS_TURN_MS;
        if (took > turn && s->limit > 1)
            s->limit /= 2;
        else if (took < turn / 2 && s->limit < TURN_GROUPS)
            s->limit *= 2;
    }
    db_give(s->c->db, s->conn);
    return e;
}

/* When somebody else changed something since the groups were read, they are read once more. */
static fw_error turn(struct settling *s, int64_t from, int64_t to)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        bool same = false;
        fw_error e = look(s, from, to);
        if (e || !s->count)
            return e;
        e = write(s, &same);
        if (e || same)
            return e;
    }
    return failure_say(s->why, FW_ERR_TIMEOUT, 0, "groups were changed again and again meanwhile");
}

static struct settling *begin(struct collector *c, struct fw_failure *why)
{
    struct settling *s = calloc(1, sizeof *s);
    if (!s)
        failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    else
        *s = (struct settling){.c = c, .why = why, .limit = 16};
    return s;
}

static void end(struct settling *s)
{
    free(s->cells);
    free(s);
}

/* From the first group on, until none is found on the whole way. */
static fw_error settle(struct settling *s, bool (*ours)(void *context), void *context)
{
    for (int64_t from = 1; from;) {
        if (ours && !ours(context))
            return failure_say(s->why, FW_ERR_TIMEOUT, 0, "stopped while groups were settled");
        fw_error e = turn(s, from, INT64_MAX);
        if (e)
            return e;
        if (s->count)
            from = s->range[1] + 1;
        else
            from = from > 1;
    }
    return FW_OK;
}

fw_error groups_settle_all(struct collector *c, bool (*ours)(void *context), void *context,
                           struct fw_failure *why)
{
    fw_error e = groups_move_rest(c, ours, context, why);
    struct settling *s = e ? NULL : begin(c, why);
    if (!s)
        return e ? e : FW_ERR_MEMORY;
    e = settle(s, ours, context);
    end(s);
    return e;
}

fw_error groups_settle_one(struct collector *c, int64_t group, struct fw_failure *why)
{
    struct settling *s = begin(c, why);
    if (!s)
        return FW_ERR_MEMORY;
    fw_error e = turn(s, group, group);
    end(s);
    return e;
}
