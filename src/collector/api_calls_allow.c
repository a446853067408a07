/* The allow list: patterns of callers that may call a watched function. */
#include "collector/api_json.h"

enum { PATTERN_MAX = 512, NOTE_MAX = 4096, RULES_MAX = 1000 };

static void write_rules(struct api_view *v)
{
    api_open(&v->out, "items", '[');
    struct db_rows *rows = api_query(
        v,
        "SELECT id, api, caller, note, created_ms, created_by FROM call_allow WHERE project = $1"
        " ORDER BY id LIMIT $2",
        DB_VALUES(db_int(v->project), db_int(RULES_MAX)));
    while (api_next(v, rows)) {
        api_open(&v->out, NULL, '{');
        api_int(&v->out, "id", db_get_int(rows, 0));
        api_text(&v->out, "api", db_get_text(rows, 1));
        api_text(&v->out, "caller", db_get_text(rows, 2));
        api_text(&v->out, "note", db_get_text(rows, 3));
        api_int(&v->out, "created_ms", db_get_int(rows, 4));
        api_text(&v->out, "created_by", db_get_text(rows, 5));
        api_shut(&v->out, '}');
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
}

static void get_allow(struct http_request *r)
{
    struct api_view v;
    if (!api_begin(&v, r, 0, NULL))
        return;
    api_open(&v.out, NULL, '{');
    write_rules(&v);
    api_null(&v.out, "next");
    api_shut(&v.out, '}');
    api_end(&v);
}

/* A text of the body. False: it is not there, or too long; both were replied. */
static bool take_text(struct api_view *v, const json_t *body, const char *key, size_t limit,
                      bool needed, const char **text)
{
    const json_t *value = json_object_get(body, key);
    *text = value ? json_string_value(value) : "";
    if (*text && json_string_length(value) <= limit && (**text || !needed))
        return true;
    api_refuse(v, 400, "\"%s\" takes a text of %s%zu bytes at most", key, needed ? "1 to " : "",
               limit);
    return false;
}

/* The view's connection only reads: what changes something takes another. */
static bool begin_change(struct api_view *v)
{
    db_give(v->r->collector->db, v->conn);
    v->conn = NULL;
    v->error = db_take(v->r->collector->db, DB_WRITE, &v->conn, &v->why);
    if (!v->error)
        v->error = db_begin(v->conn, &v->why);
    return !v->error;
}

static void commit(struct api_view *v)
{
    if (!v->error)
        v->error = db_commit(v->conn, &v->why);
}

static void add_rule(struct api_view *v, const char *api, const char *caller, const char *note)
{
    int64_t id = 0, there;
    if (!begin_change(v))
        return;
    there = api_number(v, "SELECT COUNT(*) FROM call_allow WHERE project = $1",
                       DB_VALUES(db_int(v->project)));
    if (there >= RULES_MAX)
        api_fail(v, FW_ERR_ARGUMENT, "the allow list is full: 1,000 patterns");
    id = api_number(v,
                    "INSERT INTO call_allow (project, api, caller, note, created_ms, created_by)"
                    " VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
                    DB_VALUES(db_int(v->project), db_text(api), db_text(caller), db_text(note),
                              db_int((int64_t)collector_now_ms()), db_text(v->r->access.label)));
    if (!v->error)
        audit(v->conn, &v->r->access, "calls.allow", api, caller);
    commit(v);
    api_open(&v->out, NULL, '{');
    api_int(&v->out, "id", id);
    api_text(&v->out, "api", api);
    api_text(&v->out, "caller", caller);
    api_text(&v->out, "note", note);
    api_shut(&v->out, '}');
}

static void post_allow(struct http_request *r)
{
    struct api_view v;
    const char *api, *caller, *note;
    json_t *body = http_json(r);
    if (!body)
        return;
    if (api_begin(&v, r, 0, NULL) && take_text(&v, body, "api", PATTERN_MAX, true, &api) &&
        take_text(&v, body, "caller", PATTERN_MAX, true, &caller) &&
        take_text(&v, body, "note", NOTE_MAX, false, &note)) {
        add_rule(&v, api, caller, note);
        api_end_status(&v, 201, "application/json");
    }
    json_decref(body);
}

static void delete_allow(struct http_request *r)
{
    struct api_view v;
    int64_t id;
    uint64_t rows = 0;
    if (!api_begin(&v, r, 0, NULL) || !api_id(&v, "id", "pattern", &id))
        return;
    if (begin_change(&v))
        v.error = db_change(v.conn, &v.why, &rows,
                            "DELETE FROM call_allow WHERE id = $1 AND project = $2",
                            DB_VALUES(db_int(id), db_int(v.project)));
    if (!v.error && !rows) {
        api_refuse(&v, 404, "no pattern %s", http_part(r, "id"));
        return;
    }
    if (!v.error)
        audit(v.conn, &r->access, "calls.forbid", http_part(r, "id"), "");
    commit(&v);
    api_open(&v.out, NULL, '{');
    api_int(&v.out, "id", id);
    api_shut(&v.out, '}');
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls/allow",
     .needs = ACCESS_READ,
     .handle = get_allow},
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/calls/allow",
     .needs = ACCESS_TRIAGE,
     .body_limit = 16384,
     .handle = post_allow},
    {.method = "DELETE",
     .pattern = "/api/v1/projects/{project}/calls/allow/{id}",
     .needs = ACCESS_TRIAGE,
     .handle = delete_allow},
};
const struct http_routes routes_calls_allow = {routes, sizeof routes / sizeof *routes};
