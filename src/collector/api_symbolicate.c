/*
 * Names for what is sent, which is never stored: /symbolicate/v5 of the Firefox Profiler
 * (report/v5.h), and POST /api/v1/symbolicate for any report or list of addresses.
 *
 * The limits of v5 are those of Mozilla's server: 10 jobs, ids of hexadecimal digits, file names of
 * the letters that its own file names have.
 */
#include "collector/api_scope.h"
#include "collector/db.h"
#include "collector/http.h"
#include "collector/symbol_layout.h"
#include "collector/symbols.h"
#include "report/out.h"
#include "report/v5.h"

#include <stdlib.h>

enum {
    V5_JOBS = 10,
    V5_BYTES = 4 << 20,
    REPORT_BYTES =
        8 << 20, /* four bytes may be a frame, which takes two hundred while it is named */
    LARGE_BYTES = 256 << 10,
    BY_NAME_MOST = 64 /* images of one report that are looked for by name */
};

/* malloc'ed bytes to the reply. */
static void reply_out(struct http_request *r, const char *type, struct report_bytes *out)
{
    if (out->failed)
        http_reply_error(r, 503, "no memory for the answer");
    else
        http_reply_bytes(r, 200, type, out->data, out->size);
    if (out->failed)
        report_bytes_free(out);
}

/* ---- /symbolicate/v5 ---- */

static const char *v5_objection(const struct report *request)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_.+{}@<> ~-";
    for (size_t i = 0; i < request->image_count; i++) {
        const struct report_image *image = &request->images[i];
        const char *id = image->breakpad ? image->breakpad : "";
        if (image->name[strspn(image->name, letters)])
            return "a debug file name has letters that none has";
        if (id[strspn(id, "0123456789abcdefABCDEF")])
            return "a debug id is not hexadecimal";
        if (image->group >= V5_JOBS)
            return "more than 10 jobs";
    }
    for (size_t i = 0; i < request->thread_count; i++)
        if (request->threads[i].group >= V5_JOBS)
            return "more than 10 jobs";
    return NULL;
}

static enum v5_found v5_find_image(void *names, const struct report *request, uint32_t image)
{
    (void)request;
    if (!symbols_report_asked(names, image))
        return V5_NOT_ASKED;
    return symbols_report_has(names, image) ? V5_FOUND : V5_NOT_FOUND;
}

/* `Debug: true`: how long it took and what there was, before the brace that ends the answer. */
static void add_debug(struct report_bytes *out, const struct report *request,
                      const struct symbols_report *names, uint64_t began)
{
    size_t asked = 0, found = 0;
    for (uint32_t i = 0; i < request->image_count; i++) {
        asked += symbols_report_asked(names, i);
        found += symbols_report_has(names, i);
    }
    while (out->size && out->data[out->size - 1] != '}')
        out->size--;
    if (!out->size)
        return;
    out->size--;
    out_format(out,
               ",\"debug\":{\"time\":%.6f,\"modules\":{\"count\":%zu,\"found\":%zu},"
               "\"stacks\":{\"count\":%zu},\"frames\":{\"count\":%zu}}}",
               (double)(clock_us() - began) * 1e-6, asked, found, request->thread_count,
               request->frame_count);
}

static void answer_v5(struct http_request *r, const struct report *request)
{
    struct fw_failure why = {0};
    struct symbols_report *names;
    struct report_bytes out = {0};
    uint64_t began = clock_us();
    if (symbols_report_open(r->collector->symbols, symbols_of(&r->access), request, &names, &why) !=
        FW_OK) {
        http_reply_failure(r, &why);
        return;
    }
    v5_write_answer(request, symbols_resolve, v5_find_image, names, &out);
    const char *debug = http_header(r, "Debug");
    if (debug && strcmp(debug, "true") == 0)
        add_debug(&out, request, names, began);
    symbols_report_close(names);
    reply_out(r, "application/json", &out);
}

static void do_v5(struct http_request *r)
{
    struct fw_failure why = {0};
    struct report *request;
    if (report_read(r->body, &request, &why) != FW_OK) {
        http_reply_failure(r, &why);
        return;
    }
    const char *objection = NULL;
    if (v5_check(request, &why) != FW_OK || (objection = v5_objection(request)))
        http_reply_error(r, 400, "%s", objection ? objection : why.message);
    else
        answer_v5(r, request);
    report_free(request);
}

/* ---- any report ---- */

static bool take_name(struct db_conn *conn, int64_t project, struct report_image *image)
{
    struct db_rows *rows;
    if (db_query(conn, &rows, NULL,
                 "SELECT DISTINCT debug_id FROM symbol_file WHERE name = $1 AND " SYMBOLS_OF(
                     "2") " LIMIT 2",
                 DB_VALUES(db_text(image->name), db_int(project))) != FW_OK)
        return false;
    size_t count = 0;
    while (db_next(rows)) {
        struct span id = db_get_bytes(rows, 0);
        if (count++ == 0 && id.size <= sizeof image->id) {
            memcpy(image->id, id.data, id.size);
            image->id_size = (uint32_t)id.size;
        }
    }
    if (db_end(rows, NULL) != FW_OK || count != 1) /* of several builds none is the one */
        image->id_size = 0;
    return true;
}

/* Lists, sanitizers and perf name images without ids: then the name may be an id itself, or be
 * that of exactly one image that is stored. */
static void identify(struct collector *c, int64_t project, struct report *report)
{
    struct db_conn *conn = NULL;
    size_t asked = 0;
    for (size_t i = 0; i < report->image_count && asked < BY_NAME_MOST; i++) {
        struct report_image *image = &report->images[i];
        size_t size = 0;
        if (image->id_size || !image->name[0])
            continue;
        if (symbol_id_read(image->name, strlen(image->name), image->id, &size) && size >= 8) {
            image->id_size = (uint32_t)size;
            continue;
        }
        if (!conn && db_take(c->db, DB_READ, &conn, NULL) != FW_OK)
            return;
        asked++;
        if (!take_name(conn, project, image))
            break;
    }
    db_give(c->db, conn);
}

static fw_error write_named(const struct report *report, struct symbols_report *names,
                            struct report_bytes *out)
{
    if (report->kind == REPORT_V5)
        return v5_write_answer(report, symbols_resolve, v5_find_image, names, out);
    if (report->kind == REPORT_FRAMEWALK)
        return report_to_text(report, symbols_resolve, names, out);
    return report_write(report, symbols_resolve, names, out);
}

static void out_missing(struct report_bytes *out, const struct report *report,
                        const struct symbols_report *names)
{
    bool any = false;
    out_text(out, ",\"missing\":[");
    for (uint32_t i = 0; i < report->image_count; i++) {
        const struct report_image *image = &report->images[i];
        if (symbols_report_has(names, i) || !symbols_report_unnamed(names, i))
            continue;
        out_format(out, "%s{\"debug_id\":\"", any ? "," : "");
        out_hex(out, image->id, image->id_size);
        out_text(out, "\",\"name\":");
        out_json(out, image->name);
        out_text(out, "}");
        any = true;
    }
    out_text(out, "]");
}

static bool wants_json(const struct http_request *r)
{
    const char *accept = http_header(r, "Accept");
    return accept && strstr(accept, "application/json");
}

static void reply_named(struct http_request *r, const struct report *report,
                        struct symbols_report *names)
{
    struct report_bytes text = {0}, out = {0};
    fw_error error = symbols_report_short_files(names);
    if (error == FW_OK)
        error = write_named(report, names, &text);
    if (error != FW_OK || !wants_json(r)) {
        text.failed |= error != FW_OK;
        reply_out(r, "text/plain; charset=utf-8", &text);
        return;
    }
    out_text(&out, "{\"text\":");
    out_json(&out, text.data ? text.data : "");
    out_text(&out, ",\"kind\":");
    out_json(&out, report_kind_text(report->kind));
    out_missing(&out, report, names);
    out_text(&out, "}");
    report_bytes_free(&text);
    reply_out(r, "application/json", &out);
}

static void do_symbolicate(struct http_request *r)
{
    struct fw_failure why = {0};
    int64_t project;
    if (!api_scope_symbols(r, &project))
        return;
    struct report *report;
    struct symbols_report *names;
    if (report_read(r->body, &report, &why) != FW_OK) {
        http_reply_failure(r, &why);
        return;
    }
    identify(r->collector, project, report);
    if (report->kind == REPORT_OTHER)
        http_reply_error(r, 422, "nothing in this text is a report or an address that is known");
    else if (symbols_report_open(r->collector->symbols, project, report, &names, &why) != FW_OK)
        http_reply_failure(r, &why);
    else {
        reply_named(r, report, names);
        symbols_report_close(names);
    }
    report_free(report);
}

/* Large ones take their turn. */
static void in_turn(struct http_request *r, void (*handle)(struct http_request *r))
{
    struct symbols *symbols = r->collector->symbols;
    bool large = r->body.size > LARGE_BYTES;
    if (large && !symbols_alone_begin(symbols)) {
        http_set_header(r, "Retry-After", "5");
        http_reply_error(r, 503,
                         "another large request is being worked on; try again in some "
                         "seconds");
        return;
    }
    handle(r);
    if (large)
        symbols_alone_end(symbols);
}

static void post_v5(struct http_request *r)
{
    in_turn(r, do_v5);
}

static void post_symbolicate(struct http_request *r)
{
    in_turn(r, do_symbolicate);
}

static const struct http_route routes[] = {
    {"POST", "/symbolicate/v5", ACCESS_SYMBOLS_READ, HTTP_CROSS | HTTP_GZIP, V5_BYTES, post_v5,
     NULL, NULL},
    {"POST", "/api/v1/symbolicate", ACCESS_READ, HTTP_GZIP, REPORT_BYTES, post_symbolicate, NULL,
     NULL},
};
const struct http_routes routes_symbolicate = {routes, sizeof routes / sizeof *routes};
