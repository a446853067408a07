/* What other rules would do: groups_preview.h. Keys are made as groups_rekey.c makes them, and
 * nothing is written. */
#include "collector/groups_preview.h"
#include "base/array.h"
#include "base/failure.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 500 };

struct place { /* where a stack would be: a group that there is, or one with a new key */
    int64_t group;
    uint8_t key[16]; /* of a group that there is: zeros */
};

struct seen { /* a stack */
    int64_t stack, group;
    uint64_t reports;
    bool pinned;
    struct place then;
    const char *title;
};

struct preview {
    struct collector *c;
    int64_t project;
    const struct group_rules *rules;
    struct stack_grouper *grouper;
    struct seen *seen;
    size_t count, capacity;
    struct groups_preview *out;
    struct fw_failure *why;
};

static fw_error rank(struct preview *p, struct db_conn *conn)
{
    struct db_rows *rows;
    bool memory = true;
    fw_error e = db_query(conn, &rows, p->why,
                          "SELECT r.stack, s.group_id, r.n, s.pinned FROM (SELECT stack,"
                          " COUNT(*) AS n, SUM(duration_ns) AS blocked FROM report"
                          " WHERE project = $1 AND group_id IS NOT NULL AND stack IS NOT NULL"
                          " GROUP BY stack ORDER BY blocked DESC, stack LIMIT $2) AS r"
                          " JOIN stack s ON s.id = r.stack WHERE s.group_id IS NOT NULL"
                          " ORDER BY r.blocked DESC, r.stack",
                          DB_VALUES(db_int(p->project), db_int(GROUPS_PREVIEW_STACKS)));
    if (e)
        return e;
    while (memory && db_next(rows)) {
        memory = array_room(&p->seen, &p->capacity, p->count, sizeof *p->seen);
        if (memory)
            p->seen[p->count++] = (struct seen){.stack = db_get_int(rows, 0),
                                                .group = db_get_int(rows, 1),
                                                .reports = (uint64_t)db_get_int(rows, 2),
                                                .pinned = db_get_int(rows, 3) != 0};
    }
    e = db_end(rows, p->why);
    return e || memory ? e : failure_memory(p->why);
}

static fw_error count_stacks(struct preview *p, struct db_conn *conn)
{
    int64_t count;
    fw_error e =
        db_query_int(conn, &count, p->why,
                     "SELECT COUNT(*) FROM stack WHERE project = $1 AND group_id IS NOT NULL",
                     DB_VALUES(db_int(p->project)));
    p->out->stacks_of = (uint64_t)count;
    return e;
}

/* --- Keys ---------------------------------------------------------------------------------------
 */

static fw_error read_row(struct preview *p, struct db_conn *conn, int64_t stack,
                         struct arena *arena, struct stack_row *row)
{
    struct db_rows *rows;
    bool memory = true;
    fw_error e = db_query(conn, &rows, p->why, "SELECT main_image, frames FROM stack WHERE id = $1",
                          DB_VALUES(db_int(stack)));
    if (e)
        return e;
    *row = (struct stack_row){.id = stack, .project = p->project};
    if (db_next(rows)) {
        struct span frames = db_get_bytes(rows, 1);
        uint8_t *copy = arena_take(arena, frames.size);
        memory = copy != NULL;
        if (copy && frames.size)
            memcpy(copy, frames.data, frames.size);
        row->main_image = db_get_int(rows, 0);
        row->frames = (struct span){copy, memory ? frames.size : 0};
    }
    e = db_end(rows, p->why);
    return e || memory ? e : failure_memory(p->why);
}

/* The group that has the key, by way of merges; without one the key stands for a new group. */
static fw_error find(struct preview *p, struct db_conn *conn, struct place *place)
{
    struct db_rows *rows;
    int64_t into = 0;
    fw_error e = db_query(conn, &rows, p->why,
                          "SELECT id, status, merged_into FROM hang_group"
                          " WHERE project = $1 AND key = $2",
                          DB_VALUES(db_int(p->project), db_bytes(place->key, 16)));
    if (e)
        return e;
    if (db_next(rows)) {
        place->group = db_get_int(rows, 0);
        into = db_get_int(rows, 1) == GROUP_MERGED ? db_get_int(rows, 2) : 0;
        memset(place->key, 0, sizeof place->key);
    }
    e = db_end(rows, p->why);
    for (unsigned merges = 0; into && !e && merges < 32; merges++) {
        place->group = into;
        e = db_query(conn, &rows, p->why,
                     "SELECT merged_into FROM hang_group WHERE id = $1 AND status = 3",
                     DB_VALUES(db_int(into)));
        if (e)
            return e;
        into = db_next(rows) ? db_get_int(rows, 0) : 0;
        e = db_end(rows, p->why);
    }
    return e;
}

static const char *kept(struct preview *p, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(&p->out->arena, size);
    return copy ? memcpy(copy, text, size) : "";
}

static fw_error make_key(struct preview *p, const struct stack_row *row, struct arena *arena,
                         struct seen *seen)
{
    struct stack_key key;
    seen->then = (struct place){.group = seen->group};
    seen->title = "";
    if (seen->pinned)
        return FW_OK;
    fw_error e = stack_group_key(p->grouper, NULL, row, p->rules, arena, &key, p->why);
    if (e == FW_ERR_CORRUPT || e == FW_ERR_FULL)
        return FW_OK;
    if (e)
        return e;
    seen->then.group = 0;
    memcpy(seen->then.key, key.answer.key, 16);
    seen->title = kept(p, key.answer.title);
    return FW_OK;
}

static fw_error read_chunk(struct preview *p, size_t from, size_t to, struct arena *arena,
                           struct stack_row *rows)
{
    struct db_conn *conn;
    fw_error e = db_take(p->c->db, DB_READ, &conn, p->why);
    if (e)
        return e;
    for (size_t i = from; i < to && !e; i++)
        e = read_row(p, conn, p->seen[i].stack, arena, &rows[i - from]);
    db_give(p->c->db, conn);
    return e;
}

static fw_error find_chunk(struct preview *p, size_t from, size_t to)
{
    struct db_conn *conn;
    fw_error e = db_take(p->c->db, DB_READ, &conn, p->why);
    if (e)
        return e;
    for (size_t i = from; i < to && !e; i++)
        if (!p->seen[i].then.group)
            e = find(p, conn, &p->seen[i].then);
    db_give(p->c->db, conn);
    return e;
}

static fw_error make_keys(struct preview *p)
{
    struct arena arena = {0};
    struct stack_row rows[CHUNK];
    fw_error e = FW_OK;
    for (size_t from = 0; from < p->count && !e; from += CHUNK) {
        size_t to = from + CHUNK < p->count ? from + CHUNK : p->count;
        e = read_chunk(p, from, to, &arena, rows);
        for (size_t i = from; i < to && !e; i++)
            e = make_key(p, &rows[i - from], &arena, &p->seen[i]);
        e = e ? e : find_chunk(p, from, to);
        arena_reset(&arena);
    }
    arena_free(&arena);
    return e;
}

/* --- Comparison ---------------------------------------------------------------------------------
 */

static int compare_groups(const struct seen *a, const struct seen *b)
{
    return (a->group > b->group) - (a->group < b->group);
}

static int compare_places(const struct seen *a, const struct seen *b)
{
    if (a->then.group != b->then.group)
        return a->then.group < b->then.group ? -1 : 1;
    return memcmp(a->then.key, b->then.key, sizeof a->then.key);
}

static int by_group(const void *a, const void *b)
{
    int order = compare_groups(a, b);
    return order ? order : compare_places(a, b);
}

static int by_place(const void *a, const void *b)
{
    int order = compare_places(a, b);
    return order ? order : compare_groups(a, b);
}

static void count_moved(struct preview *p)
{
    struct groups_preview *out = p->out;
    for (size_t i = 0; i < p->count; i++) {
        const struct seen *s = &p->seen[i];
        out->examined_reports += s->reports;
        if (s->then.group == s->group)
            continue;
        out->moved_reports += s->reports;
        if (out->example_count < GROUPS_PREVIEW_SHOWN)
            out->examples[out->example_count++] =
                (struct groups_preview_example){s->group, s->reports, s->title};
    }
}

/* In runs of the same group, how many places; or the other way round. */
static void count_split(struct preview *p)
{
    struct groups_preview *out = p->out;
    if (p->count)
        qsort(p->seen, p->count, sizeof *p->seen, by_group);
    for (size_t i = 0; i < p->count; out->groups_now++) {
        uint64_t into = 1;
        const struct seen *first = &p->seen[i];
        for (i++; i < p->count && compare_groups(first, &p->seen[i]) == 0; i++)
            into += compare_places(&p->seen[i - 1], &p->seen[i]) != 0;
        if (into > 1 && out->split_count < GROUPS_PREVIEW_SHOWN)
            out->split[out->split_count++] = (struct groups_preview_split){first->group, into};
    }
}

static void count_merged(struct preview *p)
{
    struct groups_preview *out = p->out;
    if (p->count)
        qsort(p->seen, p->count, sizeof *p->seen, by_place);
    for (size_t i = 0; i < p->count; out->groups_then++) {
        uint64_t groups = 1;
        const struct seen *first = &p->seen[i];
        for (i++; i < p->count && compare_places(first, &p->seen[i]) == 0; i++)
            groups += compare_groups(&p->seen[i - 1], &p->seen[i]) != 0;
        if (groups > 1 && out->merged_count < GROUPS_PREVIEW_SHOWN)
            out->merged[out->merged_count++] = (struct groups_preview_merge){first->title, groups};
    }
}

static fw_error examine(struct preview *p)
{
    struct db_conn *conn;
    fw_error e = db_take(p->c->db, DB_READ, &conn, p->why);
    if (e)
        return e;
    e = stack_grouper_look(p->grouper, conn, p->why);
    e = e ? e : rank(p, conn);
    e = e ? e : count_stacks(p, conn);
    db_give(p->c->db, conn);
    e = e ? e : make_keys(p);
    if (e)
        return e;
    p->out->stacks = p->count;
    count_moved(p);
    count_split(p);
    count_merged(p);
    return FW_OK;
}

fw_error groups_preview(struct collector *c, int64_t project, const struct group_rules *rules,
                        struct groups_preview *out, struct fw_failure *why)
{
    struct preview p = {.c = c, .project = project, .rules = rules, .out = out, .why = why};
    if (stack_grouper_new(c, &p.grouper) != FW_OK)
        return failure_memory(why);
    fw_error e = examine(&p);
    stack_grouper_free(p.grouper);
    free(p.seen);
    return e;
}

void groups_preview_free(struct groups_preview *preview)
{
    arena_free(&preview->arena);
}
