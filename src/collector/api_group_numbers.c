/*
 * Groups are asked for in pieces of MANY: so many ids stand in one statement, and the plan does not
 * depend on how many there are. report_scope and the key of group_day have the rows of a group in
 * the order of days and versions, so that both databases sum them as they come.
 */
#include "collector/api_group_numbers.h"

#include "collector/versions.h"

/* clang-format off */
enum { MANY = 16 };
#define IDS "($6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"

#define CELLS_OF_DAYS                                                                              \
    "SELECT d.group_id, d.day, d.version, d.reports, d.blocked_ns, d.killed, d.longest_ns,"        \
    " d.first_ms, d.last_ms FROM group_day d WHERE d.group_id IN " IDS " AND " API_OF_DAYS
#define CELLS_OF_REPORTS                                                                           \
    "SELECT r.group_id, r.day, r.version, COUNT(*) AS reports,"                                    \
    " " API_SUM("r.duration_ns") " AS blocked_ns, " API_SUM(API_KILLED) " AS killed,"              \
    " MAX(r.duration_ns) AS longest_ns, MIN(r.started_ms) AS first_ms,"                            \
    " MAX(r.started_ms) AS last_ms FROM report r WHERE r.group_id IN " IDS " AND " API_OF_SCOPE    \
    " GROUP BY r.group_id, r.day, r.version"
/* Each group's cells stand together, in the order of versions. */
#define IN_ORDER(cells)                                                                            \
    "SELECT c.group_id, c.day, c.reports, c.blocked_ns, c.killed, c.longest_ns, c.first_ms,"       \
    " c.last_ms, v.id, " VERSION_LABEL("v") " FROM (" cells ") c"                                  \
    " JOIN version v ON v.id = c.version ORDER BY c.group_id, v.sort_key, v.id"

/* Of days alone an installation is counted once by its last day: the window ends today. */
#define INSTALLS_OF_DAYS                                                                           \
    "SELECT i.group_id, COUNT(*) FROM group_install i WHERE i.group_id IN " IDS                    \
    " AND i.last_day >= $2 AND $1 > 0 AND $3 = '' AND $4 = 0 AND $5 = 0 GROUP BY i.group_id"
#define INSTALLS_OF_REPORTS                                                                        \
    "SELECT r.group_id, COUNT(DISTINCT r.install) FROM report r WHERE r.group_id IN " IDS          \
    " AND " API_OF_SCOPE " GROUP BY r.group_id"
/* clang-format on */

struct group_numbers *api_group_numbers_new(struct api_view *v, const int64_t *groups, size_t count)
{
    size_t days = (size_t)v->filter.days;
    struct group_numbers *numbers = arena_take_many(&v->r->arena, count, sizeof *numbers);
    int64_t *trends = arena_take_many(&v->r->arena, count * days, sizeof *trends);
    if (!numbers || !trends) {
        api_no_memory(v);
        return NULL;
    }
    memset(trends, 0, count * days * sizeof *trends);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (struct group_numbers){.group = groups[i], .trend = trends + i * days};
    return numbers;
}

static struct db_rows *query_many(struct api_view *v, const char *sql,
                                  const struct group_numbers *numbers, size_t count)
{
    const struct api_filter *f = &v->filter;
    struct db_value values[5 + MANY] = {db_int(v->project), db_int(f->first_day),
                                        db_text(f->version), db_int(f->os), db_int(f->device)};
    for (size_t i = 0; i < MANY; i++) /* 0 is no group's */
        values[5 + i] = db_int(i < count ? numbers[i].group : 0);
    return api_query(v, sql, values, 5 + MANY);
}

static const char *keep_text(struct api_view *v, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(&v->r->arena, size);
    if (!copy)
        api_no_memory(v);
    return copy ? memcpy(copy, text, size) : NULL;
}

static void add_cell(struct group_numbers *n, const struct api_filter *f,
                     const struct db_rows *rows)
{
    int64_t day = db_get_int(rows, 1) - f->first_day;
    int64_t longest = db_get_int(rows, 5), first = db_get_int(rows, 6), last = db_get_int(rows, 7);
    n->first_ms = n->reports && n->first_ms < first ? n->first_ms : first;
    n->last_ms = n->reports && n->last_ms > last ? n->last_ms : last;
    n->longest_ns = n->longest_ns > longest ? n->longest_ns : longest;
    n->reports += db_get_int(rows, 2);
    n->blocked_ns += db_get_int(rows, 3);
    n->killed += db_get_int(rows, 4);
    if (day >= 0 && day < f->days)
        n->trend[day] += db_get_int(rows, 3);
}

static void read_cells(struct api_view *v, struct group_numbers *numbers, size_t count)
{
    bool of_days = !v->filter.os && !v->filter.device;
    struct db_rows *rows = query_many(
        v, of_days ? IN_ORDER(CELLS_OF_DAYS) : IN_ORDER(CELLS_OF_REPORTS), numbers, count);
    int64_t version = 0;
    const char *label = NULL; /* of `version` */
    while (api_next(v, rows)) {
        if (!label || db_get_int(rows, 8) != version)
            label = keep_text(v, db_get_text(rows, 9));
        version = db_get_int(rows, 8);
        for (size_t i = 0; i < count; i++) {
            struct group_numbers *n = &numbers[i];
            if (n->group != db_get_int(rows, 0))
                continue;
            n->first_version = n->first_version ? n->first_version : label;
            n->last_version = label;
            add_cell(n, &v->filter, rows);
        }
    }
    api_done(v, rows);
}

static void read_installs(struct api_view *v, struct group_numbers *numbers, size_t count)
{
    const struct api_filter *f = &v->filter;
    bool of_days = !f->os && !f->device && !*f->version;
    struct db_rows *rows =
        query_many(v, of_days ? INSTALLS_OF_DAYS : INSTALLS_OF_REPORTS, numbers, count);
    while (api_next(v, rows))
        for (size_t i = 0; i < count; i++)
            if (numbers[i].group == db_get_int(rows, 0))
                numbers[i].installs = db_get_int(rows, 1);
    api_done(v, rows);
}

void api_group_numbers_read(struct api_view *v, struct group_numbers *numbers, size_t count)
{
    for (size_t i = 0; i < count; i += MANY) {
        size_t many = count - i < MANY ? count - i : MANY;
        read_cells(v, numbers + i, many);
        read_installs(v, numbers + i, many);
    }
}
