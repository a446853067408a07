/*
 * GROUPs out of the database, in two steps: which ones, by what they are sorted by, and then the
 * numbers of those that are shown (api_group_numbers.h).
 *
 * With neither system nor device what they are sorted by is summed from group_day, else from
 * report_scope, an index of `report` that holds all that it takes. Both are read group by group, in
 * the order in which they are kept: "group_id IN" says so, where a join would have them sorted.
 */
#include "collector/api_groups.h"

#include "collector/api_group_numbers.h"

/* $1 project, $2 first day, $3 version, $4 os, $5 device. */
/* clang-format off */
#define BY_DAYS(value)                                                                             \
    "SELECT d.group_id AS id, " value " AS value FROM group_day d"                                 \
    " WHERE d.group_id IN " API_GROUPS_OF_PROJECT " AND " API_OF_DAYS " GROUP BY d.group_id"
#define BY_REPORTS(value)                                                                          \
    "SELECT r.group_id AS id, " value " AS value FROM report r"                                    \
    " WHERE r.group_id IN " API_GROUPS_OF_PROJECT " AND " API_OF_SCOPE " GROUP BY r.group_id"
/* Groups whose reports tell of no installation are there, too. */
#define BY_INSTALLS                                                                                \
    "SELECT e.id AS id, MAX(e.value) AS value FROM (" BY_DAYS("0") " UNION ALL"                    \
    " SELECT i.group_id, COUNT(*) FROM group_install i"                                            \
    " WHERE i.group_id IN " API_GROUPS_OF_PROJECT " AND i.last_day >= $2"                          \
    " GROUP BY i.group_id) e GROUP BY e.id"

/* What of a row is not a number that a filter changes. */
#define COLUMNS                                                                                    \
    " g.id, g.title, g.leaf, g.section, g.image, g.file, g.line, g.status, g.first_ms,"            \
    " g.reopened_ms, g.note, g.merged_into, g.fixed_version, g.fixed_build, g.fixed_after"

/* What a word is looked for in: the functions and files of the stack, and what the list shows. */
#define FOUND(pattern)                                                                             \
    "(" pattern " = '' OR g.search LIKE " pattern " ESCAPE '\\'"                                   \
    " OR LOWER(g.title || ' ' || g.leaf || ' ' || g.image || ' ' || COALESCE(g.file, '') || ':'"   \
    " || CAST(g.line AS TEXT)) LIKE " pattern " ESCAPE '\\')"

#define FOUND_ALL                                                                                  \
    FOUND("$8") " AND " FOUND("$9") " AND " FOUND("$15") " AND " FOUND("$16") " AND "              \
    FOUND("$17") " AND " FOUND("$18") " AND " FOUND("$19") " AND " FOUND("$20")

/* $6 status, $7 section, $8, $9 and $15 to $20 patterns, $10 and $11 the cursor, $12 limit, $13 and
 * $14 since when a group is new, and how many of those. Both lists come out of one
 * sum: it is what costs. */
#define PAGE(sums, place)                                                                          \
    "WITH s AS MATERIALIZED (" sums "),"                                                           \
    " c AS MATERIALIZED (SELECT s.id, g.first_ms, " place " AS place"                              \
    " FROM s JOIN hang_group g ON g.id = s.id"                                                     \
    " WHERE g.project = $1 AND (g.status = $6 OR ($6 < 0 AND g.status <> 3))"                      \
    " AND ($7 < 0 OR g.section = $7) AND " FOUND_ALL "),"                                          \
    " p AS MATERIALIZED (SELECT * FROM (SELECT c.id, c.place, 0 AS list FROM c"                    \
    " WHERE c.place < $10 OR (c.place = $10 AND c.id < $11)"                                       \
    " ORDER BY c.place DESC, c.id DESC LIMIT $12) old UNION ALL"                                   \
    " SELECT * FROM (SELECT c.id, c.place, 1 AS list FROM c WHERE c.first_ms >= $13"               \
    " ORDER BY c.place DESC, c.id DESC LIMIT $14) young)"                                          \
    " SELECT" COLUMNS ", p.place, p.list, (SELECT COUNT(*) FROM c)"                                \
    " FROM p JOIN hang_group g ON g.id = p.id ORDER BY p.list, p.place DESC, p.id DESC"
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
       G_SINCE_MS,
       G_REOPENED,
       G_NOTE,
       G_MERGED,
       G_FIXED_VERSION,
       G_FIXED_BUILD,
       G_FIXED_AFTER,
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

static void ms_or_null(struct report_bytes *out, const char *key, const struct group_numbers *n,
                       int64_t ms)
{
    if (n->reports)
        api_int(out, key, ms);
    else
        api_null(out, key);
}

static void write_row(struct report_bytes *out, const struct db_rows *rows)
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
    api_int(out, "since_ms", db_get_int(rows, G_SINCE_MS));
    api_bool(out, "reopened", status == 0 && !db_is_null(rows, G_REOPENED));
    api_text(out, "note", db_get_text(rows, G_NOTE));
    or_null(out, "merged_into", rows, G_MERGED);
    api_version(out, "resolved_version", db_get_text(rows, G_FIXED_VERSION),
                db_get_text(rows, G_FIXED_BUILD));
    api_bool(out, "resolved_after", db_get_int(rows, G_FIXED_AFTER) != 0);
}

static void write_numbers(struct api_view *v, const struct group_numbers *n)
{
    struct report_bytes *out = &v->out;
    api_int(out, "reports", n->reports);
    api_int(out, "blocked_ns", n->blocked_ns);
    api_int(out, "killed", n->killed);
    api_int(out, "longest_ns", n->longest_ns);
    api_int(out, "installs", n->installs);
    ms_or_null(out, "first_ms", n, n->first_ms);
    ms_or_null(out, "last_ms", n, n->last_ms);
    api_text(out, "first_version", n->first_version);
    api_text(out, "last_version", n->last_version);
    api_open(out, "trend", '[');
    for (int64_t i = 0; i < v->filter.days; i++)
        api_int(out, NULL, n->trend[i]);
    api_shut(out, ']');
}

/* --- a page of groups --- */

enum { MOST = API_LIMIT_MAX + API_GROUPS_NEW };

struct rows { /* of one page */
    int64_t ids[MOST];
    size_t starts[MOST + 1]; /* where each group's members begin */
    size_t count, new_from;  /* groups from `new_from` on are those of the second list */
    struct report_bytes members;
};

static const char *page_sql(const struct api_view *v, int sort)
{
    static const char *const of_days[] = {
        [SORT_BLOCKED] = PAGE(BY_DAYS(API_SUM("d.blocked_ns")), "s.value"),
        [SORT_REPORTS] = PAGE(BY_DAYS(API_SUM("d.reports")), "s.value"),
        [SORT_INSTALLS] = PAGE(BY_INSTALLS, "s.value"),
        [SORT_LAST] = PAGE(BY_DAYS("MAX(d.last_ms)"), "s.value"),
        [SORT_FIRST] = PAGE(BY_DAYS("0"), "g.first_ms"),
        [SORT_LONGEST] = PAGE(BY_DAYS("MAX(d.longest_ns)"), "s.value"),
    };
    static const char *const of_reports[] = {
        [SORT_BLOCKED] = PAGE(BY_REPORTS(API_SUM("r.duration_ns")), "s.value"),
        [SORT_REPORTS] = PAGE(BY_REPORTS("COUNT(*)"), "s.value"),
        [SORT_INSTALLS] = PAGE(BY_REPORTS("COUNT(DISTINCT r.install)"), "s.value"),
        [SORT_LAST] = PAGE(BY_REPORTS("MAX(r.started_ms)"), "s.value"),
        [SORT_FIRST] = PAGE(BY_REPORTS("0"), "g.first_ms"),
        [SORT_LONGEST] = PAGE(BY_REPORTS("MAX(r.duration_ns)"), "s.value"),
    };
    const struct api_filter *f = &v->filter;
    bool by_installs_of_version = sort == SORT_INSTALLS && *f->version; /* no sum knows those */
    return f->os || f->device || by_installs_of_version ? of_reports[sort] : of_days[sort];
}

static struct db_rows *query_page(struct api_view *v, const struct api_group_query *q)
{
    const struct api_filter *f = &v->filter;
    return api_query(v, page_sql(v, q->sort),
                     DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                               db_int(f->os), db_int(f->device), db_int(q->status),
                               db_int(q->section), db_text(q->like[0]), db_text(q->like[1]),
                               db_int(q->after.rank), db_int(q->after.id),
                               db_int(q->after.limit + 1), db_int(f->first_day * 86400000),
                               db_int(q->new_key ? API_GROUPS_NEW : 0), db_text(q->like[2]),
                               db_text(q->like[3]), db_text(q->like[4]), db_text(q->like[5]),
                               db_text(q->like[6]), db_text(q->like[7])));
}

/* The members go into a text of their own: numbers come from other queries. */
static void read_page(struct api_view *v, const struct api_group_query *q,
                      struct api_group_page *page, struct rows *t)
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
        t->starts[t->count++] = t->members.size;
        out_text(&t->members, "{");
        write_row(&t->members, rows);
    }
    api_done(v, rows);
    t->starts[t->count] = t->members.size;
}

static void write_list(struct api_view *v, const char *key, const struct rows *t,
                       const struct group_numbers *numbers, size_t from, size_t to)
{
    api_open(&v->out, key, '[');
    for (size_t i = from; i < to && !t->members.failed; i++) {
        out_text(&v->out, i > from ? "," : "");
        out_bytes(&v->out, t->members.data + t->starts[i], t->starts[i + 1] - t->starts[i]);
        write_numbers(v, &numbers[i]);
        api_shut(&v->out, '}');
    }
    api_shut(&v->out, ']');
}

void api_groups(struct api_view *v, const struct api_group_query *query,
                struct api_group_page *page)
{
    struct rows t = {.count = 0};
    *page = (struct api_group_page){.more = false};
    read_page(v, query, page, &t);
    struct group_numbers *numbers = api_group_numbers_new(v, t.ids, t.count);
    if (numbers) {
        api_group_numbers_read(v, numbers, t.count);
        write_list(v, query->key, &t, numbers, 0, t.new_from);
        if (query->new_key)
            write_list(v, query->new_key, &t, numbers, t.new_from, t.count);
    }
    v->out.failed |= t.members.failed;
    report_bytes_free(&t.members);
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

bool api_group_members(struct api_view *v, int64_t group)
{
    struct db_rows *rows =
        api_query(v, "SELECT" COLUMNS " FROM hang_group g WHERE g.id = $1 AND g.project = $2",
                  DB_VALUES(db_int(group), db_int(v->project)));
    bool found = api_next(v, rows);
    if (found)
        write_row(&v->out, rows);
    api_done(v, rows);
    struct group_numbers *numbers = found ? api_group_numbers_new(v, &group, 1) : NULL;
    if (numbers) {
        api_group_numbers_read(v, numbers, 1);
        write_numbers(v, numbers);
    }
    return found;
}
