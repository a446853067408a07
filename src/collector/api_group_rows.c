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
/* clang-format on */
#define OF_OS     "r.os = $4 AND ($5 = 0 OR r.device = $5)"
#define OF_DEVICE "r.device = $5 AND $4 = 0"

#define COLUMNS                                                                                    \
    " g.id, g.title, g.leaf, g.section, g.image, g.file, g.line, g.status, g.longest_ns,"          \
    " g.installs, g.first_ms, g.last_ms, fv.version, fv.build, lv.version, lv.build,"              \
    " g.reopened_ms, g.note, g.merged_into, rv.version, rv.build,"
#define VERSIONS                                                                                   \
    " LEFT JOIN version fv ON fv.id = g.first_version"                                             \
    " LEFT JOIN version lv ON lv.id = g.last_version"                                              \
    " LEFT JOIN version rv ON rv.id = g.resolved_version"

/* $6 status, $7 section, $8 sort, $9 pattern, $10 and $11 the cursor, $12 limit; $13 and $14 since
 * when a group is new, and how many of those. Both lists come out of one sum: it is what costs. */
#define PAGE(sums)                                                                                 \
    "WITH s AS MATERIALIZED (" sums "),"                                                           \
    " c AS MATERIALIZED (SELECT s.id, s.reports, s.blocked, s.killed, g.first_ms,"                 \
    " CASE $8 WHEN 1 THEN s.reports WHEN 2 THEN g.installs WHEN 3 THEN g.last_ms"                  \
    " WHEN 4 THEN g.first_ms WHEN 5 THEN g.longest_ns ELSE s.blocked END AS place"                 \
    " FROM s JOIN hang_group g ON g.id = s.id"                                                     \
    " WHERE g.project = $1 AND (g.status = $6 OR ($6 < 0 AND g.status <> 3))"                      \
    " AND ($7 < 0 OR g.section = $7)"                                                              \
    " AND ($9 = '' OR g.search LIKE $9 ESCAPE '\\')),"                                             \
    " p AS MATERIALIZED (SELECT * FROM (SELECT c.id, 0 AS list FROM c"                             \
    " WHERE c.place < $10 OR (c.place = $10 AND c.id < $11)"                                       \
    " ORDER BY c.place DESC, c.id DESC LIMIT $12) old UNION ALL"                                   \
    " SELECT * FROM (SELECT c.id, 1 AS list FROM c WHERE c.first_ms >= $13"                        \
    " ORDER BY c.place DESC, c.id DESC LIMIT $14) young)"                                          \
    " SELECT" COLUMNS " c.reports, c.blocked, c.killed, c.place, p.list, (SELECT COUNT(*) FROM c)" \
    " FROM p JOIN c ON c.id = p.id JOIN hang_group g ON g.id = p.id" VERSIONS                      \
    " ORDER BY p.list, c.place DESC, c.id DESC"

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
       G_FIRST_BUILD,
       G_LAST_VERSION,
       G_LAST_BUILD,
       G_REOPENED,
       G_NOTE,
       G_MERGED,
       G_RESOLVED_VERSION,
       G_RESOLVED_BUILD,
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
    api_int(out, "first_ms", db_get_int(rows, G_FIRST_MS));
    api_int(out, "last_ms", db_get_int(rows, G_LAST_MS));
    api_version(out, "first_version", db_get_text(rows, G_FIRST_VERSION),
                db_get_text(rows, G_FIRST_BUILD));
    api_version(out, "last_version", db_get_text(rows, G_LAST_VERSION),
                db_get_text(rows, G_LAST_BUILD));
    api_bool(out, "reopened", status == 0 && !db_is_null(rows, G_REOPENED));
    api_text(out, "note", db_get_text(rows, G_NOTE));
    if (db_is_null(rows, G_MERGED))
        api_null(out, "merged_into");
    else
        api_int(out, "merged_into", db_get_int(rows, G_MERGED));
    api_version(out, "resolved_version", db_get_text(rows, G_RESOLVED_VERSION),
                db_get_text(rows, G_RESOLVED_BUILD));
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
    const char *sql = f->os       ? PAGE(SUMS_OF_REPORTS(OF_OS))
                      : f->device ? PAGE(SUMS_OF_REPORTS(OF_DEVICE))
                                  : PAGE(SUMS_OF_ALL);
    return api_query(v, sql,
                     DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                               db_int(f->os), db_int(f->device), db_int(q->status),
                               db_int(q->section), db_int(q->sort), db_text(q->like),
                               db_int(q->after.rank), db_int(q->after.id),
                               db_int(q->after.limit + 1), db_int(f->first_day * 86400000),
                               db_int(q->new_key ? API_GROUPS_NEW : 0)));
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

#define ONE(sums)                                                                                  \
    "SELECT" COLUMNS " COALESCE(s.reports, 0), COALESCE(s.blocked, 0), COALESCE(s.killed, 0)"      \
    " FROM hang_group g LEFT JOIN (" sums ") s ON s.id = g.id" VERSIONS                            \
    " WHERE g.id = $6 AND g.project = $1"
#define ONE_OF_DAYS                                                                                \
    "SELECT d.group_id AS id, " API_SUM("d.reports") " AS reports, " API_SUM(                      \
        "d.blocked_ns") " AS blocked, " API_SUM("d.killed") " AS killed FROM group_day d"          \
                                                            " WHERE d.group_id = $6 AND d.day >= " \
                                                            "$2 AND " NOT_ASKED                    \
                                                            " AND " API_OF_VERSION(                \
                                                                "d") " GROUP BY d.group_id"

bool api_group_members(struct api_view *v, int64_t group)
{
    const struct api_filter *f = &v->filter;
    struct trends t = {.ids = {group}, .count = 1};
    const char *sql = f->os       ? ONE(SUMS_OF_REPORTS(OF_OS))
                      : f->device ? ONE(SUMS_OF_REPORTS(OF_DEVICE))
                                  : ONE(ONE_OF_DAYS);
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
