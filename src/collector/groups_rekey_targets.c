/*
 * The groups that keys of a batch of groups_rekey.c lead to.
 *
 * A group that is made here takes over status and note of the group that its first stack leaves: a
 * debug file that turns "libshop.so near 0x4000" into "Shop::load" must not open again what was
 * ignored. The key that stacks which were merged by hand would have leads to their group from then
 * on, so that others like them follow.
 */
#include "base/failure.h"
#include "collector/db_many.h"
#include "collector/groups_rekey_inner.h"

#include <string.h>

enum { KEYS = 32 };

struct rekey_target *groups_rekey_target(struct rekey_batch *b, int64_t project,
                                         const uint8_t key[16])
{
    for (size_t i = 0; i < b->target_count; i++)
        if (memcmp(b->targets[i].key, key, 16) == 0 && b->targets[i].project == project)
            return &b->targets[i];
    return NULL;
}

bool groups_rekey_is_free(const struct rekey_batch *b, size_t i)
{
    return b->readable[i] && b->stacks[i].group && b->stacks[i].pinned != GROUP_PINNED_SPLIT;
}

static void list_targets(struct rekey_batch *b, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++) {
        const uint8_t *key = b->keys[i].answer.key;
        int64_t project = b->stacks[i].row.project;
        if (!groups_rekey_is_free(b, i) || groups_rekey_target(b, project, key))
            continue;
        struct rekey_target *t = &b->targets[b->target_count++];
        *t = (struct rekey_target){.project = project, .first = i};
        memcpy(t->key, key, 16);
    }
}

/* Reads the groups of KEYS keys at once: over a network each answer is waited for. No IN and no
 * join, for which PostgreSQL reads all groups of the project while it believes that there are few.
 */
#define OF_KEY(column)                                                                             \
    "(SELECT h." column " FROM hang_group h WHERE h.project = $1 AND h.key = k.key)"
static fw_error find_some(struct rekey_batch *b, const struct db_value values[1 + KEYS])
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
        struct rekey_target *t =
            key.size == 16 ? groups_rekey_target(b, values[0].integer, key.data) : NULL;
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
static fw_error find_targets(struct rekey_batch *b, size_t from)
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

fw_error groups_rekey_hand_over(struct rekey_batch *b, const struct rekey_stack *s)
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
    " fixed_version, fixed_build, fixed_after, note) SELECT o.project, v.column2, v.column3, "     \
    "v.column4, v.column5,"                                                                        \
    " v.column6, v.column7, NULLIF(v.column8, ''), v.column9, v.column10, v.column11, v.column12," \
    " v.column13, v.column13, NULLIF(v.column14, 0), CASE v.column14 WHEN 0 THEN 2 ELSE 0 END,"    \
    " CASE v.column14 WHEN 0 THEN o.status ELSE 3 END, o.fixed_version, o.fixed_build, "           \
    "o.fixed_after,"                                                                               \
    " CASE v.column14 WHEN 0 THEN o.note ELSE '' END FROM (VALUES "
#define MAKE_TAIL ") AS v CROSS JOIN hang_group o WHERE o.id = v.column1 AND o.id IN ({first})"

/* What became of the group that its stack leaves; what it has already stays once. */
fw_error groups_rekey_history(struct rekey_batch *b, const struct rekey_stack *s, int64_t to)
{
    return db_run(b->conn, b->why,
                  "INSERT INTO group_event (project, group_id, at_ms, who, action, detail)"
                  " SELECT e.project, $2, e.at_ms, e.who, e.action, e.detail FROM group_event e"
                  " WHERE e.group_id = $1 AND NOT EXISTS (SELECT 1 FROM group_event o"
                  " WHERE o.group_id = $2 AND o.at_ms = e.at_ms AND o.action = e.action"
                  " AND o.who = e.who) ORDER BY e.id",
                  DB_VALUES(db_int(s->group), db_int(to)));
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static fw_error make(struct rekey_batch *b, struct db_many *many, struct rekey_target *t)
{
    const struct rekey_stack *s = &b->stacks[t->first];
    const struct stack_key *key = &b->keys[t->first];
    const struct group_answer *a = &key->answer;
    int64_t into = s->pinned ? s->group : 0;
    t->inherits = !into && (s->status || s->noted);
    fw_error e =
        db_many_add(many, DB_ROW(db_int(s->group), db_bytes(a->key, 16), db_int(key->rules_version),
                                 db_int((int64_t)a->section), db_text(text_of(a->title)),
                                 db_text(text_of(a->leaf)), db_text(text_of(a->image)),
                                 db_text(text_of(a->file)), db_int(a->line),
                                 db_text(text_of(a->search)), db_text(text_of(a->why)),
                                 db_int(s->row.id), db_int(s->last_ms), db_int(into)));
    return e || into ? e : groups_rekey_hand_over(b, s);
}

/* Where merges lead in the end. */
static fw_error follow(struct rekey_batch *b, struct rekey_target *t)
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

fw_error groups_rekey_targets(struct rekey_batch *b, size_t from, size_t count)
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
    for (size_t i = first; i < b->target_count && !e; i++)
        if (b->targets[i].inherits && b->targets[i].id)
            e = groups_rekey_history(b, &b->stacks[b->targets[i].first], b->targets[i].id);
    for (size_t i = first; i < b->target_count && !e; i++) {
        if (!b->targets[i].id)
            return failure_say(b->why, FW_ERR_TIMEOUT, 0,
                               "a group went away while its stacks moved");
        e = follow(b, &b->targets[i]);
    }
    return e;
}
