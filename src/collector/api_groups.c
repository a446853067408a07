/* Lists of groups, one group with all that its page shows, and its reports. */
#include "collector/api_groups.h"

#include "collector/api_frames.h"
#include "collector/api_group_numbers.h"
#include "collector/api_reports.h"
#include "collector/versions.h"

#include <ctype.h>

enum { HISTORY = 200 /* lines of a group's history */ };

/* --- the list --- */

/* A pattern for LIKE that finds the text anywhere, in lower case, as what is searched in is. */
static const char *like_of(struct http_request *r, const char *text, size_t size)
{
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

/* Each word is looked for by itself; the last one is all that is left. */
static void read_words(struct http_request *r, const char *text, const char *like[API_GROUP_WORDS])
{
    enum { WORD_MAX = 256 };
    text = text ? text : "";
    for (size_t i = 0; i < API_GROUP_WORDS; i++) {
        text += strspn(text, " \t");
        size_t size = i + 1 < API_GROUP_WORDS ? strcspn(text, " \t") : strlen(text);
        while (size && strchr(" \t", text[size - 1]))
            size--;
        like[i] = like_of(r, text, size < WORD_MAX ? size : WORD_MAX);
        text += size;
    }
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
    read_words(v->r, http_query(v->r, "q"), q->like);
    return true;
}

static void get_groups(struct http_request *r)
{
    struct api_view v;
    struct api_group_query q = {.key = "items", .like = {"", "", "", "", "", "", "", ""}};
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

/* $1 project, $2 first day, $3 version, $4 os, $5 device, $6 group: every number of a group's page
 * is of these reports. With neither system nor device the sums know more quickly. */
/* clang-format off */
#define SCOPE                                                                                      \
    "report r WHERE r.group_id = $6 AND " API_OF_SCOPE
#define DAYS_OF_SUMS                                                                               \
    "SELECT d.day, d.version, d.reports, d.blocked_ns, d.killed FROM group_day d"                  \
    " WHERE d.group_id = $6 AND " API_OF_DAYS
#define DAYS_OF_REPORTS                                                                            \
    "SELECT r.day, r.version, COUNT(*) AS reports, " API_SUM("r.duration_ns") " AS blocked_ns,"    \
    " " API_SUM(API_KILLED) " AS killed FROM " SCOPE " GROUP BY r.day, r.version"
#define VERSIONS_OF(days)                                                                          \
    "SELECT v.version, v.build, s.reports, s.blocked FROM (SELECT d.version AS id,"                \
    " " API_SUM("d.reports") " AS reports, " API_SUM("d.blocked_ns") " AS blocked"                 \
    " FROM (" days ") d GROUP BY d.version) s JOIN version v ON v.id = s.id"                       \
    " ORDER BY" VERSIONS_NEWEST_FIRST
#define EACH_DAY_OF(days)                                                                          \
    "SELECT d.day, v.version, v.build, d.reports, d.blocked_ns, d.killed FROM (" days ") d"        \
    " JOIN version v ON v.id = d.version ORDER BY d.day, d.version"
#define SHARES(term)                                                                               \
    "SELECT t.text, s.reports, s.blocked FROM (SELECT r." term " AS id, COUNT(*) AS reports,"      \
    " " API_SUM("r.duration_ns") " AS blocked FROM " SCOPE " GROUP BY r." term ") s"               \
    " JOIN term t ON t.id = s.id ORDER BY s.blocked DESC, t.id LIMIT 100"
/* clang-format on */

static struct db_rows *query_scope(struct api_view *v, const char *sql, int64_t group)
{
    const struct api_filter *f = &v->filter;
    return api_query(v, sql,
                     DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                               db_int(f->os), db_int(f->device), db_int(group)));
}

static struct db_rows *query_days(struct api_view *v, const char *of_sums, const char *of_reports,
                                  int64_t group)
{
    return query_scope(v, v->filter.os || v->filter.device ? of_reports : of_sums, group);
}

static void write_versions(struct api_view *v, int64_t group)
{
    api_open(&v->out, "versions", '[');
    struct db_rows *rows =
        query_days(v, VERSIONS_OF(DAYS_OF_SUMS), VERSIONS_OF(DAYS_OF_REPORTS), group);
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
    struct db_rows *rows =
        query_days(v, EACH_DAY_OF(DAYS_OF_SUMS), EACH_DAY_OF(DAYS_OF_REPORTS), group);
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

static void write_platforms(struct api_view *v, int64_t group)
{
    api_shares(v, "os", query_scope(v, SHARES("os"), group));
    api_shares(v, "devices", query_scope(v, SHARES("device"), group));
}

/* The stack by which these reports hung longest, `sample` when there is none of them; and how much
 * of their time it stands for. */
struct heaviest {
    int64_t stack, blocked, stacks, all_blocked;
};

static void write_heaviest(struct api_view *v, int64_t group, int64_t sample, struct heaviest *h)
{
    *h = (struct heaviest){.stack = sample};
    struct db_rows *rows = query_scope(
        v,
        "WITH s AS MATERIALIZED (SELECT r.stack AS stack, COUNT(*) AS reports,"
        " " API_SUM("r.duration_ns") " AS blocked FROM " SCOPE " GROUP BY r.stack)"
                                     " SELECT s.stack, s.blocked, (SELECT COUNT(*) FROM s o WHERE "
                                     "o.stack IS NOT NULL),"
                                     " (SELECT " API_SUM(
                                         "o.blocked") " FROM s o) FROM s WHERE s.stack IS NOT NULL"
                                                      " ORDER BY s.blocked DESC, s.reports DESC, "
                                                      "s.stack LIMIT 1",
        group);
    if (api_next(v, rows))
        *h = (struct heaviest){db_get_int(rows, 0), db_get_int(rows, 1), db_get_int(rows, 2),
                               db_get_int(rows, 3)};
    api_done(v, rows);
    struct api_frames *frames = api_frames_new(v);
    if (frames)
        api_stack_of(frames, "heaviest", h->stack);
    api_frames_free(frames);
}

/* How long hangs took: classes that double, from 250 ms to 64 s and above. A class's number is how
 * many of its limits the duration has reached. */
/* clang-format off */
#define REACHED(limit) "CASE WHEN r.duration_ns >= " limit "000000 THEN 1 ELSE 0 END"
#define CLASS                                                                                      \
    REACHED("250") " + " REACHED("500") " + " REACHED("1000") " + " REACHED("2000") " + "          \
    REACHED("4000") " + " REACHED("8000") " + " REACHED("16000") " + " REACHED("32000") " + "      \
    REACHED("64000")
/* clang-format on */

static void write_histogram(struct api_view *v, int64_t group)
{
    enum { CLASSES = 10 };
    int64_t counts[CLASSES] = {0}, below = 250000000;
    struct db_rows *rows =
        query_scope(v, "SELECT " CLASS " AS class, COUNT(*) FROM " SCOPE " GROUP BY 1", group);
    while (api_next(v, rows))
        counts[db_get_int(rows, 0)] = db_get_int(rows, 1);
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

static void write_coverage(struct api_view *v, const struct heaviest *h)
{
    double share = h->all_blocked > 0 ? (double)h->blocked / (double)h->all_blocked : 1.0;
    api_open(&v->out, "coverage", '{');
    api_int(&v->out, "stacks", h->stacks ? 1 : 0);
    api_int(&v->out, "of", h->stacks);
    api_real(&v->out, "blocked_share", share);
    api_shut(&v->out, '}');
}

/* --- one group: what became of it --- */

/* The last ones; who "": the server itself. */
static void write_history(struct api_view *v, int64_t group)
{
    api_open(&v->out, "history", '[');
    struct db_rows *rows =
        api_query(v,
                  "SELECT at_ms, who, action, detail FROM group_event WHERE group_id = $1"
                  " ORDER BY id DESC LIMIT $2",
                  DB_VALUES(db_int(group), db_int(HISTORY)));
    while (api_next(v, rows)) {
        api_open(&v->out, NULL, '{');
        api_int(&v->out, "at_ms", db_get_int(rows, 0));
        api_text(&v->out, "who", db_get_text(rows, 1));
        api_text(&v->out, "action", db_get_text(rows, 2));
        api_text(&v->out, "detail", db_get_text(rows, 3));
        api_shut(&v->out, '}');
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
}

/* In which version the group was seen first ever, whatever the filters. */
static void write_since(struct api_view *v, int64_t group)
{
    struct db_rows *rows = api_query(v,
                                     "SELECT v.version, v.build FROM version v WHERE v.id IN"
                                     " (SELECT d.version FROM group_day d WHERE d.group_id = $1)"
                                     " ORDER BY v.sort_key, v.id LIMIT 1",
                                     DB_VALUES(db_int(group)));
    if (api_next(v, rows))
        api_version(&v->out, "since_version", db_get_text(rows, 0), db_get_text(rows, 1));
    else
        api_null(&v->out, "since_version");
    api_done(v, rows);
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
    struct heaviest heaviest;
    write_heaviest(&v, group, write_reasons(&v, group), &heaviest);
    write_since(&v, group);
    write_history(&v, group);
    write_versions(&v, group);
    write_days(&v, group);
    write_platforms(&v, group);
    write_histogram(&v, group);
    write_similar(&v, group);
    write_coverage(&v, &heaviest);
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
