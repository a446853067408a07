/*
 * Calls of watched functions: the matrix of API and caller, what changed between two versions, the
 * stacks behind a row, and the same as CSV.
 */
#include "collector/calls_table.h"

#include "base/array.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* --- the matrix --- */

static void write_apis(struct report_bytes *out, const struct calls_table *t)
{
    api_open(out, "apis", '[');
    for (size_t i = 0; i < t->row_count; i++)
        if (i == 0 || strcmp(t->rows[i].api, t->rows[i - 1].api) != 0)
            api_text(out, NULL, t->rows[i].api);
    api_shut(out, ']');
}

static void get_calls(struct http_request *r)
{
    struct api_view v;
    struct calls_table t;
    if (!api_begin(&v, r, API_VERSIONS, NULL))
        return;
    calls_table_read(&v, &t);
    api_open(&v.out, NULL, '{');
    write_apis(&v.out, &t);
    api_open(&v.out, "rows", '[');
    for (size_t i = 0; i < t.row_count; i++) {
        calls_row_open(&v.out, &t, &t.rows[i]);
        api_shut(&v.out, '}');
    }
    api_shut(&v.out, ']');
    api_bool(&v.out, "truncated", t.truncated);
    api_shut(&v.out, '}');
    calls_table_free(&t);
    api_end(&v);
}

/* --- between two versions --- */

struct diff {
    const struct calls_table *table;
    const char *from, *to;
};

enum { DIFF_NEW, DIFF_GONE, DIFF_CHANGED, DIFF_NOT_ALLOWED, DIFFS };

static bool belongs(const struct diff *d, const struct calls_row *row, int list)
{
    int64_t before = calls_in(d->table, row, d->from), after = calls_in(d->table, row, d->to);
    switch (list) {
    case DIFF_NEW: return !before && after;
    case DIFF_GONE: return before && !after;
    case DIFF_CHANGED: return before && after && before != after;
    default: return !before && after && !row->rule;
    }
}

static void write_diff(struct report_bytes *out, const struct diff *d)
{
    static const char *const keys[DIFFS] = {"new", "gone", "changed", "not_allowed"};
    api_open(out, NULL, '{');
    api_text(out, "from", d->from);
    api_text(out, "to", d->to);
    for (int list = 0; list < DIFFS; list++) {
        api_open(out, keys[list], '[');
        for (size_t i = 0; i < d->table->row_count; i++) {
            const struct calls_row *row = &d->table->rows[i];
            if (!belongs(d, row, list))
                continue;
            calls_row_open(out, d->table, row);
            api_int(out, "before", calls_in(d->table, row, d->from));
            api_int(out, "after", calls_in(d->table, row, d->to));
            api_shut(out, '}');
        }
        api_shut(out, ']');
    }
    api_bool(out, "truncated", d->table->truncated);
    api_shut(out, '}');
}

/* The version before: the last one of another text that came before the first build of `to`. */
static const char *version_before(struct api_view *v, const char *to)
{
    char *found = NULL;
    struct db_rows *rows = api_query(
        v,
        "SELECT CASE WHEN build = '' THEN version ELSE version || ' (' || build || ')' END"
        " FROM version WHERE project = $1 AND version <> $2"
        " AND version || ' (' || build || ')' <> $2 AND first_ms <= (SELECT MIN(first_ms)"
        " FROM version WHERE project = $1 AND (version = $2"
        " OR version || ' (' || build || ')' = $2)) ORDER BY first_ms DESC, id DESC LIMIT 1",
        DB_VALUES(db_int(v->project), db_text(to)));
    if (api_next(v, rows)) {
        const char *text = db_get_text(rows, 0);
        found = arena_take(&v->r->arena, strlen(text) + 1);
        if (found)
            memcpy(found, text, strlen(text) + 1);
        else
            api_no_memory(v);
    }
    api_done(v, rows);
    return found;
}

static void get_diff(struct http_request *r)
{
    struct api_view v;
    struct calls_table t;
    if (!api_begin(&v, r, 0, "from", "to", NULL))
        return;
    const char *to = http_query(r, "to"), *from = http_query(r, "from");
    if (!to || !*to) {
        api_refuse(&v, 400,
                   "\"to\" names the version that is looked at; \"from\" the one it is "
                   "compared with, the version before when it is not there");
        return;
    }
    if (!api_version_known(&v, to) || (from && *from && !api_version_known(&v, from)))
        return;
    if (!from || !*from)
        from = version_before(&v, to);
    if (!from && !v.error) {
        api_refuse(&v, 400, "no version came before \"%.64s\"; \"from\" names one", to);
        return;
    }
    calls_table_read(&v, &t);
    const struct diff diff = {.table = &t, .from = from, .to = to};
    if (!v.error)
        write_diff(&v.out, &diff);
    calls_table_free(&t);
    api_end(&v);
}

/* --- the stacks behind a row --- */

enum { PLACES = 200, STACKS = 50 };

struct behind { /* a stack, and how often it called */
    int64_t stack, version, count;
};

struct stacks {
    struct api_view *v;
    struct api_frames *frames;
    const char *function, *image;
    int64_t api;
    struct stack_frame places[PLACES]; /* those of the caller */
    size_t place_count;
    struct behind found[STACKS]; /* the most calls first */
    size_t found_count;
};

static bool is_caller(struct stacks *s, const struct stack_frame *frame)
{
    const struct api_place *place = api_frames_place(s->frames, frame);
    if (!place)
        return false;
    const char *image = place->image ? place->image->name : "";
    bool named = place->found.count > place->found.tail_calls;
    const char *function = named ? place->found.names[place->found.tail_calls].function : NULL;
    return strcmp(image, s->image) == 0 && strcmp(function ? function : "", s->function) == 0;
}

static void read_places(struct stacks *s)
{
    struct api_view *v = s->v;
    struct stack_frame *all = NULL;
    size_t count = 0, capacity = 0;
    struct db_rows *rows = api_query(
        v,
        "SELECT DISTINCT caller_image, caller_offset, caller_kind FROM call WHERE project = $1"
        " AND api = $2 LIMIT $3",
        DB_VALUES(db_int(v->project), db_int(s->api), db_int(CALLS_CELLS)));
    while (api_next(v, rows)) {
        if (!array_room(&all, &capacity, count, sizeof *all)) {
            api_no_memory(v);
            break;
        }
        all[count++] = stack_frame_of(db_get_int(rows, 0), (uint64_t)db_get_int(rows, 1),
                                      (uint64_t)db_get_int(rows, 2));
    }
    api_done(v, rows);
    for (size_t i = 0; i < count && s->place_count < PLACES && !v->error; i++)
        if (is_caller(s, &all[i]))
            s->places[s->place_count++] = all[i];
    free(all);
}

static void insert(struct stacks *s, const struct behind *one)
{
    size_t at = s->found_count;
    while (at && s->found[at - 1].count < one->count)
        at--;
    if (at == STACKS)
        return;
    s->found_count += s->found_count < STACKS;
    memmove(&s->found[at + 1], &s->found[at], (s->found_count - at - 1) * sizeof *s->found);
    s->found[at] = *one;
}

static void read_stacks(struct stacks *s, const struct stack_frame *place)
{
    struct api_view *v = s->v;
    struct db_rows *rows = api_query(
        v,
        "SELECT c.stack, c.version, c.count FROM call c WHERE c.project = $1 AND c.last_ms >= $2"
        " AND " API_OF_VERSION(
            "c") " AND c.api = $4 AND c.caller_image = $5"
                 " AND c.caller_offset = $6 AND c.caller_kind = $7 ORDER BY c.count DESC LIMIT $8",
        DB_VALUES(db_int(v->project), db_int(v->filter.first_day * 86400000),
                  db_text(v->filter.version), db_int(s->api), db_int(place->image),
                  db_int((int64_t)place->offset), db_int(stack_flags(place)), db_int(STACKS)));
    while (api_next(v, rows)) {
        struct behind one = {db_get_int(rows, 0), db_get_int(rows, 1), db_get_int(rows, 2)};
        insert(s, &one);
    }
    api_done(v, rows);
}

static void write_version(struct api_view *v, int64_t id)
{
    struct db_rows *rows =
        api_query(v, "SELECT version, build FROM version WHERE id = $1", DB_VALUES(db_int(id)));
    if (api_next(v, rows))
        api_version(&v->out, "version", db_get_text(rows, 0), db_get_text(rows, 1));
    else
        api_null(&v->out, "version");
    api_done(v, rows);
}

static void get_stacks(struct http_request *r)
{
    struct api_view v;
    if (!api_begin(&v, r, API_VERSIONS, "api", "caller", "image", NULL))
        return;
    const char *api = http_query(r, "api"), *caller = http_query(r, "caller"),
               *image = http_query(r, "image");
    struct stacks s = {.v = &v,
                       .frames = api_frames_new(&v),
                       .function = caller ? caller : "",
                       .image = image ? image : ""};
    s.api = api_number(&v, "SELECT id FROM term WHERE kind = 3 AND text = $1",
                       DB_VALUES(db_text(api ? api : "")));
    if (s.frames && !v.error)
        read_places(&s);
    for (size_t i = 0; i < s.place_count; i++)
        read_stacks(&s, &s.places[i]);
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    for (size_t i = 0; i < s.found_count && !v.error; i++) {
        api_open(&v.out, NULL, '{');
        api_int(&v.out, "count", s.found[i].count);
        write_version(&v, s.found[i].version);
        api_stack_of(s.frames, "frames", s.found[i].stack);
        api_shut(&v.out, '}');
    }
    api_shut(&v.out, ']');
    api_null(&v.out, "next");
    api_shut(&v.out, '}');
    api_frames_free(s.frames);
    api_end(&v);
}

/* --- CSV (RFC 4180) --- */

/* Always in quotes. What a spreadsheet would take for a formula gets an apostrophe in front. */
static void csv_text(struct report_bytes *out, const char *text)
{
    text = text ? text : "";
    out_text(out, strchr("=+-@\t\r\n", *text) && *text ? "\"'" : "\"");
    for (size_t left = API_TEXT_MAX; *text && left; left--) {
        size_t length = utf8_length(text);
        if (!length)
            out_text(out, "\xef\xbf\xbd");
        else if (*text == '"')
            out_text(out, "\"\"");
        else if (utf8_is_control(text))
            out_text(out, " ");
        else
            out_bytes(out, text, length);
        text += length ? length : 1;
    }
    out_text(out, "\"");
}

static void csv_time(struct report_bytes *out, int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    char text[40] = "";
    if (gmtime_r(&seconds, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    out_text(out, text);
}

static void csv_version(struct report_bytes *out, const struct calls_table *t, uint32_t version)
{
    if (version >= t->version_count)
        return;
    const struct calls_version *v = &t->versions[version];
    out_text(out, v->version);
    if (*v->build) {
        out_text(out, " (");
        out_text(out, v->build);
        out_text(out, ")");
    }
}

/* "2.0 (1): 5; 2.1 (2): 7" */
static void csv_versions(struct report_bytes *out, const struct calls_table *t,
                         const struct calls_row *row)
{
    struct report_bytes text = {0};
    for (uint32_t i = 0; i < row->by_count; i++) {
        out_text(&text, i ? "; " : "");
        csv_version(&text, t, row->by[i].version);
        out_format(&text, ": %" PRId64, row->by[i].count);
    }
    csv_text(out, text.data);
    out->failed |= text.failed;
    report_bytes_free(&text);
}

static void csv_row(struct report_bytes *out, const struct calls_table *t,
                    const struct calls_row *row)
{
    struct report_bytes version = {0};
    csv_version(&version, t, row->first_version);
    const char *const texts[] = {row->api, row->function, row->image, row->file};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        csv_text(out, texts[i]);
        out_text(out, ",");
    }
    out_format(out, "%" PRIu32 ",%" PRId64 ",%" PRId64 ",", row->line, row->count, row->stacks);
    csv_text(out, version.data);
    out_text(out, ",");
    csv_time(out, row->first_ms);
    out_text(out, ",");
    csv_time(out, row->last_ms);
    out_text(out, row->rule ? ",yes," : ",no,");
    csv_versions(out, t, row);
    out_text(out, "\r\n");
    report_bytes_free(&version);
}

static void get_csv(struct http_request *r)
{
    struct api_view v;
    struct calls_table t;
    if (!api_begin(&v, r, API_VERSIONS, NULL))
        return;
    calls_table_read(&v, &t);
    out_text(&v.out, "api,function,image,file,line,count,stacks,first_version,first,last,allowed,"
                     "versions\r\n");
    for (size_t i = 0; i < t.row_count; i++)
        csv_row(&v.out, &t, &t.rows[i]);
    calls_table_free(&t);
    if (!v.error)
        http_set_header(r, "Content-Disposition", "attachment; filename=\"calls.csv\"");
    api_end_as(&v, "text/csv; charset=utf-8");
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls",
     .needs = ACCESS_READ,
     .handle = get_calls},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls/diff",
     .needs = ACCESS_READ,
     .handle = get_diff},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls/stacks",
     .needs = ACCESS_READ,
     .handle = get_stacks},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls.csv",
     .needs = ACCESS_READ,
     .handle = get_csv},
};
const struct http_routes routes_calls = {routes, sizeof routes / sizeof *routes};
