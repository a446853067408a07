/*
 * Stacks get the group that names and rules of now lead to: groups_rekey_batch. Stacks are read and
 * keyed while others write, groups_rekey_targets.c finds or makes the groups of their keys, and
 * then they move. Stacks that were put into their group by hand stay.
 *
 * A group that was just made has the status of its first stacks. When stacks of another status
 * follow, it is open: nothing is hidden that somebody saw.
 */
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/db_many.h"
#include "collector/groups_rekey_inner.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 20, CHUNK = 8, FIRST_BATCH = 64, LEAST_BATCH = 32 };

static fw_error no_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

/* The inner SELECT chooses: PostgreSQL might read all that follow before it takes the first ones.
 */
#define STACKS(chosen)                                                                             \
    "SELECT s.id, s.project, s.main_image, s.frames, s.group_id, s.last_ms, s.rules, s.pinned,"    \
    " s.named, h.sample_stack, h.status, CASE WHEN h.note <> '' THEN 1 ELSE 0 END, h.moving FROM"  \
    " (" chosen " LIMIT $3) i JOIN stack s ON s.id = i.stack"                                      \
    " LEFT JOIN hang_group h ON h.id = s.group_id ORDER BY i.stack"

static fw_error query(struct rekey_batch *b, const struct groups_rekey *r, struct db_rows **rows)
{
    if (r->image)
        return db_query(
            b->conn, rows, b->why,
            STACKS("SELECT k.stack FROM stack_image k WHERE k.image = $1 AND k.stack > $2"
                   " AND ($4 = 0 OR EXISTS (SELECT 1 FROM stack o WHERE o.id = k.stack"
                   " AND o.project = $4)) ORDER BY k.stack"),
            DB_VALUES(db_int(r->image), db_int(r->after), db_int((int64_t)r->batch),
                      db_int(r->project)));
    return db_query(b->conn, rows, b->why,
                    STACKS("SELECT id AS stack FROM stack"
                           " WHERE project = $1 AND id > $2 AND group_id IS NOT NULL ORDER BY id"),
                    DB_VALUES(db_int(r->project), db_int(r->after), db_int((int64_t)r->batch)));
}

/* What was done to the group by hand holds for stacks whose rows do not say so yet. */
static void pin_by_group(struct rekey_stack *s)
{
    if (s->moving & (GROUP_LEAVING | GROUP_PINNING) && !s->pinned)
        s->pinned = GROUP_PINNED_MERGE;
    else if (s->moving & GROUP_FREEING)
        s->pinned = GROUP_FREE;
}

static fw_error read_stacks(struct rekey_batch *b, const struct groups_rekey *r)
{
    struct db_rows *rows;
    fw_error e = query(b, r, &rows);
    if (e)
        return e;
    bool memory = true;
    while (memory && b->count < GROUPS_BATCH && db_next(rows)) {
        struct span frames = db_get_bytes(rows, 3);
        uint8_t *copy = arena_take(&b->arena, frames.size);
        memory = copy != NULL;
        if (copy && frames.size)
            memcpy(copy, frames.data, frames.size);
        b->stacks[b->count++] = (struct rekey_stack){
            .row = {db_get_int(rows, 0),
                    db_get_int(rows, 1),
                    db_get_int(rows, 2),
                    {copy, frames.size}},
            .group = db_get_int(rows, 4),
            .last_ms = db_get_int(rows, 5),
            .rules = db_get_int(rows, 6),
            .pinned = (enum group_pinned)db_get_int(rows, 7),
            .named = db_get_int(rows, 8) != 0,
            .sample = db_get_int(rows, 9) == db_get_int(rows, 0),
            .status = db_get_int(rows, 10),
            .noted = db_get_int(rows, 11) != 0,
            .moving = db_get_int(rows, 12),
        };
        pin_by_group(&b->stacks[b->count - 1]);
    }
    b->read = b->count;
    e = db_end(rows, b->why);
    return e || memory ? e : no_memory(b->why);
}

/* --- Moving ------------------------------------------------------------------------------------
 */

static void note_stale(struct rekey_batch *b, int64_t group)
{
    for (size_t i = b->stale_count; i > 0; i--)
        if (b->stale[i - 1] == group)
            return;
    b->stale[b->stale_count++] = group;
}

static fw_error set_row(struct rekey_batch *b, const struct rekey_stack *s,
                        const struct stack_key *key)
{
    return db_run(b->conn, b->why,
                  "UPDATE stack SET rules = $2, named = $3, pinned = $4 WHERE id = $1",
                  DB_VALUES(db_int(s->row.id), db_int(key->rules_version), db_int(key->all_maps),
                            db_int((int64_t)s->pinned)));
}

/* A fresh group gets a second one's stacks. What people saw of one must not be hidden in another
 * that was ignored or resolved; and no note is lost. */
static fw_error join(struct rekey_batch *b, const struct rekey_stack *s, struct rekey_target *t)
{
    fw_error e = FW_OK;
    if (!(t->moving & GROUP_FRESH))
        return FW_OK;
    if (t->status && t->status != s->status) {
        t->status = GROUP_OPEN;
        e = db_run(b->conn, b->why,
                   "UPDATE hang_group SET status = 0, fixed_version = NULL WHERE id = $1",
                   DB_VALUES(db_int(t->id)));
    }
    if (!e && s->noted)
        e = db_run(b->conn, b->why,
                   "UPDATE hang_group SET note = CASE WHEN hang_group.note = '' THEN o.note"
                   " ELSE hang_group.note || $3 || o.note END FROM hang_group o"
                   " WHERE hang_group.id = $1 AND o.id = $2 AND o.moving < 4"
                   " AND LENGTH(hang_group.note) < 4000",
                   DB_VALUES(db_int(t->id), db_int(s->group), db_text("\n")));
    if (!e && (s->status || s->noted))
        e = groups_rekey_history(b, s, t->id);
    return e ? e : groups_rekey_hand_over(b, s);
}

/* The group stays; what it is called may be better known. */
static fw_error refresh(struct rekey_batch *b, const struct rekey_stack *s,
                        const struct stack_key *key)
{
    const struct group_answer *a = &key->answer;
    return db_run(b->conn, b->why,
                  "UPDATE hang_group SET rules = $2, section = $3, title = $4, leaf = $5,"
                  " image = $6, file = $7, line = $8, search = $9, why = $10 WHERE id = $1",
                  DB_VALUES(db_int(s->group), db_int(key->rules_version),
                            db_int((int64_t)a->section), db_text(a->title), db_text(a->leaf),
                            db_text(a->image), db_text(a->file), db_int(a->line),
                            db_text(a->search), db_text(a->why)));
}

/* NULL: the stack stays where it is. */
static struct rekey_target *way_of(struct rekey_batch *b, size_t i)
{
    struct rekey_stack *s = &b->stacks[i];
    struct rekey_target *t = groups_rekey_is_free(b, i) && !s->pinned
                                 ? groups_rekey_target(b, s->row.project, b->keys[i].answer.key)
                                 : NULL;
    return t && t->id != s->group ? t : NULL;
}

static fw_error stay(struct rekey_batch *b, size_t i)
{
    const struct rekey_stack *s = &b->stacks[i];
    const struct stack_key *key = &b->keys[i];
    fw_error e = FW_OK;
    if (!s->group || !b->readable[i])
        return FW_OK;
    if (!groups_rekey_is_free(b, i))
        return set_row(b, s, key);
    if (s->rules != key->rules_version || s->named != key->all_maps)
        e = set_row(b, s, key);
    return e || !s->sample ? e : refresh(b, s, key);
}

struct chunk { /* stacks of a batch that are placed together */
    size_t from, count;
    struct groups_move moves[GROUPS_BATCH];
    size_t at[GROUPS_BATCH]; /* of each move: the stack */
    size_t move_count;
    struct groups_moved moved;
};

/* Reports of the moving ones first: the last of them may have more than this turn takes; then those
 * behind it are not placed. */
static fw_error move_reports(struct rekey_batch *b, struct chunk *c, size_t limit)
{
    c->move_count = 0;
    c->moved = (struct groups_moved){0};
    for (size_t i = c->from; i < c->from + c->count; i++) {
        const struct rekey_target *t = way_of(b, i);
        if (!t)
            continue;
        c->at[c->move_count] = i;
        c->moves[c->move_count++] = (struct groups_move){b->stacks[i].row.id, t->id};
    }
    fw_error e = c->move_count ? groups_move_reports(b->c->db, b->conn, c->moves, c->move_count, 0,
                                                     limit, &c->moved, b->why)
                               : FW_OK;
    if (c->moved.whole + 1 < c->move_count) {
        c->move_count = c->moved.whole + 1;
        c->count = c->at[c->moved.whole] + 1 - c->from;
    }
    return e;
}

static fw_error move_stacks(struct rekey_batch *b, const struct chunk *c)
{
    struct db_many many = {.conn = b->conn,
                           .why = b->why,
                           .head = "UPDATE stack SET group_id = v.column2, rules = v.column3,"
                                   " named = v.column4, moving = v.column5, pinned = 0"
                                   " FROM (VALUES ",
                           .tail = ") AS v WHERE stack.id = v.column1 AND stack.id IN ({first})",
                           .columns = 5};
    fw_error e = FW_OK;
    for (size_t i = 0; i < c->move_count && !e; i++) {
        const struct rekey_stack *s = &b->stacks[c->at[i]];
        const struct stack_key *key = &b->keys[c->at[i]];
        e = join(b, s, way_of(b, c->at[i]));
        e = e ? e
              : db_many_add(&many, DB_ROW(db_int(s->row.id), db_int(c->moves[i].to),
                                          db_int(key->rules_version), db_int(key->all_maps),
                                          db_int(i >= c->moved.whole)));
        note_stale(b, s->group);
        b->moved++;
    }
    return e ? e : db_many_end(&many);
}

static fw_error place(struct rekey_batch *b, struct chunk *c, size_t limit)
{
    fw_error e = groups_rekey_targets(b, c->from, c->count);
    e = e ? e : move_reports(b, c, limit);
    e = e ? e : move_stacks(b, c);
    for (size_t i = c->from; i < c->from + c->count && !e; i++)
        if (!way_of(b, i))
            e = stay(b, i);
    return e;
}

static fw_error mark_stale(struct rekey_batch *b)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < b->stale_count && !e; i++)
        e = groups_mark_stale(b->conn, b->stale[i], b->why);
    return e;
}

/* So many of them as the turn has time for, in small portions: the time that a portion takes is
 * only known afterwards. */
static fw_error place_all(struct rekey_batch *b, int64_t since)
{
    struct chunk *c = malloc(sizeof *c);
    if (!c)
        return no_memory(b->why);
    bool many = db_is_postgres(b->c->db); /* connections that write: nobody waits for this one */
    size_t limit = groups_pace_limit(b->pace, b->c->db), moved = 0;
    int64_t until = since + GROUPS_TURN_MS;
    fw_error e = FW_OK;
    c->from = 0;
    while (c->from < b->count && !e && moved < limit &&
           (c->from == 0 || many || clock_ms() < until)) {
        size_t left = b->count - c->from;
        c->count = many || left < CHUNK ? left : CHUNK;
        e = place(b, c, limit - moved);
        moved += c->moved.moved;
        c->from += c->count;
    }
    b->count = c->from;
    groups_pace_took(b->pace, b->c->db, moved, clock_ms() - since);
    free(c);
    return e;
}

/* --- A batch -----------------------------------------------------------------------------------
 */

static fw_error read_batch(struct rekey_batch *b, const struct groups_rekey *r)
{
    fw_error e = db_take(b->c->db, DB_READ, &b->conn, b->why);
    if (e)
        return e;
    e = db_begin(b->conn, b->why); /* generation and stacks are of one moment */
    e = e ? e : db_use_indexes(b->conn, b->why);
    e = e ? e : stack_grouper_look(b->grouper, b->conn, b->why);
    e = e ? e : read_stacks(b, r);
    db_give(b->c->db, b->conn);
    b->conn = NULL;
    return e;
}

static fw_error make_keys(struct rekey_batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        fw_error e = stack_group_key(b->grouper, NULL, &b->stacks[i].row, NULL, &b->arena,
                                     &b->keys[i], b->why);
        b->readable[i] = e == FW_OK;
        if (e && e != FW_ERR_CORRUPT && e != FW_ERR_FULL)
            return e;
    }
    return FW_OK;
}

static fw_error write_stacks(struct rekey_batch *b, bool *same)
{
    int64_t since = clock_ms();
    fw_error e = stack_grouper_claim(b->grouper, b->conn, same, b->why);
    if (e || !*same)
        return e;
    e = db_use_indexes(b->conn, b->why);
    e = e ? e : place_all(b, since);
    e = e ? e : mark_stale(b);
    b->quick = clock_ms() < since + GROUPS_TURN_MS / 2;
    return e ? e : db_commit(b->conn, b->why);
}

static fw_error write_batch(struct rekey_batch *b, bool *same)
{
    fw_error e = db_take(b->c->db, DB_WRITE, &b->conn, b->why);
    if (e)
        return e;
    e = db_begin_soft(b->conn, b->why); /* the job is done again from its start */
    e = e ? e : write_stacks(b, same);
    db_give(b->c->db, b->conn);
    b->conn = NULL;
    return e;
}

/* Names are made while nobody waits for it; when somebody changed groups meanwhile, once more. */
static fw_error run_batch(struct rekey_batch *b, const struct groups_rekey *r)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        bool same = false;
        arena_reset(&b->arena);
        b->count = b->target_count = b->stale_count = 0;
        b->moved = 0;
        fw_error e = read_batch(b, r);
        e = e ? e : make_keys(b);
        e = e ? e : write_batch(b, &same);
        if (e || same)
            return e;
    }
    return failure_say(b->why, FW_ERR_TIMEOUT, 0, "groups were changed again and again meanwhile");
}

fw_error groups_rekey_batch(struct collector *c, struct stack_grouper *grouper,
                            struct groups_rekey *r, bool *more, struct fw_failure *why)
{
    struct rekey_batch *b = calloc(1, sizeof *b);
    if (!b)
        return no_memory(why);
    b->c = c;
    b->grouper = grouper;
    b->why = why;
    b->pace = &r->pace;
    if (!r->batch)
        r->batch = db_is_postgres(c->db) ? GROUPS_BATCH : FIRST_BATCH;
    fw_error e = run_batch(b, r);
    *more = b->read == r->batch || b->count < b->read;
    if (b->count < b->read && !db_is_postgres(c->db))
        r->batch = b->count > LEAST_BATCH ? b->count : LEAST_BATCH;
    else if (b->quick && r->batch < GROUPS_BATCH)
        r->batch = r->batch * 2 < GROUPS_BATCH ? r->batch * 2 : GROUPS_BATCH;
    if (!e && b->count) {
        r->after = b->stacks[b->count - 1].row.id;
        r->examined += b->count;
        r->moved += b->moved;
    }
    arena_free(&b->arena);
    free(b);
    return e;
}
