/*
 * The symbol store as the page and `framewalk push` see it: which files are here, which are wanted
 * most, which of a list are missing; and taking files away.
 */
#include "base/failure.h"
#include "collector/api_json.h"
#include "collector/api_scope.h"
#include "collector/blobs.h"
#include "collector/jobs.h"
#include "collector/symbol_store.h"
#include "collector/symbols.h"

#include <stdio.h>
#include <stdlib.h>

enum { HAVE_MAX = 1000, ID_BYTES = 64, MISSING_DAYS = 30 };

static const char *const kinds[] = {"", "executable", "debuginfo", "map", "sources"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Bytes of hexadecimal digits of either case, dashes left out; 0 when there is something else. */
static size_t read_id(const char *text, uint8_t id[ID_BYTES])
{
    size_t digits = 0;
    for (; text && *text; text++) {
        if (*text == '-')
            continue;
        const char two[2] = {*text, 0};
        if (strspn(two, "0123456789abcdefABCDEF") != 1 || digits / 2 == ID_BYTES)
            return 0;
        unsigned long value = strtoul(two, NULL, 16);
        id[digits / 2] = (uint8_t)(digits % 2 ? id[digits / 2] | value : value << 4);
        digits++;
    }
    return digits % 2 ? 0 : digits / 2;
}

/* False: replied. */
static bool find_project(struct api_view *v, const char *slug)
{
    v->project = api_number(v, "SELECT id FROM project WHERE slug = $1", DB_VALUES(db_text(slug)));
    if (v->error) {
        api_end(v);
        return false;
    }
    if (v->project && access_reaches(&v->r->access, v->project))
        return true;
    api_refuse(v, 404, "no project \"%.64s\" that this token reaches", slug);
    return false;
}

/* ---- have ---- */

/* `v->project`: whose files count beside the shared ones; 0: none. */
static bool has_file(struct api_view *v, const json_t *wanted, bool *good)
{
    uint8_t id[ID_BYTES];
    size_t size = read_id(json_string_value(json_object_get(wanted, "debug_id")), id);
    const char *arch = json_string_value(json_object_get(wanted, "arch"));
    const char *kind = json_string_value(json_object_get(wanted, "kind"));
    int number = 0;
    for (int i = 1; kind && i < KINDS; i++)
        if (strcmp(kind, kinds[i]) == 0)
            number = i;
    *good = size > 0 && (!kind || number);
    if (!*good)
        return false;
    return api_number(
               v,
               "SELECT COUNT(*) FROM symbol_file WHERE debug_id = $1 AND ($2 = '' OR arch = "
               "$2) AND (kind = $3 OR ($3 = 0 AND kind < 4)) AND state < 2 AND project IN (0, "
               "$4)",
               DB_VALUES(db_bytes(id, size), db_text(arch ? arch : ""), db_int(number),
                         db_int(v->project))) > 0;
}

static void have(struct http_request *r)
{
    struct api_view v;
    json_t *body = http_json(r);
    if (!body)
        return;
    const json_t *ids = json_object_get(body, "ids");
    if (!json_is_array(ids) || json_array_size(ids) > HAVE_MAX) {
        json_decref(body);
        http_reply_error(r, 400,
                         "\"ids\" must be a list of at most %d {\"debug_id\", \"arch\", "
                         "\"kind\"}",
                         HAVE_MAX);
        return;
    }
    if (!api_begin_in(&v, r, r->access.project)) {
        json_decref(body);
        return;
    }
    const char *slug = json_string_value(json_object_get(body, "project"));
    if (slug && !find_project(&v, slug)) {
        json_decref(body);
        return;
    }
    bool good = true;
    size_t i = 0;
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "missing", '[');
    for (; good && i < json_array_size(ids); i++)
        if (!has_file(&v, json_array_get(ids, i), &good) && good)
            api_int(&v.out, NULL, (int64_t)i);
    api_shut(&v.out, ']');
    api_shut(&v.out, '}');
    json_decref(body);
    if (good)
        api_end(&v);
    else
        api_refuse(&v, 400,
                   "ids[%zu]: \"debug_id\" must be hexadecimal digits, \"kind\" one of "
                   "executable, debuginfo, map, sources",
                   i - 1);
}

/* ---- missing ---- */

/* An image that the system brought, as far as its path tells. */
static bool of_system(const char *path)
{
    static const char *const starts[] = {"/usr/lib",   "/usr/libexec/", "/usr/bin/",  "/lib",
                                         "/bin/",      "/sbin/",        "/System/",   "[",
                                         "/usr/sbin/", "/snap/",        "/nix/store/"};
    for (size_t i = 0; path && i < sizeof starts / sizeof *starts; i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool find_project_of_query(struct api_view *v)
{
    const char *slug = http_query(v->r, "project");
    if (slug)
        return find_project(v, slug);
    api_refuse(v, 400, "project=NAME says whose reports count");
    return false;
}

static void missing_row(struct api_view *v, const struct db_rows *rows)
{
    const char *path = db_get_text(rows, 4);
    api_open(&v->out, NULL, '{');
    api_hex(&v->out, "debug_id", db_get_bytes(rows, 1));
    api_text(&v->out, "name", db_get_text(rows, 2));
    api_text(&v->out, "arch", db_get_text(rows, 3));
    api_text(&v->out, "path", path);
    api_int(&v->out, "reports", db_get_int(rows, 5));
    api_int(&v->out, "frames", db_get_int(rows, 6));
    api_day(&v->out, "last_day", db_get_int(rows, 7));
    api_bool(&v->out, "app", !of_system(path));
    api_shut(&v->out, '}');
}

static void missing(struct http_request *r)
{
    struct api_view v;
    struct api_cursor at, last = {0};
    int64_t days, count = 0;
    if (!http_query_number(r, "days", 1, API_DAYS_MAX, MISSING_DAYS, &days) ||
        !api_begin_in(&v, r, 0))
        return;
    if (!find_project_of_query(&v) || !api_cursor_read(&v, &at))
        return;
    int64_t first = (int64_t)(collector_now_ms() / 86400000) - days + 1;
    struct db_rows *rows = api_query(
        &v,
        "SELECT i.id, i.debug_id, i.name, a.arch, i.path, " API_SUM("d.reports") ", " API_SUM(
            "d.frames") ", MAX(d.day) FROM image_day d JOIN project_image i ON i.image = "
                        "d.image AND i.project = d.project JOIN image a ON a.id = d.image WHERE "
                        "d.project = $1 AND d.day >= $2 AND i.has_map = 0 AND "
                        "length(i.debug_id) > 0 GROUP BY i.id, i.debug_id, i.name, a.arch, i.path "
                        "HAVING SUM(d.reports) < $3 OR (SUM(d.reports) = $3 AND i.id < $4) "
                        "ORDER BY SUM(d.reports) DESC, i.id DESC LIMIT $5",
        DB_VALUES(db_int(v.project), db_int(first), db_int(at.rank), db_int(at.id),
                  db_int(at.limit + 1)));
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    while (api_next(&v, rows) && count++ < at.limit) {
        last.rank = db_get_int(rows, 5);
        last.id = db_get_int(rows, 0);
        missing_row(&v, rows);
    }
    api_done(&v, rows);
    api_shut(&v.out, ']');
    api_cursor_write(&v.out, count > at.limit, last.rank, last.id);
    api_shut(&v.out, '}');
    api_end(&v);
}

/* ---- files ---- */

static void list_words(struct api_view *v, const char *words)
{
    char word[32];
    api_open(&v->out, "features", '[');
    while (words && *words) {
        size_t size = strcspn(words, ",");
        snprintf(word, sizeof word, "%.*s", (int)(size < sizeof word ? size : sizeof word - 1),
                 words);
        api_text(&v->out, NULL, word);
        words += size + (words[size] == ',');
    }
    api_shut(&v->out, ']');
}

/* Who sent and used a shared file is not told to a project: it may have been another one. */
static void file_row(struct api_view *v, const struct db_rows *rows)
{
    bool mine = !v->r->access.project || db_get_int(rows, 12);
    static const char *const states[] = {"stored", "mapped", "unusable"};
    int64_t kind = db_get_int(rows, 3), state = db_get_int(rows, 6);
    api_open(&v->out, NULL, '{');
    api_int(&v->out, "id", db_get_int(rows, 0));
    api_hex(&v->out, "debug_id", db_get_bytes(rows, 1));
    api_text(&v->out, "arch", db_get_text(rows, 2));
    api_text(&v->out, "kind", kind > 0 && kind < KINDS ? kinds[kind] : "");
    api_text(&v->out, "name", db_get_text(rows, 4));
    api_int(&v->out, "size", db_get_int(rows, 5));
    api_text(&v->out, "state", state >= 0 && state < 3 ? states[state] : "");
    api_text(&v->out, "message", db_get_text(rows, 7));
    list_words(v, db_get_text(rows, 8));
    api_int(&v->out, "uploaded_ms", db_get_int(rows, 9));
    api_text(&v->out, "uploaded_by", mine ? db_get_text(rows, 10) : "");
    api_int(&v->out, "used_ms", db_get_int(rows, mine ? 11 : 9));
    api_text(&v->out, "project", db_get_text(rows, 13));
    api_shut(&v->out, '}');
}

/* What begins with these bytes is at least `low` and below `high`. */
static void id_range(const char *q, struct span *low, uint8_t bytes[2][ID_BYTES + 1],
                     struct span *high)
{
    size_t size = read_id(q, bytes[0]);
    *low = *high = (struct span){bytes[0], 0};
    if (size < 2)
        return;
    memcpy(bytes[1], bytes[0], size);
    memset(bytes[1] + size, 0xff, ID_BYTES + 1 - size);
    *low = (struct span){bytes[0], size};
    *high = (struct span){bytes[1], ID_BYTES + 1};
}

/* "%text%" with LIKE's own signs left out. */
static void make_pattern(const char *q, char *pattern, size_t size)
{
    size_t n = 0;
    pattern[n++] = '%';
    for (; *q && n + 2 < size; q++)
        pattern[n++] = *q == '%' || *q == '\\' ? '_' : *q;
    pattern[n++] = '%';
    pattern[n] = 0;
}

static void files(struct http_request *r)
{
    struct api_view v;
    struct api_cursor at;
    uint8_t bytes[2][ID_BYTES + 1];
    struct span low, high;
    char pattern[256];
    int64_t count = 0, last = 0;
    const char *q = http_query(r, "q");
    q = q ? q : "";
    id_range(q, &low, bytes, &high);
    make_pattern(q, pattern, sizeof pattern);
    if (!api_begin_in(&v, r, 0) || !api_cursor_read(&v, &at))
        return;
    struct db_rows *rows = api_query(
        &v,
        "SELECT id, debug_id, arch, kind, name, size, state, message, features, uploaded_ms, "
        "uploaded_by, used_ms, project, (SELECT slug FROM project p WHERE p.id = "
        "symbol_file.project) FROM symbol_file WHERE id < $1 AND ($2 = '' OR name LIKE $3 OR "
        "(debug_id >= $4 AND debug_id < $5)) AND " SYMBOLS_OF("7") " ORDER BY id DESC LIMIT $6",
        DB_VALUES(db_int(at.id), db_text(q), db_text(pattern), db_bytes(low.data, low.size),
                  db_bytes(high.data, high.size), db_int(at.limit + 1),
                  db_int(symbols_of(&r->access))));
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    while (api_next(&v, rows) && count++ < at.limit) {
        last = db_get_int(rows, 0);
        file_row(&v, rows);
    }
    api_done(&v, rows);
    api_shut(&v.out, ']');
    api_cursor_write(&v.out, count > at.limit, 0, last);
    api_shut(&v.out, '}');
    api_end(&v);
}

/* ---- going ---- */

/* *left: sources that are of no use without it, 0: none. */
static fw_error remove_row(struct http_request *r, int64_t id, struct symbol_file *file,
                           int64_t *left, struct fw_failure *why)
{
    struct db_conn *conn;
    char hex[2 * ID_BYTES + 1];
    fw_error error = db_take(r->collector->db, DB_WRITE, &conn, why);
    if (error != FW_OK)
        return error;
    error = db_begin(conn, why);
    if (error == FW_OK)
        error = symbol_store_remove(conn, symbols_of(&r->access), id, file, why);
    symbol_id_hex(file->id, file->id_size, hex, sizeof hex);
    if (error == FW_OK)
        audit(conn, &r->access, "symbols.remove", hex, file->name);
    if (error == FW_OK)
        error = symbol_store_orphan(conn, file->project, file->id, file->id_size, left, why);
    if (error == FW_OK)
        error = db_commit(conn, why);
    db_give(r->collector->db, conn);
    return error;
}

/* {id} of the path; 0, and replied, when it is none. */
static int64_t id_of_path(struct http_request *r)
{
    const char *text = http_part(r, "id");
    char *end = NULL;
    long long id = text ? strtoll(text, &end, 10) : 0;
    if (id > 0 && !*end)
        return id;
    http_reply_error(r, 404, "no file of that number");
    return 0;
}

static void take_away(struct http_request *r)
{
    struct symbol_file file;
    struct fw_failure why = {0};
    int64_t id = id_of_path(r);
    if (!id)
        return;
    for (int64_t row = id, left = 0; row; row = left) {
        if (remove_row(r, row, &file, &left, &why) != FW_OK) {
            http_reply_failure(r, &why);
            return;
        }
        symbols_changed(r->collector->symbols, file.id, file.id_size);
        if (file.blob[0])
            blobs_remove(r->collector->blobs, file.blob, NULL);
        if (file.map_blob[0])
            blobs_remove(r->collector->blobs, file.map_blob, NULL);
    }
    jobs_wake(r->collector->jobs);
    http_reply_text(r, 204, "text/plain", "");
}

/* ---- whose ---- */

static fw_error give_row(struct http_request *r, int64_t id, int64_t project, const char *slug,
                         struct symbol_file *file, struct fw_failure *why)
{
    struct db_conn *conn;
    char hex[2 * ID_BYTES + 1], detail[64];
    fw_error error = db_take(r->collector->db, DB_WRITE, &conn, why);
    if (error != FW_OK)
        return error;
    error = db_begin(conn, why);
    if (error == FW_OK)
        error = symbol_store_give(conn, id, project, file, why);
    symbol_id_hex(file->id, file->id_size, hex, sizeof hex);
    snprintf(detail, sizeof detail, "%s", slug ? slug : "shared");
    if (error == FW_OK)
        audit(conn, &r->access, "symbols.give", hex, detail);
    if (error == FW_OK)
        error = db_commit(conn, why);
    db_give(r->collector->db, conn);
    return error;
}

/* Shared with all projects, or one's own: for who administers all of them. */
static void give(struct http_request *r)
{
    struct symbol_file file;
    struct fw_failure why = {0};
    int64_t id = id_of_path(r);
    json_t *body = id ? http_json(r) : NULL;
    if (!body)
        return;
    const json_t *whose = json_object_get(body, "project");
    const char *slug = json_string_value(whose);
    int64_t project = 0;
    if (r->access.project)
        http_reply_error(r, 403, "this needs a token that is not limited to one project");
    else if (!json_is_string(whose) && !json_is_null(whose))
        http_reply_error(r, 400, "\"project\" names the project, or is null: shared with all");
    else if (slug && !api_scope_project(r, slug, &project))
        ; /* replied */
    else if (give_row(r, id, project, slug, &file, &why) == FW_OK) {
        symbols_changed(r->collector->symbols, file.id, file.id_size);
        jobs_wake(r->collector->jobs);
        http_reply_text(r, 204, "text/plain", "");
    } else if (why.code == FW_ERR_ARGUMENT)
        http_reply_error(r, 409, "%s", why.message);
    else
        http_reply_failure(r, &why);
    json_decref(body);
}

static const struct http_route routes[] = {
    {.method = "POST",
     .pattern = "/api/v1/symbols/have",
     .needs = ACCESS_SYMBOLS_WRITE,
     .flags = HTTP_GZIP,
     .body_limit = 1 << 20,
     .handle = have},
    {.method = "GET",
     .pattern = "/api/v1/symbols/missing",
     .needs = ACCESS_READ,
     .handle = missing},
    {.method = "GET", .pattern = "/api/v1/symbols/files", .needs = ACCESS_READ, .handle = files},
    {.method = "PATCH",
     .pattern = "/api/v1/symbols/files/{id}",
     .needs = ACCESS_ADMIN,
     .body_limit = 4096,
     .handle = give},
    {.method = "DELETE",
     .pattern = "/api/v1/symbols/files/{id}",
     .needs = ACCESS_SYMBOLS_WRITE,
     .handle = take_away},
};
const struct http_routes routes_symbols = {routes, sizeof routes / sizeof *routes};
