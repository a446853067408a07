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
#include "collector/groups.h"

#include <string.h>

enum { TRIES = 20, KEYS = 32 };

struct moving_stack { /* a row of `stack`, and of the group it is in */
    struct stack_row row;
    int64_t group, last_ms, rules;
    enum group_pinned pinned;
    bool named;
    bool sample;    /* the group shows this one */
    int64_t status; /* of the group */
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
    int64_t stale[GROUPS_BATCH * 2]; /* groups that gave or took */
    size_t stale_count;
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
    " s.named, h.sample_stack, h.status, CASE WHEN h.note <> '' THEN 1 ELSE 0 END FROM"            \
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
        };
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

static void list_targets(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
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

/* Looks up all targets from `from` on that have no row yet and are of the same project. */
static fw_error find_targets(struct batch *b)
{
    struct db_value values[1 + KEYS];
    fw_error e = FW_OK;
    for (size_t from = 0; from < b->target_count && !e;) {
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

/* Makes the group of a key: for stacks that move it has status and note of their group; `into`: it
 * only leads there. */
static fw_error make(struct batch *b, const struct moving_stack *s, const struct stack_key *key,
                     int64_t into)
{
    const struct group_answer *a = &key->answer;
    fw_error e = db_run(
        b->conn, b->why,
        "INSERT INTO hang_group (project, key, rules, section, title, leaf, image, file, line,"
        " search, why, sample_stack, first_ms, last_ms, merged_into, moving, status,"
        " resolved_version, note)"
        " SELECT o.project, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CAST($12 AS BIGINT),"
        " CAST($13 AS BIGINT), CAST($13 AS BIGINT), CAST($14 AS BIGINT), CAST($15 AS BIGINT),"
        " CASE WHEN CAST($14 AS BIGINT) IS NULL THEN o.status ELSE 3 END, o.resolved_version,"
        " CASE WHEN CAST($14 AS BIGINT) IS NULL THEN o.note ELSE '' END"
        " FROM hang_group o WHERE o.id = $1",
        DB_VALUES(db_int(s->group), db_bytes(a->key, 16), db_int(key->rules_version),
                  db_int((int64_t)a->section), db_text(a->title), db_text(a->leaf),
                  db_text(a->image), db_text(a->file), db_int(a->line), db_text(a->search),
                  db_text(a->why), db_int(s->row.id), db_int(s->last_ms),
                  into ? db_int(into) : db_null(), db_int(into ? 0 : GROUP_STALE | GROUP_FRESH)));
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

static fw_error make_targets(struct batch *b)
{
    list_targets(b);
    fw_error e = find_targets(b);
    bool made = false;
    for (size_t i = 0; i < b->target_count && !e; i++) {
        const struct target *t = &b->targets[i];
        const struct moving_stack *s = &b->stacks[t->first];
        if (t->id)
            continue;
        e = make(b, s, &b->keys[t->first], s->pinned ? s->group : 0);
        made = true;
    }
    if (made && !e)
        e = find_targets(b);
    for (size_t i = 0; i < b->target_count && !e; i++) {
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

static fw_error set_row(struct batch *b, const struct moving_stack *s, int64_t group,
                        const struct stack_key *key)
{
    return db_run(b->conn, b->why,
                  "UPDATE stack SET group_id = $2, rules = $3, named = $4 WHERE id = $1",
                  DB_VALUES(db_int(s->row.id), db_int(group), db_int(key->rules_version),
                            db_int(key->all_maps)));
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

static fw_error move(struct batch *b, const struct moving_stack *s, struct target *t,
                     const struct stack_key *key)
{
    fw_error e = join(b, s, t);
    e = e ? e : set_row(b, s, t->id, key);
    e = e ? e
          : db_run(b->conn, b->why,
                   "UPDATE report SET group_id = $2 WHERE stack = $1 AND group_id IS NOT NULL",
                   DB_VALUES(db_int(s->row.id), db_int(t->id)));
    note_stale(b, s->group);
    note_stale(b, t->id);
    b->moved++;
    return e;
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

static fw_error place(struct batch *b, size_t i)
{
    const struct moving_stack *s = &b->stacks[i];
    const struct stack_key *key = &b->keys[i];
    fw_error e = FW_OK;
    if (!is_free(b, i))
        return s->group && b->readable[i] ? set_row(b, s, s->group, key) : FW_OK;
    struct target *t = known(b, s->row.project, key->answer.key);
    if (!s->pinned && t->id != s->group)
        return move(b, s, t, key);
    if (s->rules != key->rules_version || s->named != key->all_maps)
        e = set_row(b, s, s->group, key);
    return e || !s->sample ? e : refresh(b, s, key);
}

static fw_error mark_stale(struct batch *b)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < b->stale_count && !e; i++)
        e = db_run(b->conn, b->why, "UPDATE hang_group SET moving = moving | 1 WHERE id = $1",
                   DB_VALUES(db_int(b->stale[i])));
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
    fw_error e = stack_grouper_claim(b->grouper, b->conn, same, b->why);
    if (e || !*same)
        return e;
    e = db_use_indexes(b->conn, b->why);
    e = e ? e : make_targets(b);
    int64_t until = clock_ms() + DB_TURN_MS;
    bool many = db_is_postgres(b->c->db); /* connections that write: nobody waits for this one */
    size_t placed = 0;
    while (placed < b->count && !e && (placed == 0 || many || clock_ms() < until))
        e = place(b, placed++);
    b->quick = clock_ms() < until - DB_TURN_MS / 2;
    b->count = placed; /* the others' turn comes with the next batch */
    e = e ? e : mark_stale(b);
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
    if (!r->batch)
        r->batch = GROUPS_BATCH;
    fw_error e = run_batch(b, r);
    *more = b->read == r->batch || b->count < b->read;
    if (b->count < b->read)
        r->batch = b->count;
    else if (b->quick && r->batch * 2 <= GROUPS_BATCH)
        r->batch *= 2;
    if (!e && b->count) {
        r->after = b->stacks[b->count - 1].row.id;
        r->examined += b->count;
        r->moved += b->moved;
    }
    arena_free(&b->arena);
    free(b);
    return e;
}
