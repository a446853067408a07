/*
 * What people do to groups: status, notes, merge, split. groups.h.
 *
 * A decision by hand always wins: the stacks concerned are pinned, so neither rules nor names move
 * them, and the row of a merged group stays as a signpost for stacks with its key that are still to
 * come.
 */
#include "base/failure.h"
#include "collector/groups.h"
#include "collector/jobs.h"
#include "collector/versions.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

struct group_row {
    int64_t status, into;
};

static fw_error read_group(struct db_conn *conn, int64_t project, int64_t group,
                           struct group_row *row, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why,
                          "SELECT status, merged_into FROM hang_group"
                          " WHERE id = $1 AND project = $2",
                          DB_VALUES(db_int(group), db_int(project)));
    if (e)
        return e;
    bool found = db_next(rows);
    if (found)
        *row = (struct group_row){db_get_int(rows, 0), db_get_int(rows, 1)};
    e = db_end(rows, why);
    return e || found
               ? e
               : failure_say(why, FW_ERR_NOT_FOUND, 0, "there is no group %lld", (long long)group);
}

/* The same, of a group that has stacks. */
static fw_error read_living(struct db_conn *conn, int64_t project, int64_t group,
                            struct fw_failure *why)
{
    struct group_row row;
    fw_error e = read_group(conn, project, group, &row, why);
    if (!e && row.status == GROUP_MERGED)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "group %lld was merged into group %lld",
                           (long long)group, (long long)row.into);
    return e;
}

/* --- Status and note ---------------------------------------------------------------------------
 */

/* The newest version of the line of what the group was seen in last, else of the project. */
static fw_error newest_version(struct db_conn *conn, int64_t project, int64_t group,
                               char version[256], struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e =
        db_query(conn, &rows, why,
                 "WITH seen AS (SELECT v.numbered, v.line FROM version v WHERE v.id IN"
                 " (SELECT d.version FROM group_day d WHERE d.group_id = $2)"
                 " ORDER BY v.numbered DESC, v.date_ms DESC, v.id DESC LIMIT 1)"
                 " SELECT v.version FROM version v LEFT JOIN seen s ON 1 = 1"
                 " WHERE v.project = $1 ORDER BY CASE WHEN v.numbered = s.numbered"
                 " AND v.line = s.line THEN 0 ELSE 1 END," VERSIONS_NEWEST_FIRST " LIMIT 1",
                 DB_VALUES(db_int(project), db_int(group)));
    if (e)
        return e;
    bool found = db_next(rows);
    if (found)
        snprintf(version, 256, "%s", db_get_text(rows, 0));
    e = db_end(rows, why);
    return e || found ? e : failure_say(why, FW_ERR_NOT_FOUND, 0, "no version has come in yet");
}

/* In what a resolved group is fixed. */
static fw_error read_fix(struct db_conn *conn, int64_t project, int64_t group,
                         const struct group_fix *fix, struct group_fixed *fixed,
                         struct fw_failure *why)
{
    *fixed = (struct group_fixed){.after = fix->after || !fix->version};
    if (!fix->version)
        return newest_version(conn, project, group, fixed->version, why);
    for (const char *at = fix->version; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return failure_say(why, FW_ERR_ARGUMENT, 0, "a version is a text on one line");
    if (!version_split(fix->version, fixed->version, fixed->build))
        return failure_say(why, FW_ERR_ARGUMENT, 0,
                           "a version is a text of 1 to 255 bytes, or that and \" (BUILD)\"");
    return FW_OK;
}

static fw_error set_status(struct db_conn *conn, int64_t project, int64_t group,
                           enum group_status status, const struct group_fixed *fixed,
                           struct fw_failure *why)
{
    fw_error e = read_living(conn, project, group, why);
    return e ? e
             : db_run(conn, why,
                      "UPDATE hang_group SET status = $2, fixed_version = $3, fixed_build = $4,"
                      " fixed_after = $5, reopened_ms = NULL WHERE id = $1",
                      DB_VALUES(db_int(group), db_int((int64_t)status),
                                fixed ? db_text(fixed->version) : db_null(),
                                db_text(fixed ? fixed->build : ""),
                                db_int(fixed ? fixed->after : 0)));
}

fw_error groups_set_status(struct db_conn *conn, int64_t project, int64_t group,
                           enum group_status status, struct fw_failure *why)
{
    return set_status(conn, project, group, status, NULL, why);
}

fw_error groups_resolve(struct db_conn *conn, int64_t project, int64_t group,
                        const struct group_fix *fix, struct group_fixed *fixed,
                        struct fw_failure *why)
{
    fw_error e = read_fix(conn, project, group, fix, fixed, why);
    return e ? e : set_status(conn, project, group, GROUP_RESOLVED, fixed, why);
}

fw_error groups_set_note(struct db_conn *conn, int64_t project, int64_t group, const char *note,
                         struct fw_failure *why)
{
    struct group_row row;
    fw_error e = read_group(conn, project, group, &row, why);
    return e ? e
             : db_run(conn, why, "UPDATE hang_group SET note = $2 WHERE id = $1",
                      DB_VALUES(db_int(group), db_text(note)));
}

/* --- Merge -------------------------------------------------------------------------------------
 */

/* Finishing is a job's when the one who asked goes away before. */
static fw_error add_job(struct db_conn *conn, struct fw_failure *why)
{
    return jobs_add(conn, "groups", "", "", why);
}

/* Stacks of the group follow by and by, and are pinned (groups_move_rest); from now on new ones
 * with its key go where it leads. */
fw_error groups_merge(struct db_conn *conn, int64_t project, int64_t group, int64_t into,
                      struct fw_failure *why)
{
    static const char *const statements[] = {
        "UPDATE hang_group SET merged_into = $2 WHERE merged_into = $1 OR id = $1",
        ("UPDATE hang_group SET status = 3, moving = (moving & ~32) | 9"
         " WHERE id = $1 AND merged_into = $2"),
        "UPDATE hang_group SET pinned = 1, moving = (moving & ~32) | 16 WHERE id = $2 AND id <> $1",
    };
    if (group == into)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "a group cannot be merged into itself");
    fw_error e = read_living(conn, project, group, why);
    e = e ? e : read_living(conn, project, into, why);
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !e; i++)
        e = db_run(conn, why, statements[i], DB_VALUES(db_int(group), db_int(into)));
    return e ? e : add_job(conn, why);
}

/* --- Split -------------------------------------------------------------------------------------
 */

/* The row of a stack of the group; its frames are in the arena. */
static fw_error read_stack(struct db_conn *conn, int64_t project, int64_t group, int64_t stack,
                           struct arena *arena, struct stack_row *row, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why,
                          "SELECT main_image, frames FROM stack"
                          " WHERE id = $1 AND project = $2 AND group_id = $3",
                          DB_VALUES(db_int(stack), db_int(project), db_int(group)));
    if (e)
        return e;
    bool found = db_next(rows);
    uint8_t *copy = NULL;
    if (found) {
        struct span frames = db_get_bytes(rows, 1);
        copy = arena_take(arena, frames.size);
        if (copy && frames.size)
            memcpy(copy, frames.data, frames.size);
        *row = (struct stack_row){stack, project, db_get_int(rows, 0), {copy, frames.size}};
    }
    e = db_end(rows, why);
    if (!e && !found)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "stack %lld is not in group %lld",
                           (long long)stack, (long long)group);
    return e || copy ? e : failure_memory(why);
}

/* A group whose key no stack has, called as its first stack would be. */
static fw_error make_group(struct db_conn *conn, const struct stack_row *stack,
                           const struct stack_key *key, int64_t *made, struct fw_failure *why)
{
    const struct group_answer *a = &key->answer;
    uint8_t random[16];
    if (RAND_bytes(random, sizeof random) != 1)
        return failure_say(why, FW_ERR_SYSTEM, 0, "no random numbers");
    return db_query_int(
        conn, made, why,
        "INSERT INTO hang_group (project, key, rules, section, title, leaf, image, file, line,"
        " search, why, sample_stack, first_ms, last_ms, pinned, moving)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, 1, 1) RETURNING id",
        DB_VALUES(db_int(stack->project), db_bytes(random, sizeof random),
                  db_int(key->rules_version), db_int((int64_t)a->section), db_text(a->title),
                  db_text(a->leaf), db_text(a->image), db_text(a->file), db_int(a->line),
                  db_text(a->search), db_text(a->why), db_int(stack->id),
                  db_int((int64_t)collector_now_ms())));
}

static fw_error make_for(struct stack_grouper *grouper, struct db_conn *conn, int64_t project,
                         int64_t group, int64_t stack, struct arena *arena, int64_t *made,
                         struct fw_failure *why)
{
    struct stack_row row;
    struct stack_key key;
    bool changed;
    fw_error e = stack_grouper_begin(grouper, conn, &changed, why);
    e = e ? e : read_stack(conn, project, group, stack, arena, &row, why);
    e = e ? e : stack_group_key(grouper, conn, &row, NULL, arena, &key, why);
    return e ? e : make_group(conn, &row, &key, made, why);
}

/* Its reports follow (groups_move_rest). */
static fw_error move_stack(struct db_conn *conn, int64_t project, int64_t group, int64_t stack,
                           int64_t made, struct fw_failure *why)
{
    uint64_t rows;
    fw_error e = db_change(conn, why, &rows,
                           "UPDATE stack SET group_id = $4, pinned = 2, moving = 1"
                           " WHERE id = $1 AND project = $2 AND group_id IN ($3, $4)",
                           DB_VALUES(db_int(stack), db_int(project), db_int(group), db_int(made)));
    if (!e && !rows)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "stack %lld is not in group %lld",
                           (long long)stack, (long long)group);
    return e;
}

fw_error groups_split(struct stack_grouper *grouper, struct db_conn *conn, int64_t project,
                      int64_t group, const int64_t *stacks, size_t count, int64_t *made,
                      struct fw_failure *why)
{
    struct arena arena = {0};
    fw_error e = read_living(conn, project, group, why);
    if (!e && !count)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no stacks were named");
    e = e ? e : make_for(grouper, conn, project, group, stacks[0], &arena, made, why);
    for (size_t i = 0; i < count && !e; i++)
        e = move_stack(conn, project, group, stacks[i], *made, why);
    arena_free(&arena);
    e = e ? e : groups_mark_stale(conn, group, why);
    return e ? e : add_job(conn, why);
}

/* --- Undo --------------------------------------------------------------------------------------
 */

fw_error groups_undo(struct db_conn *conn, int64_t project, int64_t group, struct fw_failure *why)
{
    static const char *const statements[] = {
        ("UPDATE hang_group SET status = 0, merged_into = NULL, moving = (moving & ~8) | 1"
         " WHERE merged_into = $1"),
        "UPDATE hang_group SET pinned = 0, moving = (moving & ~16) | 32 WHERE id = $1",
    };
    struct group_row row;
    fw_error e = read_group(conn, project, group, &row, why);
    if (e)
        return e;
    int64_t whole = row.status == GROUP_MERGED ? row.into : group;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !e; i++)
        e = db_run(conn, why, statements[i], DB_VALUES(db_int(whole)));
    char subject[24];
    snprintf(subject, sizeof subject, "%lld", (long long)project);
    return e ? e : jobs_add(conn, "rules", subject, "", why);
}
