/*
 * The first page: how much the app hangs in each version, which groups cost most, what is new.
 *
 * All from sums: project_day, or term_day when one system or device is looked at. With both of
 * them, and for the devices of a system or the systems of a device, reports themselves are summed,
 * from an index that holds all that is needed.
 */
#include "collector/api_groups.h"
#include "collector/versions.h"

#include <stdlib.h>

enum { VERSIONS = 100, TOP = 10, WAITING = 100000 };

/* --- sums by version and day --- */

/* clang-format off */
/* The reports of a system and a device that project_day and term_day count, too; $4 or $5 may be 0.
 * report_os has all that is asked for. */
#define COUNTED                                                                                    \
    "report r WHERE r.project = $1 AND r.day >= $2 AND " API_COUNTED " AND " API_OF_VERSION("r")
#define COUNTED_OF_OS     COUNTED " AND r.os = $4 AND ($5 = 0 OR r.device = $5)"
#define COUNTED_OF_DEVICE COUNTED " AND r.device = $5 AND $4 = 0"
#define DAY_COLUMNS                                                                                \
    "SELECT v.id, v.version, v.build, v.date_ms, d.day, d.reports, d.blocked_ns, d.killed,"       \
    " d.slow0, d.slow1, d.slow2, d.slow3, v.prerelease, v.line, v.numbered, "
#define DAY_ORDER                                                                                  \
    " JOIN version v ON v.id = d.version ORDER BY" VERSIONS_NEWEST_FIRST ", d.day"
#define DAYS_OF_ALL                                                                                \
    DAY_COLUMNS "d.sessions, d.observed_ns FROM (SELECT * FROM project_day d"                      \
    " WHERE d.project = $1 AND d.day >= $2 AND $4 >= 0 AND $5 >= 0"                                \
    " AND " API_OF_VERSION("d") ") d" DAY_ORDER
#define DAYS_OF_TERM                                                                               \
    DAY_COLUMNS "0, 0 FROM (SELECT * FROM term_day d WHERE d.project = $1 AND d.day >= $2"         \
    " AND d.term = $4 + $5 AND " API_OF_VERSION("d") ") d" DAY_ORDER
#define BETWEEN(low, high)                                                                         \
    API_SUM("CASE WHEN r.duration_ns >= " low " AND r.duration_ns < " high " THEN 1 ELSE 0 END")
#define DAYS_OF_REPORTS                                                                            \
    DAY_COLUMNS "0, 0 FROM (SELECT r.version, r.day, COUNT(*) AS reports,"                         \
    " " API_SUM("r.duration_ns") " AS blocked_ns, " API_SUM(API_KILLED) " AS killed,"              \
    " " BETWEEN("0", "500000000") " AS slow0,"                                                     \
    " " BETWEEN("500000000", "2000000000") " AS slow1,"                                            \
    " " BETWEEN("2000000000", "8000000000") " AS slow2,"                                           \
    " " BETWEEN("8000000000", "9000000000000000000") " AS slow3"                                   \
    " FROM " COUNTED_OF_OS " GROUP BY r.version, r.day) d" DAY_ORDER
/* clang-format on */

struct version_sums {
    int64_t id, released_ms, reports, blocked_ns, killed, sessions, observed_ns;
};

struct overview {
    struct api_view *v;
    struct report_bytes versions, days; /* what becomes of the two arrays */
    struct version_sums now;            /* the version whose rows are being read */
    size_t version_count;
    int64_t last; /* version of the row before */
    struct version_sums others[API_DAYS_MAX];
    int64_t slow[4], killed;
    bool sessions_known;
};

static void shut_version(struct overview *o)
{
    const struct version_sums *s = &o->now;
    struct report_bytes *out = &o->versions;
    if (!s->id)
        return;
    api_int(out, "reports", s->reports);
    api_int(out, "blocked_ns", s->blocked_ns);
    api_int(out, "killed", s->killed);
    if (o->sessions_known) {
        api_int(out, "sessions", s->sessions);
        api_int(out, "observed_ns", s->observed_ns);
    } else {
        api_null(out, "sessions");
        api_null(out, "observed_ns");
    }
    if (s->observed_ns > 0) /* seconds an hour */
        api_real(out, "rate", (double)s->blocked_ns / (double)s->observed_ns * 3600);
    else
        api_null(out, "rate");
    api_shut(out, '}');
}

static void open_version(struct overview *o, const struct db_rows *rows)
{
    o->now = (struct version_sums){.id = db_get_int(rows, 0), .released_ms = db_get_int(rows, 3)};
    api_open(&o->versions, NULL, '{');
    api_text(&o->versions, "version", db_get_text(rows, 1));
    api_text(&o->versions, "build", db_get_text(rows, 2));
    api_int(&o->versions, "released_ms", o->now.released_ms);
    api_bool(&o->versions, "prerelease", db_get_int(rows, 12) != 0);
    api_text(&o->versions, "line", db_get_text(rows, 13));
}

static void add_classes(struct overview *o, const struct db_rows *rows)
{
    o->killed += db_get_int(rows, 7);
    for (int i = 0; i < 4; i++)
        o->slow[i] += db_get_int(rows, 8 + i);
}

static void add_row(struct overview *o, const struct db_rows *rows)
{
    struct version_sums *s = &o->now;
    s->reports += db_get_int(rows, 5);
    s->blocked_ns += db_get_int(rows, 6);
    s->killed += db_get_int(rows, 7);
    s->sessions += db_get_int(rows, 15);
    s->observed_ns += db_get_int(rows, 16);
    add_classes(o, rows);
    api_open(&o->days, NULL, '{');
    api_day(&o->days, "day", db_get_int(rows, 4));
    api_version(&o->days, "version", db_get_text(rows, 1), db_get_text(rows, 2));
    api_int(&o->days, "reports", db_get_int(rows, 5));
    api_int(&o->days, "blocked_ns", db_get_int(rows, 6));
    api_int(&o->days, "killed", db_get_int(rows, 7));
    api_shut(&o->days, '}');
}

/* What comes after the newest VERSIONS counts, too: by day, as one. */
static void add_other(struct overview *o, const struct db_rows *rows)
{
    int64_t at = db_get_int(rows, 4) - o->v->filter.first_day;
    if (at >= 0 && at < o->v->filter.days) {
        o->others[at].reports += db_get_int(rows, 5);
        o->others[at].blocked_ns += db_get_int(rows, 6);
        o->others[at].killed += db_get_int(rows, 7);
    }
    add_classes(o, rows);
}

static void write_others(struct overview *o)
{
    for (int64_t i = 0; i < o->v->filter.days; i++) {
        const struct version_sums *s = &o->others[i];
        if (!s->reports)
            continue;
        api_open(&o->days, NULL, '{');
        api_day(&o->days, "day", o->v->filter.first_day + i);
        api_null(&o->days, "version");
        api_int(&o->days, "reports", s->reports);
        api_int(&o->days, "blocked_ns", s->blocked_ns);
        api_int(&o->days, "killed", s->killed);
        api_shut(&o->days, '}');
    }
}

static void read_sums(struct overview *o)
{
    struct api_view *v = o->v;
    const struct api_filter *f = &v->filter;
    const char *sql = f->os && f->device   ? DAYS_OF_REPORTS
                      : f->os || f->device ? DAYS_OF_TERM
                                           : DAYS_OF_ALL;
    struct db_rows *rows =
        api_query(v, sql,
                  DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                            db_int(f->os), db_int(f->device)));
    while (api_next(v, rows)) {
        if (db_get_int(rows, 0) != o->last) {
            shut_version(o);
            o->now.id = 0;
            o->last = db_get_int(rows, 0);
            if (o->version_count++ < VERSIONS)
                open_version(o, rows);
        }
        if (o->now.id)
            add_row(o, rows);
        else
            add_other(o, rows);
    }
    shut_version(o);
    api_done(v, rows);
    write_others(o);
}

static void write_sums(struct api_view *v)
{
    struct overview *o = calloc(1, sizeof *o);
    if (!o) {
        api_no_memory(v);
        return;
    }
    o->v = v;
    o->sessions_known = !v->filter.os && !v->filter.device;
    static const char *const classes[] = {"below_500ms", "below_2s", "below_8s", "above"};
    api_open(&o->versions, "versions", '[');
    api_open(&o->days, "days", '[');
    read_sums(o);
    api_shut(&o->versions, ']');
    api_shut(&o->days, ']');
    v->out.failed |= o->versions.failed || o->days.failed;
    if (!v->out.failed) {
        out_bytes(&v->out, o->versions.data, o->versions.size);
        out_text(&v->out, ",");
        out_bytes(&v->out, o->days.data, o->days.size);
    }
    api_int(&v->out, "versions_in_all", (int64_t)o->version_count);
    api_open(&v->out, "classes", '{');
    for (int i = 0; i < 4; i++)
        api_int(&v->out, classes[i], o->slow[i]);
    api_int(&v->out, "killed", o->killed);
    api_shut(&v->out, '}');
    report_bytes_free(&o->versions);
    report_bytes_free(&o->days);
    free(o);
}

/* --- systems and devices --- */

/* clang-format off */
/* Of all, or of one system or device itself. */
#define PLATFORMS_OF_DAYS                                                                          \
    "SELECT t.text, s.reports, s.blocked FROM (SELECT d.term AS id,"                               \
    " " API_SUM("d.reports") " AS reports, " API_SUM("d.blocked_ns") " AS blocked"                 \
    " FROM term_day d WHERE d.project = $1 AND d.day >= $2 AND $4 + $5 IN (0, d.term)"             \
    " AND " API_OF_VERSION("d") " GROUP BY d.term) s JOIN term t ON t.id = s.id"                   \
    " WHERE t.kind = $6 ORDER BY s.blocked DESC, t.id LIMIT 50"
#define PLATFORMS_OF_REPORTS(term, counted)                                                        \
    "SELECT t.text, s.reports, s.blocked FROM (SELECT r." term " AS id, COUNT(*) AS reports,"      \
    " " API_SUM("r.duration_ns") " AS blocked FROM " counted " GROUP BY r." term ") s"             \
    " JOIN term t ON t.id = s.id WHERE t.kind = $6 ORDER BY s.blocked DESC, t.id LIMIT 50"
/* clang-format on */

static void write_platform(struct api_view *v, const char *key, int64_t kind, const char *sql)
{
    const struct api_filter *f = &v->filter;
    api_shares(v, key,
               api_query(v, sql,
                         DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                                   db_int(f->os), db_int(f->device), db_int(kind))));
}

static void write_platforms(struct api_view *v)
{
    const struct api_filter *f = &v->filter;
    api_open(&v->out, "platforms", '{');
    write_platform(v, "os", 1,
                   !f->device ? PLATFORMS_OF_DAYS
                   : f->os    ? PLATFORMS_OF_REPORTS("os", COUNTED_OF_OS)
                              : PLATFORMS_OF_REPORTS("os", COUNTED_OF_DEVICE));
    write_platform(v, "devices", 2,
                   f->os ? PLATFORMS_OF_REPORTS("device", COUNTED_OF_OS) : PLATFORMS_OF_DAYS);
    api_shut(&v->out, '}');
}

/* --- all of it --- */

static void write_waiting(struct api_view *v)
{
    int64_t reports = api_number(v,
                                 "SELECT COUNT(*) FROM (SELECT 1 AS one FROM inbox"
                                 " WHERE state = 0 AND project = $1 LIMIT $2) w",
                                 DB_VALUES(db_int(v->project), db_int(WAITING)));
    int64_t images = api_number(v,
                                "SELECT COUNT(*) FROM project_image WHERE project = $1 AND"
                                " has_map = 0 AND image IN (SELECT"
                                " image FROM image_day WHERE project = $1 AND day >= $2)",
                                DB_VALUES(db_int(v->project), db_int(v->filter.first_day)));
    api_open(&v->out, "waiting", '{');
    api_int(&v->out, "reports", reports);
    api_int(&v->out, "images", images);
    api_shut(&v->out, '}');
}

static void get_overview(struct http_request *r)
{
    struct api_view v;
    struct api_group_page page;
    struct api_group_query top = {.key = "top",
                                  .new_key = "new",
                                  .section = -1,
                                  .like = {"", "", "", "", "", "", "", ""},
                                  .after = {TOP, INT64_MAX, INT64_MAX}};
    if (!api_begin(&v, r, API_FILTERS, NULL))
        return;
    api_open(&v.out, NULL, '{');
    write_sums(&v);
    api_groups(&v, &top, &page);
    write_waiting(&v);
    write_platforms(&v);
    api_shut(&v.out, '}');
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/overview",
     .needs = ACCESS_READ,
     .handle = get_overview},
};
const struct http_routes routes_overview = {routes, sizeof routes / sizeof *routes};
