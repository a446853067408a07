/* /api/v1/server, /healthz and /metrics: how the server does. */
#include "collector/clock_keeper.h"
#include "collector/collector.h"
#include "collector/damage.h"
#include "collector/db.h"
#include "collector/health.h"
#include "collector/http.h"
#include "collector/http_session.h"
#include "collector/intake.h"
#include "collector/intake_limits.h"
#include "collector/metrics.h"
#include "collector/server.h"
#include "collector/uploads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_SHOWN = 100 };

/* One number; false when the database did not answer. */
static bool count(struct db_conn *conn, const char *sql, const struct db_value *values,
                  size_t value_count, int64_t *n, struct fw_failure *why)
{
    struct db_rows *rows = NULL;
    if (db_query(conn, &rows, why, sql, values, value_count))
        return false;
    *n = db_next(rows) ? db_get_int(rows, 0) : 0;
    return db_end(rows, why) == FW_OK;
}

/* ---- /api/v1/server ---- */

/* Who is limited to one project sees the jobs that are of it: subjects and messages of others are
 * others' uploads and projects. Jobs that come round by themselves are listed when they are due. */
static bool jobs_json(struct db_conn *conn, int64_t project, json_t *list, struct fw_failure *why)
{
    char subject[24] = "";
    if (project)
        snprintf(subject, sizeof subject, "%lld", (long long)project);
    static const char *const states[] = {"queued", "running", "done", "failed"};
    struct db_rows *rows = NULL;
    if (db_query(
            conn, &rows, why,
            "SELECT kind, subject, state, done, total, message FROM job"
            " WHERE (state IN (1, 3) OR (state = 0 AND (run_ms <= $3 OR attempts > 0)))"
            " AND ($2 = '' OR (kind = 'rules' AND subject = $2))"
            " ORDER BY state = 0, id DESC LIMIT $1",
            DB_VALUES(db_int(JOBS_SHOWN), db_text(subject), db_int((int64_t)collector_now_ms()))))
        return false;
    while (db_next(rows))
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "kind",
                                              db_get_text(rows, 0), "subject", db_get_text(rows, 1),
                                              "state", states[db_get_int(rows, 2) & 3], "done",
                                              (json_int_t)db_get_int(rows, 3), "total",
                                              (json_int_t)db_get_int(rows, 4), "message",
                                              db_get_text(rows, 5)));
    return db_end(rows, why) == FW_OK;
}

static json_t *clock_json(void)
{
    char text[CLOCK_TEXT_SIZE];
    bool doubted = clock_doubted(text);
    return json_pack("{s:b, s:s, s:I}", "believed", !doubted, "message", text, "now_ms",
                     (json_int_t)collector_now_ms());
}

static void get_server(struct http_request *r)
{
    const struct collector_options *o = r->collector->options;
    struct fw_failure why = {0};
    struct db_conn *conn = NULL;
    int64_t waiting = 0, failed = 0, damaged = 0;
    json_t *jobs = json_array();
    bool fine =
        !db_take(r->collector->db, DB_READ, &conn, &why) &&
        count(conn, "SELECT COUNT(*) FROM inbox WHERE state = 0 AND ($1 = 0 OR project = $1)",
              DB_VALUES(db_int(r->access.project)), &waiting, &why) &&
        count(conn, "SELECT COUNT(*) FROM inbox WHERE state = 1 AND ($1 = 0 OR project = $1)",
              DB_VALUES(db_int(r->access.project)), &failed, &why) &&
        count(conn, "SELECT COUNT(*) FROM " DAMAGE_LIST, DB_VALUES(db_int(r->access.project)),
              &damaged, &why) &&
        jobs_json(conn, r->access.project, jobs, &why);
    db_give(r->collector->db, conn);
    if (!fine) {
        json_decref(jobs);
        http_reply_failure(r, &why);
        return;
    }
    bool s3 = o->store && strncmp(o->store, "s3:", 3) == 0;
    http_reply_json(
        r, 200,
        json_pack("{s:s, s:s, s:s, s:{s:I, s:I, s:I, s:I}, s:I, s:I, s:I, s:o, s:o}", "version",
                  FW_VERSION, "database",
                  db_is_postgres(r->collector->db) ? "postgresql" : "sqlite", "store",
                  s3 ? "s3" : "files", "limits", "report_bytes", (json_int_t)INTAKE_REPORT_BYTES,
                  "import_bytes", (json_int_t)INTAKE_FOREIGN_BYTES, "upload_bytes",
                  (json_int_t)o->upload_bytes, "part_bytes", (json_int_t)UPLOAD_PART_BYTES,
                  "waiting_reports", (json_int_t)waiting, "failed_reports", (json_int_t)failed,
                  "damaged", (json_int_t)damaged, "jobs", jobs, "clock", clock_json()));
}

/* ---- /api/v1/server/clock ---- */

static fw_error confirm(struct http_request *r, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error error = db_take(r->collector->db, DB_WRITE, &conn, why);
    if (error)
        return error;
    error = db_begin(conn, why);
    if (!error)
        error = clock_keeper_confirm(conn, why);
    if (!error) {
        clock_confirm(); /* the line of the audit log is of the time that is right */
        audit(conn, &r->access, "clock.confirm", "", "");
        error = db_commit(conn, why);
    }
    db_give(r->collector->db, conn);
    return error;
}

static void post_clock(struct http_request *r)
{
    struct fw_failure why = {0};
    if (r->access.project)
        http_reply_error(r, 403, "this needs a token that is not limited to one project");
    else if (confirm(r, &why))
        http_reply_failure(r, &why);
    else
        http_reply_json(r, 200, clock_json());
}

/* ---- /healthz ---- */

static void get_health(struct http_request *r)
{
    const char *trouble = health_trouble(r->collector->health);
    if (!trouble && server_disk_free(r->collector) < r->collector->options->disk_reserve)
        trouble = "the disk is full but for its reserve";
    if (trouble) {
        http_set_header(r, "Retry-After", "5");
        http_reply_error(r, 503, "%s", trouble);
        return;
    }
    char clock[CLOCK_TEXT_SIZE], text[CLOCK_TEXT_SIZE + 96];
    bool doubted = clock_doubted(clock);
    snprintf(text, sizeof text, "ok\n%s%s%s%s", doubted ? "clock: " : "", clock,
             doubted ? "\n" : "",
             limits_any_near() ? "limits: a project has brought four fifths of what it may\n" : "");
    http_reply_text(r, 200, "text/plain; charset=utf-8", text);
}

/* ---- /metrics ---- */

static const struct {
    const char *name, *help, *sql;
    bool now; /* $1 is the time */
} gauges[] = {
    {"inbox_waiting", "Reports accepted and not processed yet.",
     "SELECT COUNT(*) FROM inbox WHERE state = 0", false},
    {"inbox_failed", "Reports that could not be processed and are kept.",
     "SELECT COUNT(*) FROM inbox WHERE state = 1", false},
    {"jobs_queued", "Jobs that run, are due, or are tried again.",
     "SELECT COUNT(*) FROM job WHERE state = 1 OR (state = 0 AND (run_ms <= $1 OR attempts > 0))",
     true},
    {"groups", "Groups of hangs.", "SELECT COUNT(*) FROM hang_group", false},
    {"hangs", "Reports of hangs in the sums.",
     "SELECT CAST(COALESCE(SUM(reports), 0) AS BIGINT) FROM project_day", false},
    {"damaged", "Stored bodies, debug files and maps that were found damaged.",
     "SELECT COUNT(*) FROM damaged", false},
    {"symbol_maps", "Debug files with a symbol map.",
     "SELECT COUNT(*) FROM symbol_file WHERE state = 1", false},
    {"images_without_map", "Images of reports that have no symbol map.",
     "SELECT COUNT(*) FROM project_image WHERE has_map = 0", false},
};

static void write_gauge(FILE *to, const char *name, const char *help, uint64_t value)
{
    fprintf(to, "# HELP framewalk_%s %s\n# TYPE framewalk_%s gauge\nframewalk_%s %llu\n", name,
            help, name, name, (unsigned long long)value);
}

/* How much of a limit is used; those of which a project has brought a tenth or less are left out.
 */
static bool write_limits(struct db_conn *conn, FILE *to, struct fw_failure *why)
{
    struct db_rows *rows = NULL;
    if (db_query(conn, &rows, why,
                 "SELECT p.slug, m.kind, m.made FROM made m JOIN project p ON p.id = m.project"
                 " ORDER BY p.slug, m.kind",
                 DB_NONE))
        return false;
    fprintf(to,
            "# HELP framewalk_limit_used Share of what a project may bring that it has brought.\n"
            "# TYPE framewalk_limit_used gauge\n");
    while (db_next(rows)) {
        int64_t kind = db_get_int(rows, 1), most;
        if (kind <= 0 || kind >= LIMIT_COUNT)
            continue;
        const char *name = limits_name((enum limit_of)kind, &most);
        if (db_get_int(rows, 2) > most / 10)
            fprintf(to, "framewalk_limit_used{project=\"%s\",kind=\"%s\"} %.3f\n",
                    db_get_text(rows, 0), name, (double)db_get_int(rows, 2) / (double)most);
    }
    return db_end(rows, why) == FW_OK;
}

static bool write_gauges(struct http_request *r, FILE *to, struct fw_failure *why)
{
    struct db_conn *conn = NULL;
    bool fine = !db_take(r->collector->db, DB_READ, &conn, why);
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges && fine; i++) {
        int64_t n;
        struct db_value now = db_int((int64_t)collector_now_ms());
        fine = count(conn, gauges[i].sql, &now, gauges[i].now, &n, why);
        if (fine)
            write_gauge(to, gauges[i].name, gauges[i].help, (uint64_t)n);
    }
    fine = fine && write_limits(conn, to, why);
    db_give(r->collector->db, conn);
    write_gauge(to, "disk_free_bytes", "Free for further reports and files.",
                server_disk_free(r->collector));
    return fine;
}

static void get_metrics(struct http_request *r)
{
    bool may = r->access.scopes & ACCESS_READ && !r->access.project;
    if (!may && !http_from_this_machine(r)) {
        http_set_header(r, "WWW-Authenticate", "Bearer realm=\"framewalk\"");
        http_reply_error(
            r, 401,
            "figures are for this machine, and for tokens of all projects with the scope "
            "read");
        return;
    }
    struct fw_failure why = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) {
        http_reply_error(r, 503, "out of memory");
        return;
    }
    metrics_write(r->collector->metrics, to);
    bool fine = write_gauges(r, to, &why);
    write_gauge(to, "database_up", "Whether the database answered.", fine);
    char clock[CLOCK_TEXT_SIZE];
    write_gauge(to, "clock_believed", "Whether this machine's clock is believed.",
                !clock_doubted(clock));
    write_gauge(to, "store_up", "Whether the blob store answers.",
                health_works(r->collector->health, HEALTH_STORE));
    write_gauge(to, "reports_stored", "Whether reports can be stored.",
                health_works(r->collector->health, HEALTH_REPORTS));
    fclose(to);
    http_reply_bytes(r, 200, "text/plain; version=0.0.4; charset=utf-8", text, size);
}

static const struct http_route routes[] = {
    {.method = "GET", .pattern = "/api/v1/server", .needs = ACCESS_READ, .handle = get_server},
    {.method = "POST",
     .pattern = "/api/v1/server/clock",
     .needs = ACCESS_ADMIN,
     .body_limit = 4096,
     .handle = post_clock},
    {.method = "GET",
     .pattern = "/healthz",
     .flags = HTTP_NO_LIMIT | HTTP_QUICK,
     .handle = get_health},
    {.method = "GET", .pattern = "/metrics", .handle = get_metrics},
};
const struct http_routes routes_server = {routes, sizeof routes / sizeof *routes};
