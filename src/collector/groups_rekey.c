/*
 * Stacks get the group that names and rules of now lead to: groups_rekey_batch.
 *
 * A group that is made here takes over status and note of the group that its first stack leaves: a
 * debug file that turns "libshop.so near 0x4000" into "Shop::load" must not open again what was
 * ignored. When stacks of another status follow, the new group is open: nothing is hidden that
 * somebody saw. Stacks that were put into their group by hand stay; the key that merged ones would
 * have leads to that group from then on, so that others like them follow.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/db_many.h"
#include "collector/groups.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 20, KEYS = 32, CHUNK = 8, FIRST_BATCH = 64, LEAST_BATCH = 32 };

struct moving_stack { /* a row of `stack`, and of the group it is in */
    struct stack_row row;
    int64_t group, last_ms, rules;
    enum group_pinned pinned;
    bool named;
    bool sample;    /* the group shows this one */
    int64_t status; /* of the group */
    int64_t moving; /* of the group */
    bool noted;     /* the group has a note */
};

struct target { /* a group that keys of this batch lead to */
    int64_t project;
    uint8_t key[16];
    size_t first; /* stack of the batch that has the key */
    int64_t id;   /* 0: there is none yet */
    int64_t status, into, moving;
};

struct batch {
    struct collector *c;
    struct stack_grouper *grouper;
    struct db_conn *conn; /* NULL while keys are made */
    struct fw_failure *why;
    struct arena arena;
    struct moving_stack stacks[GROUPS_BATCH];
    struct stack_key keys[GROUPS_BATCH];
    bool readable[GROUPS_BATCH]; /* a stack that nobody can read stays where it is */
    bool quick;                  /* placing them took no half of a turn */
    size_t count, read;          /* to be placed, and how many rows were there */
    struct target targets[GROUPS_BATCH];
    size_t target_count;
    int64_t stale[GROUPS_BATCH]; /* groups that gave */
    size_t stale_count;
    struct groups_pace *pace;
    uint64_t moved;
};

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

static fw_error query(struct batch *b, const struct groups_rekey *r, struct db_rows **rows)
{
    if (r->image)
        return db_query(b->conn, rows, b->why,
                        STACKS("SELECT stack FROM stack_image"
                               " WHERE image = $1 AND stack > $2 ORDER BY stack"),
                        DB_VALUES(db_int(r->image), db_int(r->after), db_int((int64_t)r->batch)));
    return db_query(b->conn, rows, b->why,
                    STACKS("SELECT id AS stack FROM stack"
                           " WHERE project = $1 AND id > $2 AND group_id IS NOT NULL ORDER BY id"),
                    DB_VALUES(db_int(r->project), db_int(r->after), db_int((int64_t)r->batch)));
}

/* What was done to the group by hand holds for stacks whose rows do not say so yet. */
static void pin_by_group(struct moving_stack *s)
{
    if (s->moving & (GROUP_LEAVING | GROUP_PINNING) && !s->pinned)
        s->pinned = GROUP_PINNED_MERGE;
    else if (s->moving & GROUP_FREEING)
        s->pinned = GROUP_FREE;
}

static fw_error read_stacks(struct batch *b, const struct groups_rekey *r)
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
        b->stacks[b->count++] = (struct moving_stack){
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

/* --- The group of a key ------------------------------------------------------------------------
 */

static struct target *known(struct batch *b, int64_t project, const uint8_t key[16])
{
    for (size_t i = 0; i < b->target_count; i++)
        if (memcmp(b->targets[i].key, key, 16) == 0 && b->targets[i].project == project)
            return &b->targets[i];
    return NULL;
}

/* Whether the key of a stack matters: those that were split off stay, whatever it is. */
static bool is_free(const struct batch *b, size_t i)
{
    return b->readable[i] && b->stacks[i].group && b->stacks[i].pinned != GROUP_PINNED_SPLIT;
}

static void list_targets(struct batch *b, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++) {
        const uint8_t *key = b->keys[i].answer.key;
        int64_t project = b->stacks[i].row.project;
        if (!is_free(b, i) || known(b, project, key))
            continue;
        struct target *t = &b->targets[b->target_count++];
        *t = (struct target){.project = project, .first = i};
        memcpy(t->key, key, 16);
    }
}

/* Reads the groups of KEYS keys at once: over a network each answer is waited for. No IN and no
 * join, for which PostgreSQL reads all groups of the project while it believes that there are few.
 */
#define OF_KEY(column)                                                                             \
    "(SELECT h." column " FROM hang_group h WHERE h.project = $1 AND h.key = k.key)"
static fw_error find_some(struct batch *b, const struct db_value values[1 + KEYS])
{
    struct db_rows *rows;
    fw_error e = db_query(b->conn, &rows, b->why,
                          "WITH k (key) AS (VALUES "
                          "($2), ($3), ($4), ($5), ($6), ($7), ($8), ($9), ($10), "
                          "($11), ($12), ($13), ($14), ($15), ($16), ($17), ($18), "
                          "($19), ($20), ($21), ($22), ($23), ($24), ($25), ($26), "
                          "($27), ($28), ($29), ($30), ($31), ($32), ($33))"
                          " SELECT k.key, " OF_KEY("id") ", " OF_KEY("status") ", " OF_KEY(
                              "merged_into") ", " OF_KEY("moving") " FROM k",
                          values, 1 + KEYS);
    if (e)
        return e;
    while (db_next(rows)) {
        struct span key = db_get_bytes(rows, 0);
        struct target *t = key.size == 16 ? known(b, values[0].integer, key.data) : NULL;
        if (!t || db_is_null(rows, 1))
            continue;
        t->id = db_get_int(rows, 1);
        t->status = db_get_int(rows, 2);
        t->into = t->status == GROUP_MERGED ? db_get_int(rows, 3) : 0;
        t->moving = db_get_int(rows, 4);
    }
    return db_end(rows, b->why);
}

/* Looks up all targets from `from` on that have no row yet; KEYS of the same project at once. */
static fw_error find_targets(struct batch *b, size_t from)
{
    struct db_value values[1 + KEYS];
    fw_error e = FW_OK;
    while (from < b->target_count && !e) {
        int64_t project = b->targets[from].project;
        size_t count = 0;
        for (; from < b->target_count && count < KEYS && b->targets[from].project == project;
             from++)
            if (!b->targets[from].id)
                values[1 + count++] = db_bytes(b->targets[from].key, 16);
        if (!count)
            continue;
        values[0] = db_int(project);
        for (; count < KEYS; count++)
            values[1 + count] = values[1];
        e = find_some(b, values);
    }
    return e;
}

/* A fresh group has status and note of this stack's. */
static fw_error hand_over(struct batch *b, const struct moving_stack *s)
{
    if (!s->status && !s->noted)
        return FW_OK;
    return db_run(b->conn, b->why, "UPDATE hang_group SET moving = moving | 5 WHERE id = $1",
                  DB_VALUES(db_int(s->group)));
}

/* Makes groups of keys: for stacks that move one has status and note of their group; `into`: it
 * only leads there. */
#define MAKE_HEAD                                                                                  \
    "INSERT INTO hang_group (project, key, rules, section, title, leaf, image, file, line,"        \
    " search, why, sample_stack, first_ms, last_ms, merged_into, moving, status,"                  \
    " resolved_version, note) SELECT o.project, v.column2, v.column3, v.column4, v.column5,"       \
    " v.column6, v.column7, NULLIF(v.column8, ''), v.column9, v.column10, v.column11, v.column12," \
    " v.column13, v.column13, NULLIF(v.column14, 0), CASE v.column14 WHEN 0 THEN 2 ELSE 0 END,"    \
    " CASE v.column14 WHEN 0 THEN o.status ELSE 3 END, o.resolved_version,"                        \
    " CASE v.column14 WHEN 0 THEN o.note ELSE '' END FROM (VALUES "
#define MAKE_TAIL ") AS v CROSS JOIN hang_group o WHERE o.id = v.column1"

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static fw_error make(struct batch *b, struct db_many *many, const struct target *t)
{
    const struct moving_stack *s = &b->stacks[t->first];
    const struct stack_key *key = &b->keys[t->first];
    const struct group_answer *a = &key->answer;
    int64_t into = s->pinned ? s->group : 0;
    fw_error e =
        db_many_add(many, DB_ROW(db_int(s->group), db_bytes(a->key, 16), db_int(key->rules_version),
                                 db_int((int64_t)a->section), db_text(text_of(a->title)),
                                 db_text(text_of(a->leaf)), db_text(text_of(a->image)),
                                 db_text(text_of(a->file)), db_int(a->line),
                                 db_text(text_of(a->search)), db_text(text_of(a->why)),
                                 db_int(s->row.id), db_int(s->last_ms), db_int(into)));
    return e || into ? e : hand_over(b, s);
}

/* Where merges lead in the end. */
static fw_error follow(struct batch *b, struct target *t)
{
    for (unsigned merges = 0; t->into && merges < 32; merges++) {
        struct db_rows *rows;
        t->id = t->into;
        t->into = 0;
        fw_error e = db_query(b->conn, &rows, b->why,
                              "SELECT status, merged_into, moving FROM hang_group WHERE id = $1",
                              DB_VALUES(db_int(t->id)));
        if (e)
            return e;
        if (db_next(rows)) {
            t->status = db_get_int(rows, 0);
            t->into = t->status == GROUP_MERGED ? db_get_int(rows, 1) : 0;
            t->moving = db_get_int(rows, 2);
        }
        e = db_end(rows, b->why);
        if (e)
            return e;
    }
    return FW_OK;
}

/* The groups that these stacks go to. */
static fw_error make_targets(struct batch *b, size_t from, size_t count)
{
    struct db_many many = {
        .conn = b->conn, .why = b->why, .head = MAKE_HEAD, .tail = MAKE_TAIL, .columns = 14};
    size_t first = b->target_count;
    list_targets(b, from, count);
    fw_error e = find_targets(b, first);
    bool made = false;
    for (size_t i = first; i < b->target_count && !e; i++) {
        if (b->targets[i].id)
            continue;
        e = make(b, &many, &b->targets[i]);
        made = true;
    }
    e = e ? e : db_many_end(&many);
    if (made && !e)
        e = find_targets(b, first);
    for (size_t i = first; i < b->target_count && !e; i++) {
        if (!b->targets[i].id)
            return failure_say(b->why, FW_ERR_TIMEOUT, 0,
                               "a group went away while its stacks moved");
        e = follow(b, &b->targets[i]);
    }
    return e;
}

/* --- Moving ------------------------------------------------------------------------------------
 */

static void note_stale(struct batch *b, int64_t group)
{
    for (size_t i = b->stale_count; i > 0; i--)
        if (b->stale[i - 1] == group)
            return;
    b->stale[b->stale_count++] = group;
}

static fw_error set_row(struct batch *b, const struct moving_stack *s, const struct stack_key *key)
{
    return db_run(b->conn, b->why,
                  "UPDATE stack SET rules = $2, named = $3, pinned = $4 WHERE id = $1",
                  DB_VALUES(db_int(s->row.id), db_int(key->rules_version), db_int(key->all_maps),
                            db_int((int64_t)s->pinned)));
}

/* A fresh group gets a second one's stacks. What people saw of one must not be hidden in another
 * that was ignored or resolved; and no note is lost. */
static fw_error join(struct batch *b, const struct moving_stack *s, struct target *t)
{
    fw_error e = FW_OK;
    if (!(t->moving & GROUP_FRESH))
        return FW_OK;
    if (t->status && t->status != s->status) {
        t->status = GROUP_OPEN;
        e = db_run(b->conn, b->why,
                   "UPDATE hang_group SET status = 0, resolved_version = NULL WHERE id = $1",
                   DB_VALUES(db_int(t->id)));
    }
    if (!e && s->noted)
        e = db_run(b->conn, b->why,
                   "UPDATE hang_group SET note = CASE WHEN hang_group.note = '' THEN o.note"
                   " ELSE hang_group.note || $3 || o.note END FROM hang_group o"
                   " WHERE hang_group.id = $1 AND o.id = $2 AND o.moving < 4"
                   " AND LENGTH(hang_group.note) < 4000",
                   DB_VALUES(db_int(t->id), db_int(s->group), db_text("\n")));
    return e ? e : hand_over(b, s);
}

/* The group stays; what it is called may be better known. */
static fw_error refresh(struct batch *b, const struct moving_stack *s, const struct stack_key *key)
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
static struct target *way_of(struct batch *b, size_t i)
{
    struct moving_stack *s = &b->stacks[i];
    struct target *t =
        is_free(b, i) && !s->pinned ? known(b, s->row.project, b->keys[i].answer.key) : NULL;
    return t && t->id != s->group ? t : NULL;
}

static fw_error stay(struct batch *b, size_t i)
{
    const struct moving_stack *s = &b->stacks[i];
    const struct stack_key *key = &b->keys[i];
    fw_error e = FW_OK;
    if (!s->group || !b->readable[i])
        return FW_OK;
    if (!is_free(b, i))
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
static fw_error move_reports(struct batch *b, struct chunk *c, size_t limit)
{
    c->move_count = 0;
    c->moved = (struct groups_moved){0};
    for (size_t i = c->from; i < c->from + c->count; i++) {
        const struct target *t = way_of(b, i);
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

static fw_error move_stacks(struct batch *b, const struct chunk *c)
{
    struct db_many many = {.conn = b->conn,
                           .why = b->why,
                           .head = "UPDATE stack SET group_id = v.column2, rules = v.column3,"
                                   " named = v.column4, moving = v.column5, pinned = 0"
                                   " FROM (VALUES ",
                           .tail = ") AS v WHERE stack.id = v.column1",
                           .columns = 5};
    fw_error e = FW_OK;
    for (size_t i = 0; i < c->move_count && !e; i++) {
        const struct moving_stack *s = &b->stacks[c->at[i]];
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

static fw_error place(struct batch *b, struct chunk *c, size_t limit)
{
    fw_error e = make_targets(b, c->from, c->count);
    e = e ? e : move_reports(b, c, limit);
    e = e ? e : move_stacks(b, c);
    for (size_t i = c->from; i < c->from + c->count && !e; i++)
        if (!way_of(b, i))
            e = stay(b, i);
    return e;
}

static fw_error mark_stale(struct batch *b)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < b->stale_count && !e; i++)
        e = groups_mark_stale(b->conn, b->stale[i], b->why);
    return e;
}

/* So many of them as the turn has time for, in small portions: the time that a portion takes is
 * only known afterwards. */
static fw_error place_all(struct batch *b, int64_t since)
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

static fw_error read_batch(struct batch *b, const struct groups_rekey *r)
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

static fw_error make_keys(struct batch *b)
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

static fw_error write_stacks(struct batch *b, bool *same)
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

static fw_error write_batch(struct batch *b, bool *same)
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
static fw_error run_batch(struct batch *b, const struct groups_rekey *r)
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
    struct batch *b = calloc(1, sizeof *b);
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
