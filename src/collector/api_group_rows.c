/*
 * GROUPs out of the database, in two steps: which ones, with their sums over the filter's window,
 * and then each one's trend.
 *
 * Without os and device the sums are those of group_day. With them they are taken from an index of
 * `report` that holds all they need. So there are three texts of each query: all, of a system
 * (perhaps of one device too), of a device.
 */
#include "collector/api_groups.h"

#include "collector/grouping.h"
#include "collector/versions.h"

#include <stdlib.h>

/* $1 project, $2 first day, $3 version, $4 os, $5 device. Each names them all, so that one list of
 * values serves the three. */
/* clang-format off */
#define NOT_ASKED "$4 >= 0 AND $5 >= 0"
#define SUMS_OF_ALL                                                                                \
    "SELECT d.group_id AS id, " API_SUM("d.reports") " AS reports,"                                \
    " " API_SUM("d.blocked_ns") " AS blocked, " API_SUM("d.killed") " AS killed"                   \
    " FROM hang_group g JOIN group_day d ON d.group_id = g.id AND d.day >= $2"                     \
    " WHERE g.project = $1 AND " NOT_ASKED " AND " API_OF_VERSION("d") " GROUP BY d.group_id"
#define SUMS_OF_REPORTS(of)                                                                        \
    "SELECT r.group_id AS id, COUNT(*) AS reports, " API_SUM("r.duration_ns") " AS blocked,"       \
    " " API_SUM(API_KILLED) " AS killed FROM report r WHERE r.project = $1 AND " of                \
    " AND r.day >= $2 AND r.group_id IS NOT NULL AND " API_OF_VERSION("r") " GROUP BY r.group_id"
#define OF_OS     "r.os = $4 AND ($5 = 0 OR r.device = $5)"
#define OF_DEVICE "r.device = $5 AND $4 = 0"

/* The longest, the first and the last, installations. $4 and $5 may be 0. */
#define OF_SCOPE                                                                                   \
    "r.day >= $2 AND ($4 = 0 OR r.os = $4) AND ($5 = 0 OR r.device = $5) AND " API_OF_VERSION("r")
/* Of days alone an installation is counted once by its last day: the window ends today. */
#define INSTALLS_OF_ALL                                                                            \
    "(SELECT COUNT(*) FROM group_install i WHERE i.group_id = w.id AND i.last_day >= $2)"
#define SCOPE_OF_SUMS(groups)                                                                      \
    "SELECT w.id AS id, MAX(d.longest_ns) AS longest, MIN(d.first_ms) AS first_ms,"                \
    " MAX(d.last_ms) AS last_ms, CASE WHEN $3 = '' THEN " INSTALLS_OF_ALL                          \
    " ELSE (SELECT COUNT(DISTINCT r.install) FROM report r WHERE r.group_id = w.id AND " OF_SCOPE  \
    ") END AS installs FROM (" groups ") w JOIN group_day d ON d.group_id = w.id"                  \
    " AND d.day >= $2 AND " API_OF_VERSION("d") " GROUP BY w.id"
#define SCOPE_OF_REPORTS(groups)                                                                   \
    "SELECT w.id AS id, MAX(r.duration_ns) AS longest, MIN(r.started_ms) AS first_ms,"             \
    " MAX(r.started_ms) AS last_ms, COUNT(DISTINCT r.install) AS installs"                         \
    " FROM (" groups ") w JOIN report r ON r.group_id = w.id AND " OF_SCOPE " GROUP BY w.id"
/* Versions, the first or the last by their order. */
#define VERSIONS_OF_ALL                                                                            \
    "SELECT d.group_id AS id, d.version AS version FROM w JOIN group_day d ON d.group_id = w.id"   \
    " AND d.day >= $2 AND " API_OF_VERSION("d") " GROUP BY d.group_id, d.version"
#define VERSIONS_OF_REPORTS                                                                        \
    "SELECT r.group_id AS id, r.version AS version FROM w JOIN report r ON r.group_id = w.id"      \
    " AND " OF_SCOPE " GROUP BY r.group_id, r.version"
#define A_VERSION(order)                                                                           \
    "(SELECT " VERSION_LABEL("v") " FROM b JOIN version v ON v.id = b.version WHERE b.id = g.id"   \
    " ORDER BY v.sort_key" order ", v.id" order " LIMIT 1)"

/* Of g and x: hang_group, and its scope. `installs` of all reports while somebody looks at nothing:
 * a group that a filter leaves nothing of. */
#define COLUMNS                                                                                    \
    " g.id, g.title, g.leaf, g.section, g.image, g.file, g.line, g.status,"                        \
    " COALESCE(x.longest, 0), COALESCE(x.installs, 0), x.first_ms, x.last_ms,"                     \
    " " A_VERSION("") ", " A_VERSION(" DESC") ", g.first_ms, g.reopened_ms, g.note,"               \
    " g.merged_into, g.fixed_version, g.fixed_build, g.fixed_after,"

/* What a word is looked for in: the functions and files of the stack, and what the list shows. */
#define FOUND(pattern)                                                                             \
    "(" pattern " = '' OR g.search LIKE " pattern " ESCAPE '\\'"                                   \
    " OR LOWER(g.title || ' ' || g.leaf || ' ' || g.image || ' ' || COALESCE(g.file, '') || ':'"   \
    " || CAST(g.line AS TEXT)) LIKE " pattern " ESCAPE '\\')"

#define FOUND_ALL                                                                                  \
    FOUND("$9") " AND " FOUND("$15") " AND " FOUND("$16") " AND " FOUND("$17") " AND "             \
    FOUND("$18") " AND " FOUND("$19") " AND " FOUND("$20") " AND " FOUND("$21")

/* $6 status, $7 section, $8 sort, $9 and $15 to $21 patterns, $10 and $11 the cursor, $12 limit; $13 and $14 since
 * when a group is new, and how many of those. Both lists come out of one sum: it is what costs.
 * `early`: the scope of all groups, when they are sorted by it; else of those that are shown. */
#define PAGE(sums, place, early, late, versions)                                                   \
    "WITH s AS MATERIALIZED (" sums ")," early                                                     \
    " c AS MATERIALIZED (SELECT s.id, s.reports, s.blocked, s.killed, g.first_ms,"                 \
    " " place                                                                                      \
    " WHERE g.project = $1 AND (g.status = $6 OR ($6 < 0 AND g.status <> 3))"                      \
    " AND ($7 < 0 OR g.section = $7) AND $8 >= 0"                                                  \
    " AND " FOUND_ALL "),"                                                                          \
    " p AS MATERIALIZED (SELECT * FROM (SELECT c.id, 0 AS list FROM c"                             \
    " WHERE c.place < $10 OR (c.place = $10 AND c.id < $11)"                                       \
    " ORDER BY c.place DESC, c.id DESC LIMIT $12) old UNION ALL"                                   \
    " SELECT * FROM (SELECT c.id, 1 AS list FROM c WHERE c.first_ms >= $13"                        \
    " ORDER BY c.place DESC, c.id DESC LIMIT $14) young),"                                         \
    " w AS MATERIALIZED (SELECT DISTINCT p.id AS id FROM p)," late                                 \
    " b AS MATERIALIZED (" versions ")"                                                            \
    " SELECT" COLUMNS " c.reports, c.blocked, c.killed, c.place, p.list, (SELECT COUNT(*) FROM c)" \
    " FROM p JOIN c ON c.id = p.id JOIN hang_group g ON g.id = p.id LEFT JOIN x ON x.id = p.id"    \
    " ORDER BY p.list, c.place DESC, c.id DESC"
#define PAGE_BY_SUM(sums, scope, versions)                                                         \
    PAGE(sums,                                                                                     \
         "CASE $8 WHEN 1 THEN s.reports WHEN 4 THEN g.first_ms ELSE s.blocked END AS place"        \
         " FROM s JOIN hang_group g ON g.id = s.id",                                               \
         "", " x AS MATERIALIZED (" scope("SELECT id FROM w") "),", versions)
#define PAGE_BY_SCOPE(sums, scope, versions)                                                       \
    PAGE(sums,                                                                                     \
         "CASE $8 WHEN 2 THEN x.installs WHEN 3 THEN x.last_ms ELSE x.longest END AS place"        \
         " FROM s JOIN hang_group g ON g.id = s.id JOIN x ON x.id = s.id",                         \
         " x AS MATERIALIZED (" scope("SELECT id FROM s") "),", "", versions)
/* clang-format on */

enum { /* of COLUMNS and what follows */
       G_ID,
       G_TITLE,
       G_LEAF,
       G_SECTION,
       G_IMAGE,
       G_FILE,
       G_LINE,
       G_STATUS,
       G_LONGEST,
       G_INSTALLS,
       G_FIRST_MS,
       G_LAST_MS,
       G_FIRST_VERSION,
       G_LAST_VERSION,
       G_SINCE_MS,
       G_REOPENED,
       G_NOTE,
       G_MERGED,
       G_FIXED_VERSION,
       G_FIXED_BUILD,
       G_FIXED_AFTER,
       G_REPORTS,
       G_BLOCKED,
       G_KILLED,
       G_PLACE,
       G_LIST,
       G_TOTAL
};

static const char *const sections[] = {"app", "system", "unnamed"};
static const char *const statuses[] = {"open", "ignored", "resolved", "merged"};

static const char *word(const char *const *words, size_t count, int64_t index)
{
    return index >= 0 && (uint64_t)index < count ? words[index] : words[0];
}

static void or_null(struct report_bytes *out, const char *key, const struct db_rows *rows,
                    int column)
{
    if (db_is_null(rows, column))
        api_null(out, key);
    else
        api_int(out, key, db_get_int(rows, column));
}

static void write_members(struct report_bytes *out, const struct db_rows *rows)
{
    int64_t status = db_get_int(rows, G_STATUS);
    api_int(out, "id", db_get_int(rows, G_ID));
    api_text(out, "title", db_get_text(rows, G_TITLE));
    api_text(out, "leaf", db_get_text(rows, G_LEAF));
    api_text(out, "section", word(sections, 3, db_get_int(rows, G_SECTION)));
    api_text(out, "image", db_get_text(rows, G_IMAGE));
    api_text(out, "file", db_get_text(rows, G_FILE));
    api_int(out, "line", db_get_int(rows, G_LINE));
    api_text(out, "status", word(statuses, 4, status));
    api_int(out, "longest_ns", db_get_int(rows, G_LONGEST));
    api_int(out, "installs", db_get_int(rows, G_INSTALLS));
    or_null(out, "first_ms", rows, G_FIRST_MS);
    or_null(out, "last_ms", rows, G_LAST_MS);
    api_text(out, "first_version", db_get_text(rows, G_FIRST_VERSION));
    api_text(out, "last_version", db_get_text(rows, G_LAST_VERSION));
    api_int(out, "since_ms", db_get_int(rows, G_SINCE_MS));
    api_bool(out, "reopened", status == 0 && !db_is_null(rows, G_REOPENED));
    api_text(out, "note", db_get_text(rows, G_NOTE));
    or_null(out, "merged_into", rows, G_MERGED);
    api_version(out, "resolved_version", db_get_text(rows, G_FIXED_VERSION),
                db_get_text(rows, G_FIXED_BUILD));
    api_bool(out, "resolved_after", db_get_int(rows, G_FIXED_AFTER) != 0);
    api_int(out, "reports", db_get_int(rows, G_REPORTS));
    api_int(out, "blocked_ns", db_get_int(rows, G_BLOCKED));
    api_int(out, "killed", db_get_int(rows, G_KILLED));
}

/* --- trends --- */

enum { MOST = API_LIMIT_MAX + API_GROUPS_NEW };

struct trends { /* of the groups of one page */
    int64_t ids[MOST];
    size_t starts[MOST + 1]; /* where each group's object begins */
    size_t count, new_from;  /* groups from `new_from` on are those of the second list */
    int64_t *blocked;        /* [group][day] */
};

static void add_day(struct trends *t, const struct api_view *v, int64_t group, int64_t day,
                    int64_t blocked)
{
    int64_t at = day - v->filter.first_day;
    for (size_t i = 0; i < t->count && at >= 0 && at < v->filter.days; i++)
        if (t->ids[i] == group)
            t->blocked[(int64_t)i * v->filter.days + at] = blocked;
}

static void read_days_of_group(struct api_view *v, struct trends *t, int64_t group)
{
    struct db_rows *rows = api_query(
        v,
        "SELECT d.day, " API_SUM("d.blocked_ns") " FROM group_day d WHERE d.group_id = $4"
                                                 " AND d.day >= $2 AND $1 > 0 AND " API_OF_VERSION(
                                                     "d") " GROUP BY d.day",
        DB_VALUES(db_int(v->project), db_int(v->filter.first_day), db_text(v->filter.version),
                  db_int(group)));
    while (api_next(v, rows))
        add_day(t, v, group, db_get_int(rows, 0), db_get_int(rows, 1));
    api_done(v, rows);
}

#define DAYS_OF_REPORTS(of)                                                                        \
    "SELECT r.group_id, r.day, " API_SUM(                                                          \
        "r.duration_ns") " FROM report r WHERE r.project = $1"                                     \
                         " AND " of                                                                \
                         " AND r.day >= $2 AND r.group_id IS NOT NULL AND " API_OF_VERSION(        \
                             "r") " GROUP BY r.group_id, r.day"

static void read_days_of_reports(struct api_view *v, struct trends *t)
{
    const struct api_filter *f = &v->filter;
    struct db_rows *rows =
        api_query(v, f->os ? DAYS_OF_REPORTS(OF_OS) : DAYS_OF_REPORTS(OF_DEVICE),
                  DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                            db_int(f->os), db_int(f->device)));
    while (api_next(v, rows))
        add_day(t, v, db_get_int(rows, 0), db_get_int(rows, 1), db_get_int(rows, 2));
    api_done(v, rows);
}

static void read_trends(struct api_view *v, struct trends *t)
{
    t->blocked = calloc(t->count ? t->count * (size_t)v->filter.days : 1, sizeof *t->blocked);
    if (!t->blocked) {
        api_no_memory(v);
        return;
    }
    if (v->filter.os || v->filter.device) {
        read_days_of_reports(v, t);
        return;
    }
    for (size_t i = 0; i < t->count; i++)
        read_days_of_group(v, t, t->ids[i]);
}

static void write_trend(struct api_view *v, const struct trends *t, size_t group)
{
    api_open(&v->out, "trend", '[');
    for (int64_t i = 0; i < v->filter.days && t->blocked; i++)
        api_int(&v->out, NULL, t->blocked[(int64_t)group * v->filter.days + i]);
    api_shut(&v->out, ']');
}

/* --- a page of groups --- */

static struct db_rows *query_page(struct api_view *v, const struct api_group_query *q)
{
    const struct api_filter *f = &v->filter;
    static const char *const by_sum[] = {
        PAGE_BY_SUM(SUMS_OF_ALL, SCOPE_OF_SUMS, VERSIONS_OF_ALL),
        PAGE_BY_SUM(SUMS_OF_REPORTS(OF_OS), SCOPE_OF_REPORTS, VERSIONS_OF_REPORTS),
        PAGE_BY_SUM(SUMS_OF_REPORTS(OF_DEVICE), SCOPE_OF_REPORTS, VERSIONS_OF_REPORTS),
    };
    static const char *const by_scope[] = {
        PAGE_BY_SCOPE(SUMS_OF_ALL, SCOPE_OF_SUMS, VERSIONS_OF_ALL),
        PAGE_BY_SCOPE(SUMS_OF_REPORTS(OF_OS), SCOPE_OF_REPORTS, VERSIONS_OF_REPORTS),
        PAGE_BY_SCOPE(SUMS_OF_REPORTS(OF_DEVICE), SCOPE_OF_REPORTS, VERSIONS_OF_REPORTS),
    };
    bool scoped = q->sort == SORT_INSTALLS || q->sort == SORT_LAST || q->sort == SORT_LONGEST;
    const char *sql = (scoped ? by_scope : by_sum)[f->os ? 1 : f->device ? 2 : 0];
    return api_query(v, sql,
                     DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                               db_int(f->os), db_int(f->device), db_int(q->status),
                               db_int(q->section), db_int(q->sort), db_text(q->like[0]),
                               db_int(q->after.rank), db_int(q->after.id),
                               db_int(q->after.limit + 1), db_int(f->first_day * 86400000),
                               db_int(q->new_key ? API_GROUPS_NEW : 0), db_text(q->like[1]),
                               db_text(q->like[2]), db_text(q->like[3]), db_text(q->like[4]),
                               db_text(q->like[5]), db_text(q->like[6]), db_text(q->like[7])));
}

/* The members go into a text of their own: trends come from another query. */
static void read_page(struct api_view *v, const struct api_group_query *q,
                      struct api_group_page *page, struct trends *t, struct report_bytes *members)
{
    struct db_rows *rows = query_page(v, q);
    while (api_next(v, rows)) {
        bool is_new = db_get_int(rows, G_LIST) != 0;
        page->total = db_get_int(rows, G_TOTAL);
        if (!is_new && t->count == (size_t)q->after.limit) {
            page->more = true;
            continue;
        }
        if (!is_new) {
            page->rank = db_get_int(rows, G_PLACE);
            page->id = db_get_int(rows, G_ID);
            t->new_from = t->count + 1;
        }
        t->ids[t->count] = db_get_int(rows, G_ID);
        t->starts[t->count++] = members->size;
        out_text(members, "{");
        write_members(members, rows);
    }
    api_done(v, rows);
    t->starts[t->count] = members->size;
}

static void write_list(struct api_view *v, const char *key, const struct trends *t,
                       const struct report_bytes *members, size_t from, size_t to)
{
    api_open(&v->out, key, '[');
    for (size_t i = from; i < to && !members->failed; i++) {
        out_text(&v->out, i > from ? "," : "");
        out_bytes(&v->out, members->data + t->starts[i], t->starts[i + 1] - t->starts[i]);
        write_trend(v, t, i);
        api_shut(&v->out, '}');
    }
    api_shut(&v->out, ']');
}

void api_groups(struct api_view *v, const struct api_group_query *query,
                struct api_group_page *page)
{
    struct trends t = {.count = 0};
    struct report_bytes members = {0};
    *page = (struct api_group_page){.more = false};
    read_page(v, query, page, &t, &members);
    read_trends(v, &t);
    write_list(v, query->key, &t, &members, 0, t.new_from);
    if (query->new_key)
        write_list(v, query->new_key, &t, &members, t.new_from, t.count);
    v->out.failed |= members.failed;
    report_bytes_free(&members);
    free(t.blocked);
}

/* --- systems and devices --- */

void api_shares(struct api_view *v, const char *key, struct db_rows *rows)
{
    api_open(&v->out, key, '[');
    while (api_next(v, rows)) {
        api_open(&v->out, NULL, '{');
        api_text(&v->out, "name", db_get_text(rows, 0));
        api_int(&v->out, "reports", db_get_int(rows, 1));
        api_int(&v->out, "blocked_ns", db_get_int(rows, 2));
        api_shut(&v->out, '}');
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
}

/* --- one group --- */

/* clang-format off */
#define ONE(sums, scope, versions)                                                                 \
    "WITH w AS MATERIALIZED (SELECT id FROM hang_group WHERE id = $6 AND project = $1),"           \
    " x AS MATERIALIZED (" scope("SELECT id FROM w") "), b AS MATERIALIZED (" versions ")"         \
    " SELECT" COLUMNS " COALESCE(s.reports, 0), COALESCE(s.blocked, 0), COALESCE(s.killed, 0)"     \
    " FROM w JOIN hang_group g ON g.id = w.id LEFT JOIN x ON x.id = g.id"                          \
    " LEFT JOIN (" sums ") s ON s.id = g.id"
#define ONE_OF_DAYS                                                                                \
    "SELECT d.group_id AS id, " API_SUM("d.reports") " AS reports,"                                \
    " " API_SUM("d.blocked_ns") " AS blocked, " API_SUM("d.killed") " AS killed FROM group_day d"  \
    " WHERE d.group_id = $6 AND d.day >= $2 AND " NOT_ASKED " AND " API_OF_VERSION("d")            \
    " GROUP BY d.group_id"
#define ONE_OF_REPORTS                                                                             \
    "SELECT r.group_id AS id, COUNT(*) AS reports, " API_SUM("r.duration_ns") " AS blocked,"       \
    " " API_SUM(API_KILLED) " AS killed FROM report r WHERE r.group_id = $6 AND " OF_SCOPE         \
    " GROUP BY r.group_id"
/* clang-format on */

bool api_group_members(struct api_view *v, int64_t group)
{
    const struct api_filter *f = &v->filter;
    struct trends t = {.ids = {group}, .count = 1};
    const char *sql = f->os || f->device
                          ? ONE(ONE_OF_REPORTS, SCOPE_OF_REPORTS, VERSIONS_OF_REPORTS)
                          : ONE(ONE_OF_DAYS, SCOPE_OF_SUMS, VERSIONS_OF_ALL);
    struct db_rows *rows =
        api_query(v, sql,
                  DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                            db_int(f->os), db_int(f->device), db_int(group)));
    bool found = api_next(v, rows);
    if (found)
        write_members(&v->out, rows);
    api_done(v, rows);
    if (found) {
        read_trends(v, &t);
        write_trend(v, &t, 0);
    }
    free(t.blocked);
    return found;
}
