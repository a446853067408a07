/*
 * Grouping rules of a project: the text in force, a new version of it, and what one would do.
 *
 * A version that is put in force is never changed; the highest counts. Groups follow by the job
 * "rules", which people have seen beforehand in the preview.
 */
#include "collector/api_json.h"
#include "collector/groups_preview.h"
#include "collector/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MAX = 256 << 10, BODY_MAX = 1 << 20, HISTORY = 50 };

/* --- GET ----------------------------------------------------------------------------------------
 */

static void write_history(struct api_view *v)
{
    api_open(&v->out, "history", '[');
    struct db_rows *rows = api_query(v,
                                     "SELECT version, created_ms, created_by FROM rules"
                                     " WHERE project = $1 ORDER BY version DESC LIMIT $2",
                                     DB_VALUES(db_int(v->project), db_int(HISTORY)));
    while (api_next(v, rows)) {
        api_open(&v->out, NULL, '{');
        api_int(&v->out, "version", db_get_int(rows, 0));
        api_int(&v->out, "created_ms", db_get_int(rows, 1));
        api_text(&v->out, "created_by", db_get_text(rows, 2));
        api_shut(&v->out, '}');
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
}

/* A text that api_text would cut. */
static void write_whole(struct api_view *v, const char *key, const char *text)
{
    struct report_bytes json = {0};
    out_json(&json, text);
    if (!json.failed)
        api_raw(&v->out, key, json.data);
    report_bytes_free(&json);
}

static void get_rules(struct http_request *r)
{
    struct api_view v;
    if (!api_begin(&v, r, 0, NULL))
        return;
    api_open(&v.out, NULL, '{');
    struct db_rows *rows = api_query(
        &v, "SELECT version, text FROM rules WHERE project = $1 ORDER BY version DESC LIMIT 1",
        DB_VALUES(db_int(v.project)));
    bool any = api_next(&v, rows);
    api_int(&v.out, "version", any ? db_get_int(rows, 0) : 0);
    write_whole(&v, "text", any ? db_get_text(rows, 1) : "");
    api_done(&v, rows);
    write_whole(&v, "builtin", group_rules_builtin());
    write_history(&v);
    api_shut(&v.out, '}');
    api_end(&v);
}

/* --- PUT ----------------------------------------------------------------------------------------
 */

/* The rules of the body, checked. False: replied. */
static bool take_rules(struct api_view *v, const json_t *body, const char **text,
                       struct group_rules **rules)
{
    const json_t *value = json_object_get(body, "text");
    *text = json_string_value(value);
    if (!*text || json_string_length(value) > TEXT_MAX) {
        api_refuse(v, 400, "\"text\" takes rules, one a line, of %d bytes at most", TEXT_MAX);
        return false;
    }
    fw_error e = group_rules_parse(*text, rules, &v->why);
    if (e == FW_ERR_FORMAT) {
        char message[sizeof v->why.message];
        snprintf(message, sizeof message, "%s", v->why.message);
        api_refuse(v, 400, "%s", message);
        return false;
    }
    v->error = e;
    return true;
}

static int64_t add_version(struct api_view *v, const char *text)
{
    char subject[24], detail[48];
    int64_t version = api_number(
        v,
        "INSERT INTO rules (project, version, text, created_ms, created_by)"
        " SELECT CAST($1 AS BIGINT), COALESCE(MAX(version), 0) + 1, CAST($2 AS TEXT),"
        " CAST($3 AS BIGINT), CAST($4 AS TEXT) FROM rules WHERE project = CAST($1 AS BIGINT)"
        " RETURNING version",
        DB_VALUES(db_int(v->project), db_text(text), db_int((int64_t)collector_now_ms()),
                  db_text(v->r->access.label)));
    snprintf(subject, sizeof subject, "%" PRId64, v->project);
    snprintf(detail, sizeof detail, "version %" PRId64, version);
    if (!v->error)
        audit(v->conn, &v->r->access, "rules.put", subject, detail);
    if (!v->error)
        v->error = jobs_add(v->conn, "rules", subject, "", &v->why);
    return version;
}

static void put_in_force(struct api_view *v, const char *text)
{
    int64_t version = 0;
    db_give(v->r->collector->db, v->conn);
    v->conn = NULL;
    if (!v->error)
        v->error = db_take(v->r->collector->db, DB_WRITE, &v->conn, &v->why);
    if (!v->error)
        v->error = db_begin(v->conn, &v->why);
    if (!v->error) /* held until the end: two versions at once do not get one number */
        v->error = stack_group_changed(v->conn, &v->why);
    if (!v->error)
        version = add_version(v, text);
    if (!v->error)
        v->error = db_commit(v->conn, &v->why);
    if (!v->error)
        jobs_wake(v->r->collector->jobs);
    api_open(&v->out, NULL, '{');
    api_int(&v->out, "version", version);
    api_shut(&v->out, '}');
}

static void put_rules(struct http_request *r)
{
    struct api_view v;
    struct group_rules *rules = NULL;
    const char *text;
    json_t *body = http_json(r);
    if (!body)
        return;
    if (api_begin(&v, r, 0, NULL) && take_rules(&v, body, &text, &rules)) {
        put_in_force(&v, text);
        api_end(&v);
    }
    group_rules_free(rules);
    json_decref(body);
}

/* --- Preview ------------------------------------------------------------------------------------
 */

static void write_moves(struct api_view *v, const struct groups_preview *p)
{
    struct report_bytes *out = &v->out;
    api_open(out, "split", '[');
    for (size_t i = 0; i < p->split_count; i++) {
        api_open(out, NULL, '{');
        api_int(out, "group", p->split[i].group);
        api_int(out, "into", (int64_t)p->split[i].into);
        api_shut(out, '}');
    }
    api_shut(out, ']');
    api_open(out, "merged", '[');
    for (size_t i = 0; i < p->merged_count; i++) {
        api_open(out, NULL, '{');
        api_text(out, "title", p->merged[i].title);
        api_int(out, "groups", (int64_t)p->merged[i].groups);
        api_shut(out, '}');
    }
    api_shut(out, ']');
}

/* A group with its title; null: there is none yet. */
static void write_group(struct api_view *v, const char *key, int64_t group)
{
    if (!group) {
        api_null(&v->out, key);
        return;
    }
    struct db_rows *rows =
        api_query(v, "SELECT title FROM hang_group WHERE id = $1", DB_VALUES(db_int(group)));
    api_open(&v->out, key, '{');
    api_int(&v->out, "id", group);
    api_text(&v->out, "title", api_next(v, rows) ? db_get_text(rows, 0) : "");
    api_shut(&v->out, '}');
    api_done(v, rows);
}

static void write_changes(struct api_view *v, const struct groups_preview *p)
{
    struct report_bytes *out = &v->out;
    api_open(out, "moves", '[');
    for (size_t i = 0; i < p->move_count; i++) {
        const struct groups_preview_move *move = &p->moves[i];
        api_open(out, NULL, '{');
        write_group(v, "from", move->from);
        write_group(v, "to", move->to);
        api_text(out, "then", move->then);
        api_int(out, "stacks", (int64_t)move->stacks);
        api_int(out, "reports", (int64_t)move->reports);
        api_int(out, "blocked_ns", (int64_t)move->blocked_ns);
        api_shut(out, '}');
    }
    api_shut(out, ']');
    api_int(out, "moves_of", (int64_t)p->moves_of);
    api_open(out, "examples", '[');
    for (size_t i = 0; i < p->example_count; i++) {
        const struct groups_preview_example *example = &p->examples[i];
        api_open(out, NULL, '{');
        write_group(v, "from", example->from);
        write_group(v, "to", example->to);
        api_text(out, "then", example->then);
        api_int(out, "reports", (int64_t)example->reports);
        api_int(out, "blocked_ns", (int64_t)example->blocked_ns);
        api_raw(out, "why_now", example->why_now);
        api_raw(out, "why_then", example->why_then);
        api_shut(out, '}');
    }
    api_shut(out, ']');
}

static void write_preview(struct api_view *v, const struct groups_preview *p)
{
    struct report_bytes *out = &v->out;
    api_open(out, NULL, '{');
    api_int(out, "groups_now", (int64_t)p->groups_now);
    api_int(out, "groups_then", (int64_t)p->groups_then);
    api_int(out, "moved_reports", (int64_t)p->moved_reports);
    api_int(out, "examined_reports", (int64_t)p->examined_reports);
    api_int(out, "examined_stacks", (int64_t)p->stacks);
    api_int(out, "stacks", (int64_t)p->stacks_of);
    write_moves(v, p);
    write_changes(v, p);
    api_shut(out, '}');
}

static void preview_rules(struct http_request *r)
{
    struct api_view v;
    struct group_rules *rules = NULL;
    struct groups_preview preview = {.stacks = 0};
    const char *text;
    json_t *body = http_json(r);
    if (!body)
        return;
    if (api_begin(&v, r, 0, NULL) && take_rules(&v, body, &text, &rules)) {
        api_pause(&v);
        if (!v.error)
            v.error = groups_preview(r->collector, v.project, rules, &preview, &v.why);
        api_resume(&v);
        write_preview(&v, &preview);
        api_end(&v);
    }
    groups_preview_free(&preview);
    group_rules_free(rules);
    json_decref(body);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/rules",
     .needs = ACCESS_READ,
     .handle = get_rules},
    {.method = "PUT",
     .pattern = "/api/v1/projects/{project}/rules",
     .needs = ACCESS_TRIAGE,
     .body_limit = BODY_MAX,
     .handle = put_rules},
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/rules/preview",
     .needs = ACCESS_READ,
     .body_limit = BODY_MAX,
     .handle = preview_rules},
};
const struct http_routes routes_rules = {routes, sizeof routes / sizeof *routes};
