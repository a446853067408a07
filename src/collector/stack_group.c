/* The group of a stack, looked up by its key or made: stack_group.h. */
#include "base/failure.h"
#include "collector/stack_group_inner.h"

enum { MERGES = 32 };

static fw_error no_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

static fw_error read_stack(struct grouping *s, struct stack_row *row, int64_t *group)
{
    struct db_rows *rows;
    fw_error e = db_query(s->conn, &rows, s->why,
                          "SELECT frames, group_id, main_image FROM stack WHERE id = $1",
                          DB_VALUES(db_int(s->stack)));
    if (e)
        return e;
    bool found = db_next(rows);
    if (found) {
        struct span frames = db_get_bytes(rows, 0);
        *row =
            (struct stack_row){.id = s->stack,
                               .project = s->project,
                               .main_image = db_get_int(rows, 2),
                               .frames = {copied(s->arena, frames.data, frames.size), frames.size}};
        *group = db_get_int(rows, 1);
    }
    e = db_end(rows, s->why);
    if (!e && !found)
        return failure_say(s->why, FW_ERR_NOT_FOUND, 0, "there is no such stack");
    return e || row->frames.data ? e : no_memory(s->why);
}

/* The group that stands for this one after merges. */
static fw_error follow(struct grouping *s, int64_t *group)
{
    for (unsigned i = 0; i < MERGES; i++) {
        struct db_rows *rows;
        int64_t into = 0;
        fw_error e = db_query(s->conn, &rows, s->why,
                              "SELECT merged_into FROM hang_group WHERE id = $1 AND status = 3",
                              DB_VALUES(db_int(*group)));
        if (e)
            return e;
        if (db_next(rows))
            into = db_get_int(rows, 0);
        e = db_end(rows, s->why);
        if (e || !into)
            return e;
        *group = into;
    }
    return FW_OK;
}

static fw_error find_group(struct grouping *s, const uint8_t key[16], int64_t *group)
{
    struct db_rows *rows;
    fw_error e = db_query(s->conn, &rows, s->why,
                          "SELECT id FROM hang_group WHERE project = $1 AND key = $2",
                          DB_VALUES(db_int(s->project), db_bytes(key, 16)));
    *group = 0;
    if (e)
        return e;
    if (db_next(rows))
        *group = db_get_int(rows, 0);
    return db_end(rows, s->why);
}

static fw_error make_group(struct grouping *s, const struct group_answer *a, int64_t rules,
                           uint64_t at_ms, int64_t *group)
{
    struct db_rows *rows;
    fw_error e = db_query(
        s->conn, &rows, s->why,
        "INSERT INTO hang_group (project, key, rules, section, title, leaf, image, file, line,"
        " search, why, sample_stack, first_ms, last_ms)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)"
        " ON CONFLICT (project, key) DO NOTHING RETURNING id",
        DB_VALUES(db_int(s->project), db_bytes(a->key, sizeof a->key), db_int(rules),
                  db_int((int64_t)a->section), db_text(a->title), db_text(a->leaf),
                  db_text(a->image ? a->image : ""), db_text(a->file), db_int(a->line),
                  db_text(a->search), db_text(a->why), db_int(s->stack), db_int((int64_t)at_ms)));
    if (e)
        return e;
    if (db_next(rows))
        *group = db_get_int(rows, 0);
    return db_end(rows, s->why);
}

static fw_error group_by_key(struct grouping *s, const struct stack_row *row, uint64_t at_ms,
                             int64_t *group, bool *made)
{
    struct stack_key key = {0};
    fw_error e = stack_group_key(s->g, s->conn, row, NULL, s->arena, &key, s->why);
    e = e ? e : find_group(s, key.answer.key, group);
    if (!e && !*group) {
        e = make_group(s, &key.answer, key.rules_version, at_ms, group);
        *made = !e && *group;
        if (!e && !*group) /* another server was faster */
            e = find_group(s, key.answer.key, group);
    }
    if (!e && !*group)
        e = failure_say(s->why, FW_ERR_TIMEOUT, 0, "a group went away while it was looked for");
    e = e ? e : follow(s, group);
    return e ? e
             : db_run(s->conn, s->why,
                      "UPDATE stack SET group_id = $2, rules = $3, named = $4 WHERE id = $1",
                      DB_VALUES(db_int(s->stack), db_int(*group), db_int(key.rules_version),
                                db_int(key.all_maps)));
}

fw_error stack_group(struct stack_grouper *g, struct db_conn *conn, int64_t project, int64_t stack,
                     uint64_t at_ms, int64_t *group, bool *made, struct fw_failure *why)
{
    struct grouping s = {
        .g = g, .conn = conn, .why = why, .arena = &g->arena, .project = project, .stack = stack};
    struct stack_row row = {0};
    *made = false;
    fw_error e = read_stack(&s, &row, group);
    if (!e && !*group)
        e = group_by_key(&s, &row, at_ms, group, made);
    arena_reset(&g->arena);
    return e;
}
