/* The sums of groups: group_sums.h. One list holds those of all four tables, sorted by table and
 * key, each key once. */
#include "collector/group_sums.h"
#include "base/array.h"
#include "base/failure.h"
#include "collector/db_many.h"
#include "report/fwr.h"

#include <stdlib.h>

enum table { GROUP_DAY, GROUP_TERM, GROUP_INSTALL /* before HANG_GROUP */, HANG_GROUP, TABLES };
enum {
    REPORTS,
    BLOCKED,
    KILLED,
    INSTALLS,
    LONGEST,
    FIRST_MS,
    LAST_MS,
    FIRST_VERSION,
    LAST_VERSION,
    LAST_DAY
};
enum { VALUES = 10, ADDED = 4 /* values that are added */ };

struct group_sum {
    enum table table;
    uint8_t id_size;
    uint8_t id[16];              /* of GROUP_INSTALL */
    int64_t group, day, version; /* day: the term, of GROUP_TERM */
    int64_t value[VALUES];
};

/* What changes nothing. */
static const int64_t nothing[VALUES] = {
    [LONGEST] = 0,
    [FIRST_MS] = INT64_MAX,
    [LAST_MS] = INT64_MIN,
    [FIRST_VERSION] = INT64_MAX,
    [LAST_VERSION] = INT64_MIN,
    [LAST_DAY] = INT64_MIN,
};

struct group_report group_report_of(const struct db_rows *rows, int at)
{
    struct span install = db_get_bytes(rows, at + 5);
    struct group_report r = {.group = db_get_int(rows, at),
                             .day = db_get_int(rows, at + 1),
                             .version = db_get_int(rows, at + 2),
                             .os = db_get_int(rows, at + 3),
                             .device = db_get_int(rows, at + 4),
                             .duration_ns = db_get_int(rows, at + 6),
                             .killed = db_get_int(rows, at + 7) == FWR_KILLED,
                             .started_ms = db_get_int(rows, at + 8),
                             .has_install = !db_is_null(rows, at + 5)};
    r.install_size = (uint8_t)(install.size < sizeof r.install ? install.size : sizeof r.install);
    if (r.install_size)
        memcpy(r.install, install.data, r.install_size);
    return r;
}

/* ---- adding up ---- */

static struct group_sum *put(struct group_sums *s, enum table table, int64_t group)
{
    if (!array_room(&s->sums, &s->capacity, s->count, sizeof *s->sums)) {
        s->failed = true;
        return NULL;
    }
    struct group_sum *sum = &s->sums[s->count++];
    *sum = (struct group_sum){.table = table, .group = group};
    memcpy(sum->value, nothing, sizeof nothing);
    return sum;
}

static void put_term(struct group_sums *s, const struct group_report *r, int64_t term, int sign)
{
    struct group_sum *sum = term ? put(s, GROUP_TERM, r->group) : NULL;
    if (!sum)
        return;
    sum->day = term;
    sum->value[REPORTS] = sign;
    sum->value[BLOCKED] = sign * r->duration_ns;
}

static void put_group(struct group_sums *s, const struct group_report *r, int sign)
{
    struct group_sum *sum = put(s, HANG_GROUP, r->group);
    if (!sum)
        return;
    sum->value[REPORTS] = sign;
    sum->value[BLOCKED] = sign * r->duration_ns;
    sum->value[KILLED] = sign * r->killed;
    if (sign < 0)
        return;
    sum->value[LONGEST] = r->duration_ns;
    sum->value[FIRST_MS] = sum->value[LAST_MS] = r->started_ms;
    sum->value[FIRST_VERSION] = sum->value[LAST_VERSION] = r->version;
}

fw_error group_sums_add(struct group_sums *s, const struct group_report *r, int sign)
{
    if (!r->group)
        return FW_OK;
    struct group_sum *day = put(s, GROUP_DAY, r->group);
    if (day) {
        day->day = r->day;
        day->version = r->version;
        day->value[REPORTS] = sign;
        day->value[BLOCKED] = sign * r->duration_ns;
        day->value[KILLED] = sign * r->killed;
        if (sign > 0) {
            day->value[LONGEST] = r->duration_ns;
            day->value[FIRST_MS] = day->value[LAST_MS] = r->started_ms;
        }
    }
    put_term(s, r, r->os, sign);
    put_term(s, r, r->device, sign);
    struct group_sum *install = r->has_install ? put(s, GROUP_INSTALL, r->group) : NULL;
    if (install) {
        install->id_size = r->install_size;
        memcpy(install->id, r->install, r->install_size);
        install->value[REPORTS] = sign;
        install->value[LAST_DAY] = sign > 0 ? r->day : INT64_MAX; /* to be found anew */
    }
    put_group(s, r, sign);
    return s->failed ? FW_ERR_MEMORY : FW_OK;
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int order_keys(const struct group_sum *a, const struct group_sum *b)
{
    int by = order(a->table, b->table);
    by = by ? by : order(a->group, b->group);
    by = by ? by : order(a->day, b->day);
    by = by ? by : order(a->version, b->version);
    by = by ? by : memcmp(a->id, b->id, sizeof a->id);
    return by ? by : order(a->id_size, b->id_size);
}

static int by_keys(const void *a, const void *b)
{
    return order_keys(a, b);
}

static int64_t extreme(int place, int64_t a, int64_t b)
{
    bool least = place == FIRST_MS || place == FIRST_VERSION;
    return (a < b) == least ? a : b;
}

static void merge_into(struct group_sum *to, const struct group_sum *from)
{
    for (int i = 0; i < VALUES; i++)
        to->value[i] =
            i < ADDED ? to->value[i] + from->value[i] : extreme(i, to->value[i], from->value[i]);
}

/* Sorted, and equal keys made one. */
static void tidy(struct group_sums *s)
{
    size_t kept = 0;
    if (s->count)
        qsort(s->sums, s->count, sizeof *s->sums, by_keys);
    for (size_t i = 1; i < s->count; i++) {
        if (order_keys(&s->sums[kept], &s->sums[i]) == 0)
            merge_into(&s->sums[kept], &s->sums[i]);
        else
            s->sums[++kept] = s->sums[i];
    }
    s->count = s->count ? kept + 1 : 0;
}

/* ---- writing ---- */

struct writing {
    struct group_sums *s;
    struct db_conn *conn;
    struct fw_failure *why;
    enum table table;
    struct group_sum *empty; /* keys of rows that nothing is left in */
    size_t empty_count, empty_capacity;
};

#define DAY_CHANGES                                                                                \
    " ON CONFLICT (group_id, day, version) DO UPDATE"                                              \
    " SET reports = group_day.reports + excluded.reports,"                                         \
    " blocked_ns = group_day.blocked_ns + excluded.blocked_ns,"                                    \
    " killed = group_day.killed + excluded.killed,"                                                \
    " longest_ns = GREATEST(group_day.longest_ns, excluded.longest_ns),"                           \
    " first_ms = LEAST(group_day.first_ms, excluded.first_ms),"                                    \
    " last_ms = GREATEST(group_day.last_ms, excluded.last_ms)"

static const struct {
    size_t columns;
    const char *head, *tail;
    const char *returning; /* the tail where rows may become empty */
    const char *remove;    /* an empty row */
} tables[TABLES] = {
    [GROUP_DAY] = {9,
                   "INSERT INTO group_day (group_id, day, version, reports, blocked_ns, killed,"
                   " longest_ns, first_ms, last_ms) VALUES ",
                   DAY_CHANGES, DAY_CHANGES " RETURNING reports, group_id, day, version",
                   "DELETE FROM group_day WHERE group_id = $1 AND day = $2 AND version = $3"},
    [GROUP_TERM] = {4, "INSERT INTO group_term (group_id, term, reports, blocked_ns) VALUES ",
                    " ON CONFLICT (group_id, term) DO UPDATE"
                    " SET reports = group_term.reports + excluded.reports,"
                    " blocked_ns = group_term.blocked_ns + excluded.blocked_ns",
                    " ON CONFLICT (group_id, term) DO UPDATE"
                    " SET reports = group_term.reports + excluded.reports,"
                    " blocked_ns = group_term.blocked_ns + excluded.blocked_ns"
                    " RETURNING reports, group_id, term",
                    "DELETE FROM group_term WHERE group_id = $1 AND term = $2"},
    [GROUP_INSTALL] = {4,
                       "INSERT INTO group_install (group_id, install, reports, last_day) VALUES ",
                       NULL,
                       " ON CONFLICT (group_id, install) DO UPDATE"
                       " SET reports = group_install.reports + excluded.reports,"
                       " last_day = CASE WHEN excluded.last_day >= 0"
                       " THEN GREATEST(group_install.last_day, excluded.last_day)"
                       " WHEN group_install.reports + excluded.reports = 0 THEN 0"
                       " ELSE COALESCE((SELECT MAX(r.day) FROM report r"
                       " WHERE r.install = excluded.install"
                       " AND r.group_id = excluded.group_id), 0) END"
                       " RETURNING reports, group_id, install",
                       "DELETE FROM group_install WHERE group_id = $1 AND install = $2"},
    /* While nothing is in a group its extremes mean nothing. */
    [HANG_GROUP] =
        {10,
         "UPDATE hang_group SET reports = reports + v.column2,"
         " blocked_ns = blocked_ns + v.column3, killed = killed + v.column4,"
         " installs = installs + v.column5,"
         " longest_ns = CASE WHEN reports = 0 THEN v.column6"
         " ELSE GREATEST(longest_ns, v.column6) END,"
         " first_ms = CASE WHEN reports = 0 THEN v.column7 ELSE LEAST(first_ms, v.column7) END,"
         " last_ms = CASE WHEN reports = 0 THEN v.column8 ELSE GREATEST(last_ms, v.column8) END,"
         " first_version = CASE WHEN reports = 0 THEN v.column9"
         " ELSE LEAST(first_version, v.column9) END,"
         " last_version = CASE WHEN reports = 0 THEN v.column10"
         " ELSE GREATEST(last_version, v.column10) END"
         " FROM (VALUES ",
         NULL,
         ") AS v WHERE hang_group.id = v.column1 AND hang_group.id IN ({first}) RETURNING id, "
         "status, fixed_version",
         NULL},
};

static bool changes(const struct group_sum *sum)
{
    for (int i = 0; i < VALUES; i++)
        if (sum->value[i] != nothing[i])
            return true;
    return false;
}

static size_t row_of(const struct group_sum *sum, struct db_value row[1 + VALUES])
{
    const int64_t *v = sum->value;
    row[0] = db_int(sum->group);
    switch (sum->table) {
    case GROUP_DAY:
        row[1] = db_int(sum->day);
        row[2] = db_int(sum->version);
        row[3] = db_int(v[REPORTS]);
        row[4] = db_int(v[BLOCKED]);
        row[5] = db_int(v[KILLED]);
        row[6] = db_int(v[LONGEST]);
        row[7] = db_int(v[FIRST_MS]);
        row[8] = db_int(v[LAST_MS]);
        break;
    case GROUP_TERM:
        row[1] = db_int(sum->day);
        row[2] = db_int(v[REPORTS]);
        row[3] = db_int(v[BLOCKED]);
        break;
    case GROUP_INSTALL:
        row[1] = db_bytes(sum->id, sum->id_size);
        row[2] = db_int(v[REPORTS]);
        row[3] = db_int(v[LAST_DAY] < INT64_MAX ? v[LAST_DAY] : -1);
        break;
    default:
        for (int i = 0; i < LAST_DAY; i++)
            row[1 + i] = db_int(v[i]);
    }
    return tables[sum->table].columns;
}

static struct group_sum key_of(const struct writing *w, const struct db_rows *rows)
{
    struct group_sum key = {.table = w->table, .group = db_get_int(rows, 1)};
    if (w->table == GROUP_INSTALL) {
        struct span id = db_get_bytes(rows, 2);
        key.id_size = (uint8_t)(id.size < sizeof key.id ? id.size : sizeof key.id);
        if (key.id_size)
            memcpy(key.id, id.data, key.id_size);
        return key;
    }
    key.day = db_get_int(rows, 2);
    if (w->table == GROUP_DAY)
        key.version = db_get_int(rows, 3);
    return key;
}

static void note_resolved(struct group_sums *s, const struct db_rows *rows)
{
    if (db_get_int(rows, 1) != 2 || db_is_null(rows, 2))
        return;
    if (array_room(&s->resolved, &s->resolved_capacity, s->resolved_count, sizeof *s->resolved))
        s->resolved[s->resolved_count++] = db_get_int(rows, 0);
    else
        s->failed = true;
}

/* Rows as they are now: an installation came or went, or nothing is left of a row. */
static void returned(void *context, const struct db_rows *rows)
{
    struct writing *w = context;
    struct group_sums *s = w->s;
    if (w->table == HANG_GROUP) {
        note_resolved(s, rows);
        return;
    }
    struct group_sum key = key_of(w, rows);
    int64_t reports = db_get_int(rows, 0);
    if (reports == 0 && array_room(&w->empty, &w->empty_capacity, w->empty_count, sizeof *w->empty))
        w->empty[w->empty_count++] = key;
    else if (reports == 0)
        s->failed = true;
    if (w->table != GROUP_INSTALL)
        return;
    const struct group_sum *sum = bsearch(&key, s->sums, s->count, sizeof key, by_keys);
    if (!sum || (reports != 0 && reports != sum->value[REPORTS]))
        return;
    struct group_sum group = {.table = HANG_GROUP, .group = key.group};
    struct group_sum *of = bsearch(&group, s->sums, s->count, sizeof group, by_keys);
    if (of)
        of->value[INSTALLS] += reports ? 1 : -1;
}

static fw_error remove_empty(struct writing *w)
{
    fw_error e = w->s->failed ? failure_say(w->why, FW_ERR_MEMORY, 0, "out of memory") : FW_OK;
    for (size_t i = 0; i < w->empty_count && !e; i++) {
        const struct group_sum *key = &w->empty[i];
        const struct db_value values[] = {
            db_int(key->group),
            key->table == GROUP_INSTALL ? db_bytes(key->id, key->id_size) : db_int(key->day),
            db_int(key->version)};
        e = db_run(w->conn, w->why, tables[key->table].remove, values,
                   key->table == GROUP_DAY ? 3 : 2);
    }
    w->empty_count = 0;
    return e;
}

/* Those of one table; `fewer`: those that something is taken from, whose rows are looked at. */
static fw_error write_table(struct writing *w, enum table table, bool fewer)
{
    bool all = !tables[table].tail;
    struct db_many many = {.conn = w->conn,
                           .why = w->why,
                           .head = tables[table].head,
                           .tail = fewer || all ? tables[table].returning : tables[table].tail,
                           .columns = tables[table].columns,
                           .returned = fewer || all ? returned : NULL,
                           .context = w};
    fw_error e = FW_OK;
    w->table = table;
    for (size_t i = 0; i < w->s->count && !e; i++) {
        const struct group_sum *sum = &w->s->sums[i];
        struct db_value row[1 + VALUES];
        if (sum->table != table || !changes(sum) || (!all && (sum->value[REPORTS] < 0) != fewer))
            continue;
        row_of(sum, row);
        e = db_many_add(&many, row);
    }
    return e ? e : db_many_end(&many);
}

fw_error group_sums_write(struct group_sums *s, struct db_conn *conn, struct fw_failure *why)
{
    struct writing w = {.s = s, .conn = conn, .why = why};
    fw_error e = s->failed ? failure_say(why, FW_ERR_MEMORY, 0, "out of memory") : FW_OK;
    s->resolved_count = 0;
    tidy(s);
    for (int table = 0; table < TABLES && !e; table++) {
        e = write_table(&w, (enum table)table, false);
        if (!e && tables[table].tail)
            e = write_table(&w, (enum table)table, true);
        e = e ? e : remove_empty(&w);
    }
    free(w.empty);
    s->count = 0;
    s->failed = false;
    return e;
}

void group_sums_free(struct group_sums *s)
{
    free(s->sums);
    free(s->resolved);
    *s = (struct group_sums){0};
}
