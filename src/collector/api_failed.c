/*
 * Reports that were acknowledged and could not be processed (state 1 of the inbox): the list of a
 * project, trying them again, and removing them. They are nowhere else, and retention removes them
 * after `body_days`; /metrics and /api/v1/server count them.
 *
 * A removed one stays known by its id: sent again it is a duplicate.
 */
#include "collector/api_json.h"

#include <stdio.h>

enum { BODY_MAX = 32 << 10, AT_ONCE = 1000 };

/* ---- the list ---- */

static void write_report(struct report_bytes *out, const struct db_rows *rows)
{
    api_open(out, NULL, '{');
    api_int(out, "id", db_get_int(rows, 0));
    api_hex(out, "report", db_get_bytes(rows, 1));
    api_int(out, "received_ms", db_get_int(rows, 2));
    api_int(out, "size", db_get_int(rows, 3));
    api_int(out, "attempts", db_get_int(rows, 4));
    api_text(out, "error", db_get_text(rows, 5));
    api_shut(out, '}');
}

/* The newest first. */
static void get_failed(struct http_request *r)
{
    struct api_view v;
    struct api_cursor cursor;
    int64_t last = 0, count = 0;
    if (!api_begin(&v, r, API_PAGES, NULL) || !api_cursor_read(&v, &cursor))
        return;
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    struct db_rows *rows =
        api_query(&v,
                  "SELECT seq, report_id, received_ms, size, attempts, COALESCE(error, '') FROM"
                  " inbox WHERE state = 1 AND project = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
                  DB_VALUES(db_int(v.project), db_int(cursor.rank), db_int(cursor.limit + 1)));
    while (api_next(&v, rows) && count++ < cursor.limit) {
        last = db_get_int(rows, 0);
        write_report(&v.out, rows);
    }
    api_done(&v, rows);
    api_shut(&v.out, ']');
    api_cursor_write(&v.out, count > cursor.limit, last, last);
    api_shut(&v.out, '}');
    api_end(&v);
}

/* ---- again, or never ---- */

struct chosen { /* by number; none: all, as many as fit into one request */
    int64_t ids[AT_ONCE];
    size_t count;
};

/* {"ids": [7, 9]} or {"all": true}: nothing is removed because a name was misspelled. */
static bool read_chosen(struct api_view *v, const json_t *body, struct chosen *chosen)
{
    const json_t *ids = json_object_get(body, "ids"), *id;
    size_t i;
    chosen->count = 0;
    if (json_is_true(json_object_get(body, "all")) && !ids)
        return true;
    json_array_foreach(ids, i, id)
    {
        if (i == AT_ONCE || !json_is_integer(id) || json_integer_value(id) < 1)
            break;
        chosen->ids[chosen->count++] = json_integer_value(id);
    }
    if (chosen->count && chosen->count == json_array_size(ids))
        return true;
    api_refuse(v, 400, "\"ids\" takes up to %d numbers of the list; or \"all\": true", AT_ONCE);
    return false;
}

static void choose_all(struct api_view *v, struct chosen *chosen)
{
    struct db_rows *rows =
        api_query(v, "SELECT seq FROM inbox WHERE state = 1 AND project = $1 ORDER BY seq LIMIT $2",
                  DB_VALUES(db_int(v->project), db_int(AT_ONCE)));
    while (chosen->count < AT_ONCE && api_next(v, rows))
        chosen->ids[chosen->count++] = db_get_int(rows, 0);
    api_done(v, rows);
}

static void change_one(struct api_view *v, int64_t seq, const char *sql, uint64_t *changed)
{
    uint64_t rows = 0;
    if (!v->error)
        v->error =
            db_change(v->conn, &v->why, &rows, sql, DB_VALUES(db_int(seq), db_int(v->project)));
    *changed += rows;
}

/* One whose body retention has taken already cannot be read again. */
static void requeue_one(struct api_view *v, int64_t seq, uint64_t *changed)
{
    change_one(v, seq,
               "UPDATE inbox SET state = 0, attempts = 0, lease_ms = 0, error = NULL WHERE seq = $1"
               " AND project = $2 AND state = 1"
               " AND EXISTS (SELECT 1 FROM inbox_body b WHERE b.seq = inbox.seq)",
               changed);
}

static void delete_one(struct api_view *v, int64_t seq, uint64_t *changed)
{
    uint64_t bodies = 0;
    change_one(v, seq,
               "DELETE FROM inbox_body WHERE seq = $1 AND EXISTS (SELECT 1 FROM inbox WHERE"
               " inbox.seq = inbox_body.seq AND project = $2 AND state = 1)",
               &bodies);
    change_one(v, seq, "DELETE FROM inbox WHERE seq = $1 AND project = $2 AND state = 1", changed);
}

static void change_all(struct http_request *r, const char *action,
                       void (*one)(struct api_view *v, int64_t seq, uint64_t *changed))
{
    struct api_view v;
    struct chosen chosen;
    uint64_t changed = 0;
    char detail[48];
    json_t *body = http_json(r);
    if (!body)
        return;
    bool good = api_begin(&v, r, 0, NULL) && read_chosen(&v, body, &chosen);
    json_decref(body);
    if (!good)
        return;
    api_pause(&v);
    v.error = db_take(r->collector->db, DB_WRITE, &v.conn, &v.why);
    if (!v.error)
        v.error = db_begin(v.conn, &v.why);
    if (!v.error && !chosen.count)
        choose_all(&v, &chosen);
    for (size_t i = 0; i < chosen.count && !v.error; i++)
        one(&v, chosen.ids[i], &changed);
    snprintf(detail, sizeof detail, "%llu reports", (unsigned long long)changed);
    if (!v.error && changed)
        audit(v.conn, &r->access, action, http_part(r, "project"), detail);
    int64_t left = v.error ? 0
                           : api_number(&v,
                                        "SELECT COUNT(*) FROM inbox WHERE state = 1 AND"
                                        " project = $1",
                                        DB_VALUES(db_int(v.project)));
    if (!v.error)
        v.error = db_commit(v.conn, &v.why);
    api_open(&v.out, NULL, '{');
    api_int(&v.out, "reports", (int64_t)changed);
    api_int(&v.out, "left", left);
    api_shut(&v.out, '}');
    api_end(&v);
}

static void post_requeue(struct http_request *r)
{
    change_all(r, "reports.requeue", requeue_one);
}

static void post_delete(struct http_request *r)
{
    change_all(r, "reports.delete", delete_one);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/failed",
     .needs = ACCESS_ADMIN,
     .handle = get_failed},
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/failed/requeue",
     .needs = ACCESS_ADMIN,
     .body_limit = BODY_MAX,
     .handle = post_requeue},
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/failed/delete",
     .needs = ACCESS_ADMIN,
     .body_limit = BODY_MAX,
     .handle = post_delete},
};
extern const struct http_routes routes_failed;
const struct http_routes routes_failed = {routes, sizeof routes / sizeof *routes};
