/*
 * What a project keeps and for how long, what the next clean-up would remove, and forgetting an
 * installation. What changes something is written to the audit log in the same transaction.
 */
#include "collector/api_json.h"
#include "collector/blobs.h"
#include "collector/forget.h"
#include "collector/install.h"
#include "collector/intake.h"
#include "collector/jobs.h"
#include "collector/retention.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODY_MAX = 16384, INSTALL_MAX = 1024 };

static void read_settings(struct api_view *v, struct keep_settings *settings)
{
    struct db_rows *rows =
        api_query(v, "SELECT settings FROM project WHERE id = $1", DB_VALUES(db_int(v->project)));
    keep_settings_read(api_next(v, rows) ? db_get_text(rows, 0) : NULL, settings);
    api_done(v, rows);
}

static void write_settings(struct api_view *v, const struct keep_settings *s)
{
    api_open(&v->out, NULL, '{');
    api_int(&v->out, "body_days", s->body_days);
    api_int(&v->out, "row_days", s->row_days);
    api_int(&v->out, "symbols_days", s->symbols_days);
    api_real(&v->out, "disk_share", s->disk_share);
    api_shut(&v->out, '}');
}

/* From here on the view's connection writes, in a transaction. */
static void begin_writing(struct api_view *v)
{
    api_pause(v);
    if (!v->error)
        v->error = db_take(v->r->collector->db, DB_WRITE, &v->conn, &v->why);
    if (!v->error)
        v->error = db_begin(v->conn, &v->why);
}

static void end_writing(struct api_view *v)
{
    if (!v->error)
        v->error = db_commit(v->conn, &v->why);
    if (!v->error)
        jobs_wake(v->r->collector->jobs);
}

static void get_settings(struct http_request *r)
{
    struct api_view v;
    struct keep_settings settings;
    if (!api_begin(&v, r, 0, NULL))
        return;
    read_settings(&v, &settings);
    write_settings(&v, &settings);
    api_end(&v);
}

static void store_settings(struct api_view *v, const struct keep_settings *settings)
{
    json_t *json = keep_settings_json(settings);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(json);
    if (!text) {
        api_no_memory(v);
        return;
    }
    v->error = db_run(v->conn, &v->why, "UPDATE project SET settings = $2 WHERE id = $1",
                      DB_VALUES(db_int(v->project), db_text(text)));
    if (!v->error)
        audit(v->conn, &v->r->access, "settings.put", http_part(v->r, "project"), text);
    free(text);
}

static void put_settings(struct http_request *r)
{
    struct api_view v;
    struct keep_settings settings;
    char wrong[160];
    json_t *body = http_json(r);
    if (!body)
        return;
    if (api_begin(&v, r, 0, NULL)) {
        begin_writing(&v);
        if (!v.error)
            read_settings(&v, &settings);
        if (!v.error && !keep_settings_change(&settings, body, wrong, sizeof wrong)) {
            api_refuse(&v, 400, "%s", wrong);
        } else {
            if (!v.error)
                store_settings(&v, &settings);
            end_writing(&v);
            if (!v.error)
                write_settings(&v, &settings);
            api_end(&v);
        }
    }
    json_decref(body);
}

/* ---- clean-up ---- */

static void get_retention(struct http_request *r)
{
    struct api_view v;
    struct keep_settings settings;
    struct retention_run run = {.c = r->collector};
    if (!api_begin(&v, r, 0, NULL))
        return;
    read_settings(&v, &settings);
    api_pause(&v);
    if (!v.error)
        v.error = retention_preview(&run, v.project, &settings, !r->access.project, &v.why);
    api_open(&v.out, NULL, '{');
    for (int i = 0; i < RETENTION_KINDS; i++)
        api_int(&v.out, retention_names[i], (int64_t)run.counts.of[i]);
    api_int(&v.out, "body_bytes", (int64_t)run.counts.body_bytes);
    api_int(&v.out, "symbol_bytes", (int64_t)run.counts.symbol_bytes);
    api_real(&v.out, "disk_used", blobs_used(r->collector->blobs));
    api_shut(&v.out, '}');
    api_end(&v);
}

static void post_retention(struct http_request *r)
{
    struct api_view v;
    if (!api_begin(&v, r, 0, NULL))
        return;
    begin_writing(&v);
    if (!v.error)
        v.error = jobs_add(v.conn, "retention", "", "", &v.why);
    if (!v.error)
        audit(v.conn, &r->access, "retention.run", http_part(r, "project"), "");
    end_writing(&v);
    api_open(&v.out, NULL, '{');
    api_text(&v.out, "job", "retention");
    api_shut(&v.out, '}');
    api_end_status(&v, 202, "application/json");
}

/* ---- forgetting ---- */

static void ask(struct api_view *v, const char *install)
{
    uint8_t hash[FORGET_HASH];
    int64_t job = 0;
    struct span text = {(const uint8_t *)install, strlen(install)};
    begin_writing(v);
    if (!v->error && install_hash(intake_salt(v->r->collector->intake), text, hash) != FW_OK)
        api_no_memory(v);
    if (!v->error)
        v->error = forget_ask(v->conn, v->project, hash, &job, &v->why);
    if (!v->error)
        audit(v->conn, &v->r->access, "install.forget", http_part(v->r, "project"), "");
    end_writing(v);
    api_open(&v->out, NULL, '{');
    api_int(&v->out, "job", job);
    api_shut(&v->out, '}');
    api_end_status(v, 202, "application/json");
}

static void post_forget(struct http_request *r)
{
    struct api_view v;
    json_t *body = http_json(r);
    if (!body)
        return;
    const json_t *install = json_object_get(body, "install");
    if (api_begin(&v, r, 0, NULL)) {
        if (!json_is_string(install) || json_string_length(install) == 0 ||
            json_string_length(install) > INSTALL_MAX)
            api_refuse(&v, 400, "\"install\" takes the id of an installation, as its reports have");
        else
            ask(&v, json_string_value(install));
    }
    json_decref(body);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/settings",
     .needs = ACCESS_READ,
     .handle = get_settings},
    {.method = "PUT",
     .pattern = "/api/v1/projects/{project}/settings",
     .needs = ACCESS_ADMIN,
     .body_limit = BODY_MAX,
     .handle = put_settings},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/retention",
     .needs = ACCESS_ADMIN,
     .handle = get_retention},
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/retention",
     .needs = ACCESS_ADMIN,
     .body_limit = BODY_MAX,
     .handle = post_retention},
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/forget",
     .needs = ACCESS_ADMIN,
     .body_limit = BODY_MAX,
     .handle = post_forget},
};
extern const struct http_routes routes_settings;
const struct http_routes routes_settings = {routes, sizeof routes / sizeof *routes};
