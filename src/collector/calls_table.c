#include "collector/calls_table.h"

#include "base/array.h"
#include "base/utf8.h"
#include "collector/intake_limits.h"
#include "collector/versions.h"

#include <stdlib.h>
#include <string.h>

/* --- patterns --- */

bool calls_fits(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL; /* the last *, and where its text may end */
    while (*text) {
        size_t step = utf8_length(text);
        step = step ? step : 1;
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?') {
            pattern++;
            text += step;
        } else if (*pattern && *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* --- reading --- */

enum part { PART_ALL, PART_BEFORE, PART_AFTER };

struct reading {
    struct api_view *v;
    struct calls_table *t;
    enum part part;
    const char *version; /* "": all */
    const char *base;    /* PART_AFTER: the version that it is compared with; else "" */
    int64_t first_day;
    struct pending *pending;
    size_t pending_count, pending_capacity;
};

static const char *keep(struct reading *r, const char *text)
{
    size_t size = text && *text ? strlen(text) + 1 : 0;
    char *copy = size ? arena_take(&r->t->arena, size) : NULL;
    if (size && !copy)
        api_no_memory(r->v);
    return copy ? memcpy(copy, text, size) : NULL;
}

static void put(struct reading *r, struct calls_row row)
{
    struct calls_table *t = r->t;
    if (!array_room(&t->rows, &t->capacity, t->count, sizeof row)) {
        api_no_memory(r->v);
        return;
    }
    row.before = r->part == PART_BEFORE ? row.count : 0;
    row.after = r->part == PART_AFTER ? row.count : 0;
    t->rows[t->count++] = row;
}

/* Whether no build of the version `base`, a parameter, has calls of the place `s`. Places of an
 * image without a build id may be others in each build. $1 project. */
#define PLACE_IS_NEW(base)                                                                         \
    "CASE WHEN EXISTS (SELECT 1 FROM project_image i WHERE i.image = s.image AND i.project = $1"   \
    " AND LENGTH(i.debug_id) > 0) AND EXISTS (SELECT 1 FROM call_day b JOIN version w"             \
    " ON w.id = b.version WHERE b.site = s.id AND w.project = $1 AND (w.version = " base           \
    " OR w.version || ' (' || w.build || ')' = " base ")) THEN 0 ELSE 1 END"
/* $1 project, $2 first day, $3 version. */
/* clang-format off */
#define CALLER_ROWS(sums)                                                                          \
    "SELECT t.text, c.image, c.function, c.file, c.line, s.calls, s.first_day, s.last_day,"        \
    " " VERSION_LABEL("v") " FROM (" sums ") s JOIN call_caller c ON c.id = s.id"                  \
    " JOIN term t ON t.id = c.api LEFT JOIN version v ON v.id = c.first_version"
#define SUMS_OF_DAYS                                                                               \
    "SELECT d.caller AS id, " API_SUM("d.count") " AS calls, MIN(d.day) AS first_day,"             \
    " MAX(d.day) AS last_day FROM call_caller_day d WHERE d.project = $1 AND d.day >= $2"          \
    " AND $3 = '' GROUP BY d.caller"
/* No OR here: with one, SQLite reads the rows of all versions. */
#define SUMS_OF_VERSION                                                                            \
    "SELECT s.caller AS id, " API_SUM("d.count") " AS calls, MIN(d.day) AS first_day,"             \
    " MAX(d.day) AS last_day FROM call_day d CROSS JOIN call_site s WHERE d.project = $1"          \
    " AND d.version IN " API_VERSIONS_NAMED " AND d.day >= $2 AND s.id = d.site"                   \
    " AND s.caller IS NOT NULL AND (s.todo & 1) = 0 GROUP BY s.caller"
/* Places without a name, or whose name may be another by now; $4 so many; $5 base. */
static const char pending_sql[] =
    "SELECT t.text, s.image, s.site_offset, s.kind, c.image, c.function, p.calls, p.first_day,"    \
    " p.last_day, " VERSION_LABEL("v") ", (SELECT " VERSION_LABEL("f") " FROM call_day d"              
    " JOIN version f ON f.id = d.version WHERE d.site = p.site ORDER BY f.sort_key, f.id LIMIT 1),"
    " " PLACE_IS_NEW("$5")
    " FROM (SELECT d.site AS site, " API_SUM("d.count") " AS calls,"                    \
    " MIN(d.day) AS first_day, MAX(d.day) AS last_day FROM (SELECT s.id FROM call_site s"          \
    " WHERE s.todo <> 0 AND (s.todo & 1) = 1 AND s.project = $1 ORDER BY s.id LIMIT $4) w"         \
    " CROSS JOIN call_day d WHERE d.site = w.id AND d.project = $1 AND d.day >= $2"                   \
    " AND " API_OF_VERSION("d") " GROUP BY d.site) p"                                              \
    " JOIN call_site s ON s.id = p.site JOIN term t ON t.id = s.api"                               \
    " LEFT JOIN call_caller c ON c.id = s.caller LEFT JOIN version v ON v.id = c.first_version";
/* clang-format on */

static void read_callers(struct reading *r)
{
    struct api_view *v = r->v;
    struct db_rows *rows =
        api_query(v, *r->version ? CALLER_ROWS(SUMS_OF_VERSION) : CALLER_ROWS(SUMS_OF_DAYS),
                  DB_VALUES(db_int(v->project), db_int(r->first_day), db_text(r->version)));
    while (api_next(v, rows))
        put(r, (struct calls_row){.api = keep(r, db_get_text(rows, 0)),
                                  .image = keep(r, db_get_text(rows, 1)),
                                  .function = keep(r, db_get_text(rows, 2)),
                                  .file = keep(r, db_get_text(rows, 3)),
                                  .line = (uint32_t)db_get_int(rows, 4),
                                  .count = db_get_int(rows, 5),
                                  .first_day = db_get_int(rows, 6),
                                  .last_day = db_get_int(rows, 7),
                                  .first_version = keep(r, db_get_text(rows, 8))});
    api_done(v, rows);
}

struct pending { /* a place to be named; it may count for a caller already */
    struct calls_row row, counted;
    struct stack_frame frame;
};

static void read_pending(struct reading *r)
{
    struct api_view *v = r->v;
    struct db_rows *rows =
        api_query(v, pending_sql,
                  DB_VALUES(db_int(v->project), db_int(r->first_day), db_text(r->version),
                            db_int(CALLS_PENDING + 1), db_text(r->base)));
    while (api_next(v, rows)) {
        if (!array_room(&r->pending, &r->pending_capacity, r->pending_count, sizeof *r->pending)) {
            api_no_memory(v);
            break;
        }
        struct pending *p = &r->pending[r->pending_count++];
        *p = (struct pending){.row = {.api = keep(r, db_get_text(rows, 0)),
                                      .count = db_get_int(rows, 6),
                                      .first_day = db_get_int(rows, 7),
                                      .last_day = db_get_int(rows, 8)},
                              .frame =
                                  stack_frame_of(db_get_int(rows, 1), (uint64_t)db_get_int(rows, 2),
                                                 (uint64_t)db_get_int(rows, 3))};
        p->counted = p->row;
        p->row.new_place = db_get_int(rows, 11) != 0;
        p->counted.image = keep(r, db_get_text(rows, 4));
        p->counted.function = keep(r, db_get_text(rows, 5));
        p->counted.first_version = keep(r, db_get_text(rows, 9));
        p->row.first_version = keep(r, db_get_text(rows, 10));
        p->counted.count = db_is_null(rows, 4) || *r->version ? 0 : -p->row.count;
    }
    api_done(v, rows);
    r->t->truncated |= r->pending_count > CALLS_PENDING;
}

static int compare_text(const char *a, const char *b)
{
    if (a == b || !a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int by_caller(const void *a, const void *b)
{
    const struct calls_row *x = a, *y = b;
    int order = compare_text(x->api, y->api);
    order = order ? order : compare_text(x->image, y->image);
    return order ? order : compare_text(x->function, y->function);
}

static const struct report_name *name_of(struct api_place *place)
{
    return place && place->found.count > place->found.tail_calls
               ? &place->found.names[place->found.tail_calls]
               : NULL;
}

void calls_caller(struct api_frames *frames, const struct stack_frame *frame, const char **image,
                  const char **function)
{
    struct api_place *place = api_frames_place(frames, frame);
    const struct report_name *name = name_of(place);
    *image = place && place->image && *place->image->name ? place->image->name : NULL;
    *function = name && name->function && *name->function ? name->function : NULL;
}

/* When no query is open: names ask the database. */
static void name_pending(struct reading *r)
{
    for (size_t i = 0; i < r->pending_count && !r->v->error; i++) {
        struct pending *p = &r->pending[i];
        const struct report_name *name = name_of(api_frames_place(r->t->frames, &p->frame));
        calls_caller(r->t->frames, &p->frame, &p->row.image, &p->row.function);
        p->row.new_place &= r->part == PART_AFTER && !p->row.function;
        p->row.file = name ? name->file : NULL;
        p->row.line = name ? name->line : 0;
        if (by_caller(&p->row, &p->counted) == 0 && p->counted.first_version)
            p->row.first_version = p->counted.first_version;
        put(r, p->row);
        if (p->counted.count)
            put(r, p->counted);
    }
}

/* Adds no calls: rows that tell which callers without a name call from places that are new. */
static void read_new_places(struct reading *r)
{
    static const char sql[] =
        "SELECT DISTINCT t.text, c.image FROM call_day d CROSS JOIN call_site s"
        " JOIN call_caller c ON c.id = s.caller JOIN term t ON t.id = c.api"
        " WHERE d.project = $1 AND d.version IN " API_VERSIONS_NAMED " AND s.id = d.site"
        " AND (s.todo & 1) = 0 AND c.function = '' AND 1 = " PLACE_IS_NEW("$2");
    struct api_view *v = r->v;
    struct db_rows *rows =
        api_query(v, sql, DB_VALUES(db_int(v->project), db_text(r->base), db_text(r->version)));
    while (api_next(v, rows))
        put(r, (struct calls_row){.api = keep(r, db_get_text(rows, 0)),
                                  .image = keep(r, db_get_text(rows, 1)),
                                  .first_day = INT64_MAX,
                                  .new_place = true});
    api_done(v, rows);
}

static void read_part(struct api_view *v, struct calls_table *t, enum part part,
                      const char *version, const char *base, int64_t first_day)
{
    struct reading r = {
        .v = v, .t = t, .part = part, .version = version, .base = base, .first_day = first_day};
    read_callers(&r);
    if (part == PART_AFTER)
        read_new_places(&r);
    read_pending(&r);
    name_pending(&r);
    free(r.pending);
}

/* --- one row for each caller --- */

static void merge_into(struct calls_row *to, const struct calls_row *from)
{
    to->count += from->count;
    to->before += from->before;
    to->after += from->after;
    to->new_place |= from->new_place;
    to->first_day = from->first_day < to->first_day ? from->first_day : to->first_day;
    to->last_day = from->last_day > to->last_day ? from->last_day : to->last_day;
    to->first_version = to->first_version ? to->first_version : from->first_version;
    if (!to->file) {
        to->file = from->file;
        to->line = from->line;
    }
}

static void merge_rows(struct calls_table *t)
{
    size_t kept = 0;
    if (t->count)
        qsort(t->rows, t->count, sizeof *t->rows, by_caller);
    for (size_t i = 0; i < t->count; i++) {
        if (kept && by_caller(&t->rows[kept - 1], &t->rows[i]) == 0)
            merge_into(&t->rows[kept - 1], &t->rows[i]);
        else
            t->rows[kept++] = t->rows[i];
    }
    t->count = kept;
}

static bool is_other(const char *text)
{
    return text && strcmp(text, LIMITS_OTHER) == 0;
}

/* Without callers that nothing is left of; what counts as "(other)" hides who it was. */
static void tidy_rows(struct calls_table *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct calls_row *row = &t->rows[i];
        if (row->count <= 0)
            continue;
        t->truncated |= is_other(row->api) || is_other(row->image);
        t->rows[kept++] = *row;
    }
    t->count = kept;
}

/* --- the allow list --- */

static void allow_rows(struct calls_table *t, int64_t id, const char *api, const char *caller)
{
    for (size_t i = 0; i < t->count; i++) {
        struct calls_row *row = &t->rows[i];
        if (row->rule || !calls_fits(api, row->api))
            continue;
        struct report_bytes text = {0}; /* IMAGE!FUNCTION */
        out_text(&text, row->image ? row->image : "");
        out_text(&text, "!");
        out_text(&text, row->function ? row->function : "");
        if (!text.failed && calls_fits(caller, text.data))
            row->rule = id;
        report_bytes_free(&text);
    }
}

static void read_allowed(struct api_view *v, struct calls_table *t)
{
    struct db_rows *rows = api_query(
        v, "SELECT id, api, caller FROM call_allow WHERE project = $1 ORDER BY id LIMIT 1000",
        DB_VALUES(db_int(v->project)));
    while (api_next(v, rows))
        allow_rows(t, db_get_int(rows, 0), db_get_text(rows, 1), db_get_text(rows, 2));
    api_done(v, rows);
}

/* --- all of it --- */

static void finish(struct api_view *v, struct calls_table *t)
{
    merge_rows(t);
    tidy_rows(t);
    read_allowed(v, t);
}

static bool begin(struct api_view *v, struct calls_table *t)
{
    *t = (struct calls_table){.frames = api_frames_new(v)};
    return t->frames != NULL;
}

void calls_table_read(struct api_view *v, struct calls_table *t)
{
    if (!begin(v, t))
        return;
    read_part(v, t, PART_ALL, v->filter.version, "", v->filter.first_day);
    finish(v, t);
}

void calls_table_read_two(struct api_view *v, const char *from, const char *to,
                          struct calls_table *t)
{
    if (!begin(v, t))
        return;
    if (from)
        read_part(v, t, PART_BEFORE, from, "", 0);
    read_part(v, t, PART_AFTER, to, from ? from : "", 0);
    finish(v, t);
}

void calls_table_free(struct calls_table *t)
{
    free(t->rows);
    arena_free(&t->arena);
    api_frames_free(t->frames);
}

void calls_row_open(struct report_bytes *out, const struct calls_row *row)
{
    api_open(out, NULL, '{');
    api_text(out, "api", row->api);
    api_open(out, "caller", '{');
    api_text(out, "function", row->function);
    api_text(out, "image", row->image);
    api_text(out, "file", row->file);
    api_int(out, "line", row->line);
    api_shut(out, '}');
    api_int(out, "count", row->count);
    api_text(out, "first_version", row->first_version);
    api_day(out, "first_day", row->first_day);
    api_day(out, "last_day", row->last_day);
    api_bool(out, "allowed", row->rule != 0);
    if (row->rule)
        api_int(out, "rule", row->rule);
    else
        api_null(out, "rule");
}
