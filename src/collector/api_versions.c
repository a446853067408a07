/*
 * The versions of a project in their order, the newest first; and what somebody says of them: when
 * a version came out, and whether it is a release. Lists, gates and resolved groups follow at once.
 */
#include "collector/api_json.h"
#include "collector/version_store.h"
#include "collector/versions.h"

#include <stdlib.h>

enum { SHOWN = 10000, BODY_MAX = 4096 };

static void write_version(struct report_bytes *out, const struct db_rows *rows)
{
    api_open(out, NULL, '{');
    api_text(out, "version", db_get_text(rows, 0));
    api_text(out, "build", db_get_text(rows, 1));
    api_version(out, "label", db_get_text(rows, 0), db_get_text(rows, 1));
    api_text(out, "line", db_get_text(rows, 2));
    api_bool(out, "numbered", db_get_int(rows, 3) != 0);
    api_bool(out, "prerelease", db_get_int(rows, 4) != 0);
    if (db_is_null(rows, 5))
        api_null(out, "prerelease_set");
    else
        api_bool(out, "prerelease_set", db_get_int(rows, 5) != 0);
    api_int(out, "released_ms", db_get_int(rows, 6));
    api_bool(out, "released_set", !db_is_null(rows, 7));
    api_int(out, "first_ms", db_get_int(rows, 8));
    api_shut(out, '}');
}

static void get_versions(struct http_request *r)
{
    struct api_view v;
    int64_t limit, count = 0;
    if (!api_begin(&v, r, 0, "limit", NULL))
        return;
    if (!http_query_number(r, "limit", 1, SHOWN, SHOWN, &limit)) {
        api_pause(&v);
        return;
    }
    int64_t total = api_number(&v, "SELECT COUNT(*) FROM version WHERE project = $1",
                               DB_VALUES(db_int(v.project)));
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    struct db_rows *rows =
        api_query(&v,
                  "SELECT v.version, v.build, v.line, v.numbered, v.prerelease, v.prerelease_set,"
                  " v.date_ms, v.released_ms, v.first_ms FROM version v WHERE v.project = $1"
                  " ORDER BY" VERSIONS_NEWEST_FIRST " LIMIT $2",
                  DB_VALUES(db_int(v.project), db_int(limit)));
    for (; api_next(&v, rows); count++)
        write_version(&v.out, rows);
    api_done(&v, rows);
    api_shut(&v.out, ']');
    api_int(&v.out, "total", total);
    api_bool(&v.out, "truncated", count < total);
    api_shut(&v.out, '}');
    api_end(&v);
}

/* False: 400 was replied. */
static bool read_change(struct api_view *v, const json_t *body, const char **label,
                        struct version_change *change)
{
    const json_t *name = json_object_get(body, "version"),
                 *released = json_object_get(body, "released_ms"),
                 *prerelease = json_object_get(body, "prerelease");
    json_int_t ms = json_integer_value(released);
    *label = json_string_value(name);
    *change = (struct version_change){INT64_MIN, INT64_MIN};
    if (released)
        change->released_ms = ms;
    if (prerelease)
        change->prerelease = json_is_null(prerelease) ? -1 : json_is_true(prerelease);
    bool good = *label && (released || prerelease) &&
                (!released || json_is_null(released) ||
                 (json_is_integer(released) && ms > 0 && ms < INT64_C(4102444800000))) &&
                (!prerelease || json_is_null(prerelease) || json_is_boolean(prerelease));
    if (!good)
        api_refuse(v, 400,
                   "\"version\" names a version; \"released_ms\" takes milliseconds since 1970 and "
                   "\"prerelease\" true or false, or null for what is found out");
    return good;
}

static void set(struct api_view *v, const char *label, const struct version_change *change)
{
    struct db *db = v->r->collector->db;
    api_pause(v);
    v->error = db_take(db, DB_WRITE, &v->conn, &v->why);
    v->error = v->error ? v->error : db_begin(v->conn, &v->why);
    v->error = v->error ? v->error : version_store_set(v->conn, v->project, label, change, &v->why);
    if (!v->error)
        audit(v->conn, &v->r->access, "version.set", label, "");
    if (!v->error)
        v->error = db_commit(v->conn, &v->why);
}

static void post_version(struct http_request *r)
{
    struct api_view v;
    const char *label;
    struct version_change change;
    json_t *body = http_json(r);
    if (!body)
        return;
    if (api_begin(&v, r, 0, NULL) && read_change(&v, body, &label, &change)) {
        set(&v, label, &change);
        api_open(&v.out, NULL, '{');
        api_text(&v.out, "version", label);
        api_shut(&v.out, '}');
        api_end(&v);
    }
    json_decref(body);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/versions",
     .needs = ACCESS_READ,
     .handle = get_versions},
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/versions",
     .needs = ACCESS_TRIAGE,
     .body_limit = BODY_MAX,
     .handle = post_version},
};
const struct http_routes routes_versions = {routes, sizeof routes / sizeof *routes};
