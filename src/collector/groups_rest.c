/*
 * What was begun with groups and is not done yet: groups_move.h. One short transaction after the
 * other, each with what there is to do found anew, so that any number may be at it, and any of them
 * may be killed.
 *
 * Which reports of a stack were moved is remembered as long as nobody else changed anything
 * (generation.h); else they are looked at from the first one on, which costs time and no more.
 */
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/db_many.h"
#include "collector/generation.h"
#include "collector/groups.h"
#include "collector/groups_move.h"

enum { STACKS = 32, PINS = 500 };

struct rest {
    struct collector *c;
    struct db_conn *conn;
    struct fw_failure *why;
    struct groups_pace pace;
    int64_t generation; /* as the task was found, or as the last transaction left it */
    int64_t group, into, marks, stack;  /* the task: a marked group, or a stack; 0: none */
    int64_t for_group, for_stack, done; /* what `done` is of: rows up to it are done */
};

/* ---- finding ---- */

static fw_error find_group(struct rest *r)
{
    struct db_rows *rows;
    fw_error e = db_query(r->conn, &rows, r->why,
                          "SELECT id, merged_into, moving FROM hang_group"
                          " WHERE moving <> 0 AND moving >= $1 ORDER BY id LIMIT 1",
                          DB_VALUES(db_int(GROUP_LEAVING)));
    r->group = 0;
    if (e)
        return e;
    if (db_next(rows)) {
        r->group = db_get_int(rows, 0);
        r->into = db_get_int(rows, 1);
        r->marks = db_get_int(rows, 2);
    }
    return db_end(rows, r->why);
}

static fw_error find_stack(struct rest *r)
{
    struct db_rows *rows;
    fw_error e =
        db_query(r->conn, &rows, r->why,
                 "SELECT id, group_id FROM stack WHERE moving <> 0 ORDER BY id LIMIT 1", DB_NONE);
    r->stack = 0;
    if (e)
        return e;
    if (db_next(rows)) {
        r->stack = db_get_int(rows, 0);
        r->into = db_get_int(rows, 1);
    }
    return db_end(rows, r->why);
}

static fw_error find(struct rest *r, bool *found)
{
    int64_t generation = 0;
    fw_error e = db_take(r->c->db, DB_READ, &r->conn, r->why);
    if (e)
        return e;
    e = db_begin(r->conn, r->why);
    e = e ? e : generation_look(r->conn, &generation, r->why);
    e = e ? e : find_group(r);
    r->stack = 0;
    if (!e && !r->group)
        e = find_stack(r);
    db_give(r->c->db, r->conn);
    if ((r->stack && generation != r->generation) || r->group != r->for_group ||
        r->stack != r->for_stack)
        r->done = 0;
    r->generation = generation;
    r->for_group = r->group;
    r->for_stack = r->stack;
    *found = r->group || r->stack;
    return e;
}

/* ---- doing ---- */

static fw_error read_stacks(struct rest *r, int64_t *stacks, size_t limit, size_t *count)
{
    struct db_rows *rows;
    *count = 0;
    fw_error e = db_query(r->conn, &rows, r->why,
                          "SELECT id FROM stack WHERE group_id = $1 AND id > $2"
                          " ORDER BY id LIMIT $3",
                          DB_VALUES(db_int(r->group), db_int(r->done), db_int((int64_t)limit)));
    if (e)
        return e;
    while (*count < limit && db_next(rows))
        stacks[(*count)++] = db_get_int(rows, 0);
    return db_end(rows, r->why);
}

static fw_error unmark(struct rest *r, int64_t mark)
{
    return db_run(r->conn, r->why,
                  "UPDATE hang_group SET moving = (moving & ~$2) | 1 WHERE id = $1",
                  DB_VALUES(db_int(r->group), db_int(mark)));
}

/* Of a group that was merged: stacks go where it was merged to, and are pinned there. */
static fw_error leave(struct rest *r, size_t *moved)
{
    int64_t stacks[STACKS];
    struct groups_move moves[STACKS];
    struct groups_moved done;
    size_t count;
    r->done = 0; /* those that went are not there any more */
    fw_error e = read_stacks(r, stacks, STACKS, &count);
    if (e || !count)
        return e ? e : unmark(r, GROUP_LEAVING);
    for (size_t i = 0; i < count; i++)
        moves[i] = (struct groups_move){stacks[i], r->into};
    e = groups_move_reports(r->c->db, r->conn, moves, count, 0,
                            groups_pace_limit(&r->pace, r->c->db), &done, r->why);
    const struct db_value into[] = {db_int(r->into)};
    struct db_many many = {.conn = r->conn,
                           .why = r->why,
                           .head = "UPDATE stack SET group_id = $1, pinned = GREATEST(pinned, 1),"
                                   " moving = v.column2 FROM (VALUES ",
                           .tail = ") AS v WHERE stack.id = v.column1 AND stack.id IN ({first})",
                           .columns = 2,
                           .before = into,
                           .before_count = 1};
    for (size_t i = 0; i < count && i <= done.whole && !e; i++)
        e = db_many_add(&many, DB_ROW(db_int(stacks[i]), db_int(i == done.whole)));
    *moved = done.moved;
    return e ? e : db_many_end(&many);
}

/* All stacks of the group are pinned, or free again. Those that come into it meanwhile need not be:
 * they came by their keys. */
static fw_error pin(struct rest *r, int64_t mark, const char *sql)
{
    int64_t stacks[PINS];
    size_t count;
    fw_error e = read_stacks(r, stacks, PINS, &count);
    if (!e && count) {
        e = db_run(r->conn, r->why, sql,
                   DB_VALUES(db_int(r->group), db_int(stacks[0]), db_int(stacks[count - 1])));
        r->done = stacks[count - 1];
    }
    return e || count == PINS ? e : unmark(r, mark);
}

static fw_error follow(struct rest *r, size_t *moved)
{
    const struct groups_move move = {r->stack, r->into};
    struct groups_moved done;
    fw_error e = groups_move_reports(r->c->db, r->conn, &move, 1, r->done,
                                     groups_pace_limit(&r->pace, r->c->db), &done, r->why);
    r->done = done.last;
    *moved = done.moved;
    return e || !done.whole ? e
                            : db_run(r->conn, r->why, "UPDATE stack SET moving = 0 WHERE id = $1",
                                     DB_VALUES(db_int(r->stack)));
}

static fw_error do_some(struct rest *r, size_t *moved)
{
    if (r->group && r->marks & GROUP_LEAVING)
        return leave(r, moved);
    if (r->group && r->marks & GROUP_PINNING)
        return pin(r, GROUP_PINNING,
                   "UPDATE stack SET pinned = 1 WHERE group_id = $1 AND id BETWEEN $2 AND $3"
                   " AND pinned = 0");
    if (r->group)
        return pin(r, GROUP_FREEING,
                   "UPDATE stack SET pinned = 0 WHERE group_id = $1 AND id BETWEEN $2 AND $3"
                   " AND pinned <> 0");
    return follow(r, moved);
}

/* When somebody else changed something since the task was found, it is looked for once more. */
static fw_error turn(struct rest *r)
{
    bool same = false;
    size_t moved = 0;
    fw_error e = db_take(r->c->db, DB_WRITE, &r->conn, r->why);
    if (e)
        return e;
    int64_t since = clock_ms();
    e = db_begin_soft(r->conn, r->why); /* the marks tell what is to be done again */
    e = e ? e : generation_claim(r->conn, &r->generation, &same, r->why);
    if (!e && same) {
        e = db_use_indexes(r->conn, r->why);
        e = e ? e : do_some(r, &moved);
        e = e ? e : db_commit(r->conn, r->why);
        groups_pace_took(&r->pace, r->c->db, moved, clock_ms() - since);
    }
    db_give(r->c->db, r->conn);
    if (e || !same)
        r->generation = 0;
    return e;
}

fw_error groups_move_rest(struct collector *c, bool (*ours)(void *context), void *context,
                          struct fw_failure *why)
{
    struct rest r = {.c = c, .why = why};
    for (;;) {
        bool found;
        if (ours && !ours(context))
            return failure_say(why, FW_ERR_TIMEOUT, 0, "stopped while reports moved");
        fw_error e = find(&r, &found);
        if (e || !found)
            return e;
        e = turn(&r);
        if (e)
            return e;
    }
}
