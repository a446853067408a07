/* Lists of groups, one group with all that its page shows, and its reports. */
#include "collector/api_groups.h"

#include "collector/api_frames.h"
#include "collector/api_reports.h"

#include <ctype.h>

/* The histogram, and with os and device all shares, are of the newest reports of a group. */
enum { NEWEST = 10000 };

/* --- the list --- */

/* A pattern for LIKE that finds `text` anywhere, in lower case, as hang_group.search is. */
static const char *like_of(struct http_request *r, const char *text)
{
    size_t size = text ? strnlen(text, 256) : 0;
    char *pattern = arena_take(&r->arena, size * 2 + 3), *at = pattern;
    if (!size || !pattern)
        return "";
    *at++ = '%';
    for (size_t i = 0; i < size; i++) {
        if (strchr("%_\\", text[i]))
            *at++ = '\\';
        *at++ = (char)tolower((unsigned char)text[i]);
    }
    *at++ = '%';
    *at = 0;
    return pattern;
}

static bool read_query(struct api_view *v, struct api_group_query *q)
{
    static const char *const statuses[] = {"open", "ignored", "resolved", "merged", "all"};
    static const char *const sections[] = {"app", "system", "unnamed"};
    static const char *const sorts[] = {"blocked", "reports", "installs",
                                        "last",    "first",   "longest"};
    if (!api_word(v, "status", statuses, 5, 0, &q->status) ||
        !api_word(v, "section", sections, 3, -1, &q->section) ||
        !api_word(v, "sort", sorts, 6, SORT_BLOCKED, &q->sort) || !api_cursor_read(v, &q->after))
        return false;
    q->status = q->status == 4 ? -1 : q->status;
    q->like = like_of(v->r, http_query(v->r, "q"));
    return true;
}

static void get_groups(struct http_request *r)
{
    struct api_view v;
    struct api_group_query q = {.key = "items", .like = ""};
    struct api_group_page page;
    if (!api_begin(&v, r, API_FILTERS | API_PAGES, "status", "section", "sort", "q", NULL) ||
        !read_query(&v, &q))
        return;
    api_open(&v.out, NULL, '{');
    api_groups(&v, &q, &page);
    api_cursor_write(&v.out, page.more, page.rank, page.id);
    api_int(&v.out, "total", page.total);
    api_shut(&v.out, '}');
    api_end(&v);
}

/* --- one group: why --- */

static void write_why(struct api_view *v, const char *why, int64_t rules)
{
    json_t *parsed = why ? json_loads(why, 0, NULL) : NULL;
    json_t *answer =
        json_pack("{s:I, s:O?, s:O?}", "rules", (json_int_t)rules, "parts",
                  json_object_get(parsed, "parts"), "frames", json_object_get(parsed, "frames"));
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    api_raw(&v->out, "why", text);
    free(text);
    json_decref(answer);
    json_decref(parsed);
}

static int64_t write_reasons(struct api_view *v, int64_t group)
{
    int64_t stack = 0;
    struct db_rows *rows =
        api_query(v, "SELECT why, rules, sample_stack FROM hang_group WHERE id = $1",
                  DB_VALUES(db_int(group)));
    if (api_next(v, rows)) {
        stack = db_get_int(rows, 2);
        write_why(v, db_get_text(rows, 0), db_get_int(rows, 1));
    }
    api_done(v, rows);
    return stack;
}

/* --- one group: where it hangs --- */

static void write_versions(struct api_view *v, int64_t group)
{
    api_open(&v->out, "versions", '[');
    struct db_rows *rows = api_query(
        v,
        "SELECT v.version, v.build, s.reports, s.blocked FROM (SELECT d.version AS id,"
        " " API_SUM("d.reports") " AS reports, " API_SUM(
            "d.blocked_ns") " AS blocked"
                            " FROM group_day d WHERE d.group_id = $4 AND d.day >= $2 "
                            "AND " API_OF_VERSION(
                                "d") " GROUP BY d.version) s JOIN version v ON v.id = s.id"
                                     " ORDER BY v.first_ms DESC, v.id DESC LIMIT 100",
        DB_VALUES(db_int(v->project), db_int(v->filter.first_day), db_text(v->filter.version),
                  db_int(group)));
    while (api_next(v, rows)) {
        api_open(&v->out, NULL, '{');
        api_version(&v->out, "version", db_get_text(rows, 0), db_get_text(rows, 1));
        api_int(&v->out, "reports", db_get_int(rows, 2));
        api_int(&v->out, "blocked_ns", db_get_int(rows, 3));
        api_shut(&v->out, '}');
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
}

static void write_days(struct api_view *v, int64_t group)
{
    api_open(&v->out, "days", '[');
    struct db_rows *rows = api_query(
        v,
        "SELECT d.day, v.version, v.build, d.reports, d.blocked_ns, d.killed FROM group_day d"
        " JOIN version v ON v.id = d.version WHERE d.group_id = $4 AND d.day >= $2"
        " AND " API_OF_VERSION("d") " ORDER BY d.day, d.version LIMIT 10000",
        DB_VALUES(db_int(v->project), db_int(v->filter.first_day), db_text(v->filter.version),
                  db_int(group)));
    while (api_next(v, rows)) {
        api_open(&v->out, NULL, '{');
        api_day(&v->out, "day", db_get_int(rows, 0));
        api_version(&v->out, "version", db_get_text(rows, 1), db_get_text(rows, 2));
        api_int(&v->out, "reports", db_get_int(rows, 3));
        api_int(&v->out, "blocked_ns", db_get_int(rows, 4));
        api_int(&v->out, "killed", db_get_int(rows, 5));
        api_shut(&v->out, '}');
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
}

/* --- one group: on what it hangs --- */

#define NEWEST_REPORTS                                                                             \
    "(SELECT r.os, r.device, r.duration_ns, r.stack FROM report r WHERE r.group_id = $6"           \
    " AND ($4 = 0 OR r.os = $4) AND ($5 = 0 OR r.device = $5) AND r.received_ms >= $2"             \
    " AND " API_OF_VERSION("r") " ORDER BY r.received_ms DESC LIMIT $7)"
#define SHARES_OF_NEWEST(term)                                                                     \
    "SELECT t.text, s.reports, s.blocked FROM (SELECT n." term                                     \
    " AS id, COUNT(*) AS reports, " API_SUM(                                                       \
        "n.duration_ns") " AS blocked FROM " NEWEST_REPORTS " n GROUP BY n." term ") s"            \
                         " JOIN term t ON t.id = s.id ORDER BY s.blocked DESC, t.id LIMIT 100"

static struct db_rows *query_newest(struct api_view *v, const char *sql, int64_t group)
{
    const struct api_filter *f = &v->filter;
    return api_query(v, sql,
                     DB_VALUES(db_int(v->project), db_int(f->first_day * 86400000),
                               db_text(f->version), db_int(f->os), db_int(f->device), db_int(group),
                               db_int(NEWEST)));
}

/* The stack by which the newest reports hung longest; `sample` when there is none of them. */
static int64_t write_heaviest(struct api_view *v, int64_t group, int64_t sample)
{
    struct db_rows *rows = query_newest(
        v,
        "SELECT n.stack FROM " NEWEST_REPORTS " n WHERE n.stack IS NOT NULL GROUP BY n.stack"
        " ORDER BY SUM(n.duration_ns) DESC, COUNT(*) DESC, n.stack LIMIT 1",
        group);
    int64_t stack = api_next(v, rows) ? db_get_int(rows, 0) : sample;
    api_done(v, rows);
    struct api_frames *frames = api_frames_new(v);
    if (frames)
        api_stack_of(frames, "heaviest", stack);
    api_frames_free(frames);
    return stack;
}

/* Without filters of all its reports ever, which are summed. */
static void write_platforms(struct api_view *v, int64_t group)
{
    static const char of_group[] =
        "SELECT t.text, g.reports, g.blocked_ns FROM group_term g JOIN term t ON t.id = g.term"
        " WHERE g.group_id = $1 AND t.kind = $2 ORDER BY g.blocked_ns DESC, t.id LIMIT 100";
    const struct api_filter *f = &v->filter;
    if (f->os || f->device || *f->version) {
        api_shares(v, "os", query_newest(v, SHARES_OF_NEWEST("os"), group));
        api_shares(v, "devices", query_newest(v, SHARES_OF_NEWEST("device"), group));
        return;
    }
    api_shares(v, "os", api_query(v, of_group, DB_VALUES(db_int(group), db_int(1))));
    api_shares(v, "devices", api_query(v, of_group, DB_VALUES(db_int(group), db_int(2))));
}

/* How long hangs took: classes that double, from 250 ms to 64 s and above. */
static void write_histogram(struct api_view *v, int64_t group)
{
    enum { CLASSES = 10 };
    int64_t counts[CLASSES] = {0}, below = 250000000;
    struct db_rows *rows = query_newest(v, "SELECT n.duration_ns FROM " NEWEST_REPORTS " n", group);
    while (api_next(v, rows)) {
        size_t class = 0;
        for (int64_t limit = below; class < CLASSES - 1 && db_get_int(rows, 0) >= limit; limit *= 2)
            class ++;
        counts[class]++;
    }
    api_done(v, rows);
    api_open(&v->out, "histogram", '[');
    for (size_t i = 0; i < CLASSES; i++, below *= 2) {
        api_open(&v->out, NULL, '{');
        if (i + 1 < CLASSES)
            api_int(&v->out, "below_ns", below);
        else
            api_null(&v->out, "below_ns");
        api_int(&v->out, "reports", counts[i]);
        api_shut(&v->out, '}');
    }
    api_shut(&v->out, ']');
}

/* --- one group: what is like it --- */

/* Groups that blame the same function or the same file of the same image. */
static void write_similar(struct api_view *v, int64_t group)
{
    api_open(&v->out, "similar", '[');
    struct db_rows *rows = api_query(
        v,
        "SELECT o.id, o.title FROM hang_group g JOIN hang_group o ON o.project = g.project"
        " AND o.id <> g.id AND o.status <> 3 AND o.image = g.image AND o.section = g.section"
        " AND (o.title = g.title OR o.file = g.file)"
        " WHERE g.id = $1 AND g.project = $2"
        " ORDER BY CASE WHEN o.title = g.title THEN 0 ELSE 1 END, o.blocked_ns DESC, o.id LIMIT 10",
        DB_VALUES(db_int(group), db_int(v->project)));
    while (api_next(v, rows)) {
        api_open(&v->out, NULL, '{');
        api_int(&v->out, "id", db_get_int(rows, 0));
        api_text(&v->out, "title", db_get_text(rows, 1));
        api_shut(&v->out, '}');
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
}

/* How much of the group's time its heaviest stack stands for. */
static void write_coverage(struct api_view *v, int64_t group, int64_t heaviest)
{
    enum { COUNTED = 10000 };
    int64_t stacks = api_number(v,
                                "SELECT COUNT(*) FROM (SELECT 1 AS one FROM stack"
                                " WHERE group_id = $1 LIMIT $2) s",
                                DB_VALUES(db_int(group), db_int(COUNTED)));
    int64_t blocked =
        api_number(v, "SELECT blocked_ns FROM hang_group WHERE id = $1", DB_VALUES(db_int(group)));
    int64_t weight =
        api_number(v, "SELECT " API_SUM("weight_ns") " FROM flame WHERE key_stack = $1",
                   DB_VALUES(db_int(heaviest)));
    double share = blocked > weight && blocked > 0 ? (double)weight / (double)blocked : 1.0;
    api_open(&v->out, "coverage", '{');
    api_int(&v->out, "stacks", stacks ? 1 : 0);
    api_int(&v->out, "of", stacks);
    api_real(&v->out, "blocked_share", share);
    api_shut(&v->out, '}');
}

static void get_group(struct http_request *r)
{
    struct api_view v;
    int64_t group;
    if (!api_begin(&v, r, API_FILTERS, NULL) || !api_id(&v, "id", "group", &group))
        return;
    api_open(&v.out, NULL, '{');
    if (!api_group_members(&v, group) && !v.error) {
        api_refuse(&v, 404, "no group %lld", (long long)group);
        return;
    }
    int64_t heaviest = write_heaviest(&v, group, write_reasons(&v, group));
    write_versions(&v, group);
    write_days(&v, group);
    write_platforms(&v, group);
    write_histogram(&v, group);
    write_similar(&v, group);
    write_coverage(&v, group, heaviest);
    api_shut(&v.out, '}');
    api_end(&v);
}

static void get_group_reports(struct http_request *r)
{
    struct api_view v;
    struct api_report_query q = {.group = 0};
    if (!api_begin(&v, r, API_FILTERS | API_PAGES, NULL) || !api_id(&v, "id", "group", &q.group) ||
        !api_cursor_read(&v, &q.after))
        return;
    api_reports(&v, &q);
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/groups",
     .needs = ACCESS_READ,
     .handle = get_groups},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/groups/{id}",
     .needs = ACCESS_READ,
     .handle = get_group},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/groups/{id}/reports",
     .needs = ACCESS_READ,
     .handle = get_group_reports},
};
const struct http_routes routes_groups_read = {routes, sizeof routes / sizeof *routes};
