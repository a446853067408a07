#include "collector/api_json.h"

#include "base/failure.h"
#include "base/utf8.h"
#include "collector/versions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* --- JSON as text --- */

static void key_of(struct report_bytes *out, const char *key)
{
    char last = out->size ? out->data[out->size - 1] : '{';
    if (last != '{' && last != '[' && last != ':')
        out_text(out, ",");
    if (key)
        out_format(out, "\"%s\":", key);
}

void api_open(struct report_bytes *out, const char *key, char bracket)
{
    key_of(out, key);
    out_bytes(out, &bracket, 1);
}

void api_shut(struct report_bytes *out, char bracket)
{
    out_bytes(out, &bracket, 1);
}

/* Where a text that is too long ends: never inside a character. */
static size_t cut_at(const char *text, size_t limit)
{
    while (limit && ((unsigned char)text[limit] & 0xc0) == 0x80)
        limit--;
    return limit;
}

void api_text(struct report_bytes *out, const char *key, const char *text)
{
    key_of(out, key);
    if (!text || strnlen(text, API_TEXT_MAX + 1) <= API_TEXT_MAX) {
        out_json(out, text);
        return;
    }
    char *cut = malloc(API_TEXT_MAX + 4);
    if (!cut) {
        out->failed = true;
        return;
    }
    size_t size = cut_at(text, API_TEXT_MAX);
    memcpy(cut, text, size);
    memcpy(cut + size, "\xe2\x80\xa6", 4);
    out_json(out, cut);
    free(cut);
}

void api_int(struct report_bytes *out, const char *key, int64_t value)
{
    key_of(out, key);
    out_format(out, "%" PRId64, value);
}

void api_real(struct report_bytes *out, const char *key, double value)
{
    key_of(out, key);
    out_format(out, "%.6g", value);
}

void api_bool(struct report_bytes *out, const char *key, bool value)
{
    key_of(out, key);
    out_text(out, value ? "true" : "false");
}

void api_null(struct report_bytes *out, const char *key)
{
    key_of(out, key);
    out_text(out, "null");
}

void api_hex(struct report_bytes *out, const char *key, struct span bytes)
{
    key_of(out, key);
    out_text(out, "\"");
    out_hex(out, bytes.data, bytes.size);
    out_text(out, "\"");
}

void api_raw(struct report_bytes *out, const char *key, const char *json)
{
    json_t *parsed = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
    key_of(out, key);
    out_text(out, parsed ? json : "null");
    json_decref(parsed);
}

void api_day(struct report_bytes *out, const char *key, int64_t day)
{
    time_t seconds = (time_t)(day * 86400);
    struct tm utc;
    char text[32] = "1970-01-01";
    if (gmtime_r(&seconds, &utc))
        strftime(text, sizeof text, "%Y-%m-%d", &utc);
    api_text(out, key, text);
}

void api_version(struct report_bytes *out, const char *key, const char *version, const char *build)
{
    if (!version || !build || !*build) {
        api_text(out, key, version);
        return;
    }
    struct report_bytes label = {0};
    out_text(&label, version);
    out_text(&label, " (");
    out_text(&label, build);
    out_text(&label, ")");
    out->failed |= label.failed;
    api_text(out, key, label.data);
    report_bytes_free(&label);
}

void api_version_key(struct report_bytes *out, const char *version, const char *build)
{
    api_version(out, NULL, version ? version : "", build);
    out_text(out, ":");
}

/* --- queries --- */

void api_fail(struct api_view *v, fw_error error, const char *message)
{
    if (!v->error)
        v->error = failure_say(&v->why, error, 0, "%s", message);
}

void api_no_memory(struct api_view *v)
{
    api_fail(v, FW_ERR_MEMORY, "out of memory");
}

struct db_rows *api_query(struct api_view *v, const char *sql, const struct db_value *values,
                          size_t count)
{
    struct db_rows *rows = NULL;
    if (!v->error)
        v->error = db_query(v->conn, &rows, &v->why, sql, values, count);
    return v->error ? NULL : rows;
}

bool api_next(struct api_view *v, struct db_rows *rows)
{
    return rows && !v->error && db_next(rows);
}

void api_done(struct api_view *v, struct db_rows *rows)
{
    struct fw_failure why = {0};
    fw_error error = db_end(rows, &why);
    if (!v->error && error) {
        v->error = error;
        v->why = why;
    }
}

int64_t api_number(struct api_view *v, const char *sql, const struct db_value *values, size_t count)
{
    struct db_rows *rows = api_query(v, sql, values, count);
    int64_t number = api_next(v, rows) ? db_get_int(rows, 0) : 0;
    api_done(v, rows);
    return number;
}

/* --- beginning and end --- */

void api_pause(struct api_view *v)
{
    db_give(v->r->collector->db, v->conn);
    v->conn = NULL;
}

void api_resume(struct api_view *v)
{
    struct fw_failure why = {0};
    fw_error error = db_take(v->r->collector->db, DB_READ, &v->conn, &why);
    if (error && !v->error) {
        v->error = error;
        v->why = why;
    }
}

void api_refuse(struct api_view *v, int status, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    api_pause(v);
    report_bytes_free(&v->out);
    http_reply_error(v->r, status, "%s", text);
}

void api_end_status(struct api_view *v, int status, const char *type)
{
    api_pause(v);
    if (!v->error && v->out.failed)
        api_no_memory(v);
    if (v->error) {
        report_bytes_free(&v->out);
        if (v->damaged)
            http_reply_error(v->r, 500, "%s", v->why.message);
        else
            http_reply_failure(v->r, &v->why);
        return;
    }
    http_reply_bytes(v->r, status, type, v->out.data, v->out.size);
}

void api_end_as(struct api_view *v, const char *type)
{
    api_end_status(v, 200, type);
}

void api_end(struct api_view *v)
{
    api_end_as(v, "application/json");
}

static bool take(struct api_view *v, struct http_request *r)
{
    *v = (struct api_view){.r = r, .filter = {.version = ""}};
    if (db_take(r->collector->db, DB_READ, &v->conn, &v->why) == FW_OK)
        return true;
    http_reply_failure(r, &v->why);
    return false;
}

/* --- the query's names --- */

static bool in_list(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += size)
        if ((at == list || at[-1] == ' ') && (at[size] == ' ' || !at[size]))
            return size > 0;
    return false;
}

static bool names_known(struct api_view *v, unsigned flags, va_list names)
{
    char known[256] = "";
    size_t size = 0;
    size += (size_t)snprintf(known, sizeof known, "%s%s",
                             flags & API_FILTERS    ? " days version os device"
                             : flags & API_VERSIONS ? " days version"
                                                    : "",
                             flags & API_PAGES ? " limit after" : "");
    for (const char *name; (name = va_arg(names, const char *)) != NULL && size < sizeof known;)
        size += (size_t)snprintf(known + size, sizeof known - size, " %s", name);
    const char *name, *value;
    for (size_t i = 0; http_query_each(v->r, i, &name, &value); i++)
        if (!in_list(known, name)) {
            api_refuse(v, 400, "the query knows no \"%.64s\"; there is:%s", name,
                       *known ? known : " nothing");
            return false;
        }
    return true;
}

/* --- filters --- */

/* "a, b, c": what there is instead of what was asked for. */
static void list_texts(struct api_view *v, char text[512], const char *sql, int64_t kind)
{
    size_t size = 0;
    text[0] = 0;
    struct db_rows *rows = api_query(v, sql, DB_VALUES(db_int(v->project), db_int(kind)));
    while (api_next(v, rows)) {
        const char *found = db_get_text(rows, 0);
        if (size + strlen(found) + 3 < 512)
            size += (size_t)snprintf(text + size, 512 - size, "%s%s", size ? ", " : "", found);
    }
    api_done(v, rows);
}

static void refuse_name(struct api_view *v, const char *what, const char *name, const char *there)
{
    api_refuse(v, 400, "no %s \"%.64s\"; %s%s", what, name,
               *there ? "there is: " : "no report has named one", there);
}

bool api_version_known(struct api_view *v, const char *version)
{
    int64_t found = api_number(v,
                               "SELECT id FROM version WHERE project = $1 AND (version = $2"
                               " OR version || ' (' || build || ')' = $2) LIMIT 1",
                               DB_VALUES(db_int(v->project), db_text(version)));
    if (found || v->error)
        return true;
    char there[512];
    list_texts(v, there,
               "SELECT " VERSION_LABEL(
                   "v") " FROM version v WHERE v.project = $1 AND $2 = 0"
                        " AND v.version || v.build <> '' ORDER BY" VERSIONS_NEWEST_FIRST
                        " LIMIT 20",
               0);
    refuse_name(v, "version", version, there);
    return false;
}

static bool read_version(struct api_view *v)
{
    const char *version = http_query(v->r, "version");
    v->filter.version = version ? version : "";
    return !*v->filter.version || api_version_known(v, version);
}

static bool read_term(struct api_view *v, const char *name, int64_t kind, int64_t *term)
{
    const char *text = http_query(v->r, name);
    if (!text || !*text)
        return true;
    *term = api_number(v, "SELECT id FROM term WHERE kind = $1 AND text = $2",
                       DB_VALUES(db_int(kind), db_text(text)));
    if (*term || v->error)
        return true;
    char there[512];
    list_texts(v, there,
               "SELECT text FROM term WHERE kind = $2 AND id IN"
               " (SELECT term FROM term_day WHERE project = $1) ORDER BY text LIMIT 20",
               kind);
    refuse_name(v, name, text, there);
    return false;
}

static bool read_filter(struct api_view *v, unsigned flags)
{
    if (!(flags & (API_FILTERS | API_VERSIONS)))
        return true;
    if (!http_query_number(v->r, "days", 1, API_DAYS_MAX, API_DAYS, &v->filter.days)) {
        api_pause(v);
        return false;
    }
    v->filter.first_day = (int64_t)(collector_now_ms() / 86400000) - v->filter.days + 1;
    if (!read_version(v))
        return false;
    return !(flags & API_FILTERS) ||
           (read_term(v, "os", 1, &v->filter.os) && read_term(v, "device", 2, &v->filter.device));
}

bool api_begin_in(struct api_view *v, struct http_request *r, int64_t project)
{
    if (!take(v, r))
        return false;
    v->project = project;
    v->filter.days = API_DAYS;
    v->filter.first_day = (int64_t)(collector_now_ms() / 86400000) - API_DAYS + 1;
    return true;
}

bool api_begin(struct api_view *v, struct http_request *r, unsigned flags, ...)
{
    if (!take(v, r))
        return false;
    const char *slug = http_part(r, "project");
    v->project = api_number(v, "SELECT id FROM project WHERE slug = $1", DB_VALUES(db_text(slug)));
    if (v->error) {
        api_end(v);
        return false;
    }
    if (!v->project || !access_reaches(&r->access, v->project)) {
        api_refuse(v, 404, "no project \"%.64s\" that this token reaches", slug);
        return false;
    }
    va_list names;
    va_start(names, flags);
    bool good = names_known(v, flags, names);
    va_end(names);
    if (!good || !read_filter(v, flags))
        return false;
    if (!v->error)
        return true;
    api_end(v);
    return false;
}

/* --- parts of the query and the path --- */

bool api_word(struct api_view *v, const char *name, const char *const *words, size_t count,
              int otherwise, int *value)
{
    const char *word = http_query(v->r, name);
    *value = otherwise;
    if (!word || !*word)
        return true;
    char there[512] = "";
    for (size_t i = 0, size = 0; i < count; i++) {
        *value = (int)i;
        if (strcmp(word, words[i]) == 0)
            return true;
        if (size < sizeof there)
            size += (size_t)snprintf(there + size, sizeof there - size, " %s", words[i]);
    }
    api_refuse(v, 400, "%s has no \"%.64s\"; there is:%s", name, word, there);
    return false;
}

/* Digits and nothing else, less than 2^63. */
static const char *read_number(const char *text, int64_t *number)
{
    const char *at = text;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9' && at - text < 19; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    *number = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    return at > text ? at : NULL;
}

bool api_id(struct api_view *v, const char *part, const char *noun, int64_t *id)
{
    const char *text = http_part(v->r, part);
    const char *end = read_number(text, id);
    if (end && !*end && *id > 0)
        return true;
    api_refuse(v, 404, "no %s \"%.64s\"", noun, text);
    return false;
}

bool api_cursor_read(struct api_view *v, struct api_cursor *cursor)
{
    *cursor = (struct api_cursor){.rank = INT64_MAX, .id = INT64_MAX};
    if (!http_query_number(v->r, "limit", 1, API_LIMIT_MAX, API_LIMIT, &cursor->limit)) {
        api_pause(v);
        return false;
    }
    const char *after = http_query(v->r, "after");
    if (!after || !*after)
        return true;
    const char *end = read_number(after, &cursor->rank);
    if (end && *end == '.')
        end = read_number(end + 1, &cursor->id);
    if (end && !*end)
        return true;
    api_refuse(v, 400, "\"after\" takes the \"next\" of an earlier answer");
    return false;
}

void api_cursor_write(struct report_bytes *out, bool more, int64_t rank, int64_t id)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRId64 ".%" PRId64, rank, id);
    api_text(out, "next", more ? text : NULL);
}
