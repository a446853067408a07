/*
 * Calls of watched functions: the matrix of API and caller, the versions of one caller, the stacks
 * behind a row, and the same as CSV. Between two versions: api_calls_diff.c.
 */
#include "collector/calls_groups.h"
#include "collector/calls_table.h"

#include "base/array.h"
#include "base/utf8.h"
#include "collector/versions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the matrix --- */

static int by_calls(const void *a, const void *b)
{
    const struct calls_row *x = a, *y = b;
    int order = (x->count < y->count) - (x->count > y->count);
    order = order ? order : strcmp(x->api, y->api);
    order = order ? order : strcmp(x->image ? x->image : "", y->image ? y->image : "");
    return order ? order : strcmp(x->function ? x->function : "", y->function ? y->function : "");
}

static void write_apis(struct report_bytes *out, const struct calls_table *t)
{
    api_open(out, "apis", '[');
    for (size_t i = 0; i < t->count; i++)
        if (i == 0 || strcmp(t->rows[i].api, t->rows[i - 1].api) != 0)
            api_text(out, NULL, t->rows[i].api);
    api_shut(out, ']');
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* API by image: sums of all rows, which are sorted so. */
static void write_cells(struct report_bytes *out, const struct calls_table *t)
{
    api_open(out, "cells", '[');
    for (size_t i = 0; i < t->count;) {
        const struct calls_row *first = &t->rows[i];
        int64_t count = 0, callers = 0, not_allowed = 0;
        for (; i < t->count && same_text(t->rows[i].api, first->api) &&
               same_text(t->rows[i].image, first->image);
             i++) {
            count += t->rows[i].count;
            callers++;
            not_allowed += !t->rows[i].rule;
        }
        api_open(out, NULL, '{');
        api_text(out, "api", first->api);
        api_text(out, "image", first->image);
        api_int(out, "count", count);
        api_int(out, "callers", callers);
        api_int(out, "not_allowed", not_allowed);
        api_shut(out, '}');
    }
    api_shut(out, ']');
}

/* What of the query chooses rows, beside the filters. NULL: all. */
struct chosen {
    const char *api, *image, *text;
    bool not_allowed;
    struct calls_groups groups;
};

static bool read_chosen(struct api_view *v, struct chosen *c)
{
    static const char *const words[] = {"no"};
    int allowed;
    *c = (struct chosen){.api = http_query(v->r, "api"),
                         .image = http_query(v->r, "image"),
                         .text = http_query(v->r, "q")};
    if (!api_word(v, "allowed", words, 1, -1, &allowed) || !calls_groups_begin(v, &c->groups))
        return false;
    c->not_allowed = allowed == 0;
    return true;
}

static bool has_text(const char *where, const char *text)
{
    return where && strcasestr(where, text);
}

static bool is_chosen(const struct chosen *c, const struct calls_row *row)
{
    const char *text = c->text;
    return (!c->api || strcmp(c->api, row->api) == 0) &&
           calls_groups_chosen(&c->groups, row->api) &&
           (!c->image || same_text(c->image, row->image)) && !(c->not_allowed && row->rule) &&
           (!text || !*text || has_text(row->api, text) || has_text(row->function, text) ||
            has_text(row->image, text) || has_text(row->file, text));
}

/* Keeps the chosen rows, the most calls first. */
static void choose(struct calls_table *t, const struct chosen *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (is_chosen(c, &t->rows[i]))
            t->rows[kept++] = t->rows[i];
    t->count = kept;
    if (kept)
        qsort(t->rows, kept, sizeof *t->rows, by_calls);
}

static size_t count_not_allowed(const struct calls_table *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += !t->rows[i].rule;
    return count;
}

static void get_calls(struct http_request *r)
{
    struct api_view v;
    struct calls_table t;
    struct chosen chosen;
    int64_t limit;
    if (!api_begin(&v, r, API_VERSIONS, "api", "image", "q", "allowed", "group", "limit", NULL) ||
        !read_chosen(&v, &chosen))
        return;
    if (!http_query_number(r, "limit", 1, CALLS_ROWS, CALLS_ROWS, &limit)) {
        api_pause(&v);
        return;
    }
    calls_table_read(&v, &t);
    api_open(&v.out, NULL, '{');
    write_apis(&v.out, &t);
    write_cells(&v.out, &t);
    calls_groups_write(&v.out, &chosen.groups, &t);
    api_int(&v.out, "callers", (int64_t)t.count);
    api_int(&v.out, "not_allowed", (int64_t)count_not_allowed(&t));
    choose(&t, &chosen);
    api_open(&v.out, "rows", '[');
    for (size_t i = 0; i < t.count && i < (size_t)limit; i++) {
        calls_row_open(&v.out, &t.rows[i]);
        api_shut(&v.out, '}');
    }
    api_shut(&v.out, ']');
    api_int(&v.out, "total", (int64_t)t.count);
    api_bool(&v.out, "truncated", t.truncated || t.count > (size_t)limit);
    api_shut(&v.out, '}');
    calls_table_free(&t);
    api_end(&v);
}

/* --- one caller: its versions --- */

enum { VERSIONS_SHOWN = 200, PLACES = 200, STACKS = 50 };

struct caller { /* that the query names */
    struct api_view *v;
    struct api_frames *frames;
    const char *function, *image;
    int64_t api;
    struct place {
        int64_t site;
        struct stack_frame frame;
    } *places; /* that call for it; more than PLACES are not looked up */
    size_t count, capacity;
};

static bool is_caller(struct caller *c, const struct stack_frame *frame)
{
    const char *image, *function;
    calls_caller(c->frames, frame, &image, &function);
    return same_text(image, c->image) && same_text(function, c->function);
}

static void put_place(struct caller *c, const struct db_rows *rows)
{
    if (!array_room(&c->places, &c->capacity, c->count, sizeof *c->places)) {
        api_no_memory(c->v);
        return;
    }
    c->places[c->count++] = (struct place){
        db_get_int(rows, 0), stack_frame_of(db_get_int(rows, 1), (uint64_t)db_get_int(rows, 2),
                                            (uint64_t)db_get_int(rows, 3))};
}

/* Those that have its name, and those that are to be named. */
static void read_places(struct caller *c)
{
    struct api_view *v = c->v;
    static const char named[] =
        "SELECT s.id, s.image, s.site_offset, s.kind FROM call_caller c JOIN call_site s"
        " ON s.caller = c.id WHERE c.project = $1 AND c.api = $2 AND c.image = $3"
        " AND c.function = $4 AND (s.todo & 1) = 0 ORDER BY s.id DESC";
    static const char pending[] =
        "SELECT s.id, s.image, s.site_offset, s.kind FROM call_site s WHERE s.todo <> 0"
        " AND s.project = $1 AND s.api = $2 AND (s.todo & 1) = 1 ORDER BY s.id DESC LIMIT $3";
    struct db_rows *rows = api_query(
        v, named,
        DB_VALUES(db_int(v->project), db_int(c->api), db_text(c->image), db_text(c->function)));
    while (api_next(v, rows))
        put_place(c, rows);
    api_done(v, rows);
    size_t known = c->count, kept = known;
    rows =
        api_query(v, pending, DB_VALUES(db_int(v->project), db_int(c->api), db_int(CALLS_PENDING)));
    while (api_next(v, rows))
        put_place(c, rows);
    api_done(v, rows);
    for (size_t i = known; i < c->count && !v->error; i++)
        if (is_caller(c, &c->places[i].frame))
            c->places[kept++] = c->places[i];
    c->count = kept;
}

static bool begin_caller(struct caller *c, struct api_view *v)
{
    const char *api = http_query(v->r, "api"), *caller = http_query(v->r, "caller"),
               *image = http_query(v->r, "image");
    *c = (struct caller){.v = v,
                         .frames = api_frames_new(v),
                         .function = caller ? caller : "",
                         .image = image ? image : ""};
    c->api = api_number(v, "SELECT id FROM term WHERE kind = 3 AND text = $1",
                        DB_VALUES(db_text(api ? api : "")));
    if (c->frames && !v->error)
        read_places(c);
    return !v->error;
}

static void end_caller(struct caller *c)
{
    free(c->places);
    api_frames_free(c->frames);
}

struct version_calls {
    int64_t version, calls;
};

static int by_version(const void *a, const void *b)
{
    const struct version_calls *x = a, *y = b;
    return (x->version > y->version) - (x->version < y->version);
}

/* Calls of its places by version; NULL: out of memory, or nothing. */
static struct version_calls *sum_versions(struct caller *c, size_t *count)
{
    struct api_view *v = c->v;
    struct version_calls *sums = NULL;
    size_t capacity = 0, kept = 0;
    *count = 0;
    for (size_t i = 0; i < c->count && !v->error; i++) {
        struct db_rows *rows =
            api_query(v,
                      "SELECT version, " API_SUM("count") " FROM call_day WHERE site = $1"
                                                          " AND day >= $2 GROUP BY version",
                      DB_VALUES(db_int(c->places[i].site), db_int(v->filter.first_day)));
        while (api_next(v, rows)) {
            if (!array_room(&sums, &capacity, *count, sizeof *sums)) {
                api_no_memory(v);
                break;
            }
            sums[(*count)++] = (struct version_calls){db_get_int(rows, 0), db_get_int(rows, 1)};
        }
        api_done(v, rows);
    }
    if (*count)
        qsort(sums, *count, sizeof *sums, by_version);
    for (size_t i = 0; i < *count; i++) {
        if (kept && sums[kept - 1].version == sums[i].version)
            sums[kept - 1].calls += sums[i].calls;
        else
            sums[kept++] = sums[i];
    }
    *count = kept;
    return sums;
}

static void get_versions(struct http_request *r)
{
    struct api_view v;
    struct caller c;
    if (!api_begin(&v, r, API_VERSIONS, "api", "caller", "image", NULL))
        return;
    size_t count = 0, shown = 0;
    struct version_calls *sums = begin_caller(&c, &v) ? sum_versions(&c, &count) : NULL;
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    struct db_rows *rows =
        api_query(&v,
                  "SELECT v.id, " VERSION_LABEL("v") " FROM version v WHERE v.project = $1"
                                                     " ORDER BY" VERSIONS_NEWEST_FIRST,
                  DB_VALUES(db_int(v.project)));
    while (shown < VERSIONS_SHOWN && api_next(&v, rows)) {
        const struct version_calls wanted = {.version = db_get_int(rows, 0)};
        const struct version_calls *found =
            count ? bsearch(&wanted, sums, count, sizeof wanted, by_version) : NULL;
        if (!found)
            continue;
        api_open(&v.out, NULL, '{');
        api_text(&v.out, "version", db_get_text(rows, 1));
        api_int(&v.out, "count", found->calls);
        api_shut(&v.out, '}');
        shown++;
    }
    api_done(&v, rows);
    api_shut(&v.out, ']');
    api_int(&v.out, "total", (int64_t)count);
    api_bool(&v.out, "truncated", shown < count);
    api_shut(&v.out, '}');
    free(sums);
    end_caller(&c);
    api_end(&v);
}

/* --- the stacks behind a row --- */

struct behind { /* a stack, and how often it called */
    int64_t stack, version, count;
};

struct stacks {
    struct api_view *v;
    int64_t api;
    struct behind found[STACKS]; /* the most calls first */
    size_t found_count;
};

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
    struct caller c;
    struct stacks s = {.v = &v};
    if (!api_begin(&v, r, API_VERSIONS, "api", "caller", "image", NULL))
        return;
    begin_caller(&c, &v);
    s.api = c.api;
    for (size_t i = 0; i < c.count && i < PLACES && !v.error; i++)
        read_stacks(&s, &c.places[i].frame);
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    for (size_t i = 0; i < s.found_count && !v.error; i++) {
        api_open(&v.out, NULL, '{');
        api_int(&v.out, "count", s.found[i].count);
        write_version(&v, s.found[i].version);
        api_stack_of(c.frames, "frames", s.found[i].stack);
        api_shut(&v.out, '}');
    }
    api_shut(&v.out, ']');
    api_bool(&v.out, "truncated", c.count > PLACES || s.found_count == STACKS);
    api_null(&v.out, "next");
    api_shut(&v.out, '}');
    end_caller(&c);
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

static void csv_day(struct report_bytes *out, int64_t day)
{
    struct report_bytes text = {0};
    api_day(&text, NULL, day); /* as JSON: in quotes */
    out_bytes(out, text.data, text.size);
    out->failed |= text.failed;
    report_bytes_free(&text);
}

static void csv_groups(struct report_bytes *out, const struct calls_groups *groups, const char *api)
{
    char *text = calls_groups_text(groups, api);
    out->failed |= !text;
    csv_text(out, text);
    free(text);
}

static void csv_row(struct report_bytes *out, const struct calls_row *row,
                    const struct calls_groups *groups)
{
    const char *const texts[] = {row->api, row->function, row->image, row->file};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        csv_text(out, texts[i]);
        out_text(out, ",");
    }
    out_format(out, "%" PRIu32 ",%" PRId64 ",", row->line, row->count);
    csv_text(out, row->first_version);
    out_text(out, ",");
    csv_day(out, row->first_day);
    out_text(out, ",");
    csv_day(out, row->last_day);
    out_text(out, row->rule ? ",yes," : ",no,");
    csv_groups(out, groups, row->api);
    out_text(out, "\r\n");
}

/* All callers that are chosen. What is not known of some is the last row. */
static void get_csv(struct http_request *r)
{
    struct api_view v;
    struct calls_table t;
    struct chosen chosen;
    if (!api_begin(&v, r, API_VERSIONS, "api", "image", "q", "allowed", "group", NULL) ||
        !read_chosen(&v, &chosen))
        return;
    calls_table_read(&v, &t);
    choose(&t, &chosen);
    out_text(&v.out, "api,function,image,file,line,count,first_version,first_day,last_day,allowed,"
                     "groups\r\n");
    for (size_t i = 0; i < t.count; i++)
        csv_row(&v.out, &t.rows[i], &chosen.groups);
    if (t.truncated)
        out_text(&v.out, "\"(truncated: some callers are not known)\",,,,,,,,,,\r\n");
    if (!v.error) {
        http_set_header(r, "Content-Disposition", "attachment; filename=\"calls.csv\"");
        http_set_header(r, "X-Truncated", t.truncated ? "yes" : "no");
    }
    calls_table_free(&t);
    api_end_as(&v, "text/csv; charset=utf-8");
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls",
     .needs = ACCESS_READ,
     .handle = get_calls},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls/versions",
     .needs = ACCESS_READ,
     .handle = get_versions},
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
