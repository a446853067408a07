/* Stored things that were found damaged: damage.h. */
#include "collector/api_json.h"
#include "collector/damage.h"

static void write_item(struct api_view *v, const struct db_rows *rows)
{
    static const char *const kinds[] = {"", "body", "file", "map"};
    int64_t kind = db_get_int(rows, 0);
    api_open(&v->out, NULL, '{');
    api_text(&v->out, "kind", kind > 0 && kind < 4 ? kinds[kind] : "");
    api_int(&v->out, "id", db_get_int(rows, 1));
    api_text(&v->out, "message", db_get_text(rows, 2));
    api_int(&v->out, "found_ms", db_get_int(rows, 3));
    if (kind == DAMAGE_BODY) {
        api_hex(&v->out, "report", db_get_bytes(rows, 5));
    } else {
        api_text(&v->out, "name", db_get_text(rows, 4));
        api_hex(&v->out, "debug_id", db_get_bytes(rows, 5));
    }
    api_text(&v->out, "project", db_get_text(rows, 6));
    api_shut(&v->out, '}');
}

static void get_damaged(struct http_request *r)
{
    struct api_view v;
    struct api_cursor at;
    int64_t count = 0, kind = 0, item = 0;
    if (!api_begin_in(&v, r, 0) || !api_cursor_read(&v, &at))
        return;
    struct db_rows *rows = api_query(
        &v,
        "SELECT kind, item, message, found_ms, name, id, (SELECT slug FROM project WHERE project.id"
        " = listed.project) FROM " DAMAGE_LIST " WHERE kind < $2 OR (kind = $2 AND item < $3)"
        " ORDER BY kind DESC, item DESC LIMIT $4",
        DB_VALUES(db_int(r->access.project), db_int(at.rank), db_int(at.id), db_int(at.limit + 1)));
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    while (api_next(&v, rows) && count++ < at.limit) {
        kind = db_get_int(rows, 0);
        item = db_get_int(rows, 1);
        write_item(&v, rows);
    }
    api_done(&v, rows);
    api_shut(&v.out, ']');
    api_cursor_write(&v.out, count > at.limit, kind, item);
    api_shut(&v.out, '}');
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET", .pattern = "/api/v1/damaged", .needs = ACCESS_READ, .handle = get_damaged},
};
extern const struct http_routes routes_damaged;
const struct http_routes routes_damaged = {routes, sizeof routes / sizeof *routes};
