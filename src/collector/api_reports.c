#include "collector/api_reports.h"

#include "base/hex.h"
#include "report/fwr.h"
#include "report/words.h"

const char *api_report_kind(int64_t kind)
{
    switch (kind) {
    case FWR_KIND_HANG: return "hang";
    case FWR_KIND_CALLS: return "calls";
    case FWR_KIND_SNAPSHOT: return "snapshot";
    default:
        return kind >= 100 && kind <= 100 + REPORT_FRAMEWALK
                   ? report_kind_text((enum report_kind)(kind - 100))
                   : "other";
    }
}

/* --- lists --- */

#define COLUMNS                                                                                    \
    "SELECT r.id, r.report_id, r.kind, r.received_ms, r.started_ms, r.duration_ns, r.ending,"      \
    " r.complete, r.group_id, v.version, v.build, o.text, d.text, g.title"
#define JOINS                                                                                      \
    " JOIN version v ON v.id = r.version LEFT JOIN term o ON o.id = r.os"                          \
    " LEFT JOIN term d ON d.id = r.device LEFT JOIN hang_group g ON g.id = r.group_id"
/* $2 from which day on (that of the report, which began one day after it came at most), $3 version,
 * $4 os, $5 device, $6 and $7 the cursor, $8 limit, $9 group. Which ones is found in an index
 * alone, before their rows are read. */
#define LIST(of)                                                                                   \
    COLUMNS " FROM (SELECT r.id FROM report r WHERE " of                                           \
            " AND r.received_ms >= $2 - 86400000 AND r.day >= $2 / 86400000"                       \
            " AND ($4 = 0 OR r.os = $4) AND ($5 = 0 OR r.device = $5) AND " API_OF_VERSION(        \
                "r") " AND r.received_ms <= $6 AND (r.received_ms < $6 OR r.id < $7)"              \
                     " ORDER BY r.received_ms DESC, r.id DESC LIMIT $8) n JOIN report r ON r.id "  \
                     "= n.id" JOINS " ORDER BY r.received_ms DESC, r.id DESC"
#define LIST_OF_ALL   LIST("r.project = $1 AND $9 = 0")
#define LIST_OF_GROUP LIST("r.group_id = $9")
#define LIST_BY_ID                                                                                 \
    COLUMNS                                                                                        \
    " FROM report r" JOINS                                                                         \
    " WHERE r.project = $1 AND r.report_id >= $2 AND r.report_id <= $3 ORDER BY r.report_id"       \
    " LIMIT $4"

enum {
    R_ROW,
    R_ID,
    R_KIND,
    R_RECEIVED,
    R_STARTED,
    R_DURATION,
    R_ENDING,
    R_COMPLETE,
    R_GROUP,
    R_VERSION,
    R_BUILD,
    R_OS,
    R_DEVICE,
    R_TITLE
};

static void write_item(struct report_bytes *out, const struct db_rows *rows)
{
    api_open(out, NULL, '{');
    api_hex(out, "id", db_get_bytes(rows, R_ID));
    api_text(out, "kind", api_report_kind(db_get_int(rows, R_KIND)));
    api_int(out, "received_ms", db_get_int(rows, R_RECEIVED));
    api_int(out, "started_ms", db_get_int(rows, R_STARTED));
    api_version(out, "version", db_get_text(rows, R_VERSION), db_get_text(rows, R_BUILD));
    api_text(out, "os", db_get_text(rows, R_OS));
    api_text(out, "device", db_get_text(rows, R_DEVICE));
    api_int(out, "duration_ns", db_get_int(rows, R_DURATION));
    api_text(out, "ending", ending_word((uint8_t)db_get_int(rows, R_ENDING)));
    api_bool(out, "complete", db_get_int(rows, R_COMPLETE) != 0);
    if (db_is_null(rows, R_GROUP) || db_is_null(rows, R_TITLE)) {
        api_null(out, "group");
    } else {
        api_open(out, "group", '{');
        api_int(out, "id", db_get_int(rows, R_GROUP));
        api_text(out, "title", db_get_text(rows, R_TITLE));
        api_shut(out, '}');
    }
    api_shut(out, '}');
}

static struct db_rows *query_list(struct api_view *v, const struct api_report_query *q)
{
    const struct api_filter *f = &v->filter;
    if (q->by_id)
        return api_query(v, LIST_BY_ID,
                         DB_VALUES(db_int(v->project), db_bytes(q->id_from, 16),
                                   db_bytes(q->id_to, 16), db_int(q->after.limit)));
    /* The other views look at some days; a list goes back as far as there are reports, unless it
     * was asked not to. */
    int64_t since = http_query(v->r, "days") ? f->first_day * 86400000 : 0;
    return api_query(v, q->group ? LIST_OF_GROUP : LIST_OF_ALL,
                     DB_VALUES(db_int(v->project), db_int(since), db_text(f->version),
                               db_int(f->os), db_int(f->device), db_int(q->after.rank),
                               db_int(q->after.id), db_int(q->after.limit + 1), db_int(q->group)));
}

void api_reports(struct api_view *v, const struct api_report_query *query)
{
    int64_t count = 0, rank = 0, id = 0;
    bool more = false;
    if (query->group && !api_number(v, "SELECT id FROM hang_group WHERE id = $1 AND project = $2",
                                    DB_VALUES(db_int(query->group), db_int(v->project))))
        api_fail(v, FW_ERR_NOT_FOUND, "no such group");
    api_open(&v->out, NULL, '{');
    api_open(&v->out, "items", '[');
    struct db_rows *rows = query_list(v, query);
    while (api_next(v, rows)) {
        more = count == query->after.limit;
        if (more)
            break;
        write_item(&v->out, rows);
        rank = db_get_int(rows, R_RECEIVED);
        id = db_get_int(rows, R_ROW);
        count++;
    }
    api_done(v, rows);
    api_shut(&v->out, ']');
    api_cursor_write(&v->out, more, rank, id);
    api_shut(&v->out, '}');
}

/* --- one --- */

/* The ids that begin with these digits. False: it is no beginning of an id. */
static bool read_id(const char *text, uint8_t from[16], uint8_t to[16])
{
    size_t size = strlen(text);
    for (size_t i = 0; i < 32; i++) {
        int low = i < size ? hex_lower_digit(text[i]) : 0, high = i < size ? low : 15;
        if (low < 0)
            return false;
        from[i / 2] = (uint8_t)((i & 1) ? from[i / 2] | low : low << 4);
        to[i / 2] = (uint8_t)((i & 1) ? to[i / 2] | high : high << 4);
    }
    return size > 0 && size <= 32;
}

static const char *keep(struct api_view *v, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? arena_take(&v->r->arena, size) : NULL;
    if (text && !copy)
        api_no_memory(v);
    return copy ? memcpy(copy, text, size) : NULL;
}

bool api_report_find(struct api_view *v, struct api_report_row *row)
{
    const char *text = http_part(v->r, "id");
    uint8_t to[16];
    bool found = strlen(text) == 32 && read_id(text, row->id, to);
    if (found) {
        struct db_rows *rows = api_query(
            v, COLUMNS " FROM report r" JOINS " WHERE r.project = $1 AND r.report_id = $2",
            DB_VALUES(db_int(v->project), db_bytes(row->id, 16)));
        found = api_next(v, rows);
        if (found) {
            row->row = db_get_int(rows, R_ROW);
            row->kind = db_get_int(rows, R_KIND);
            row->received_ms = db_get_int(rows, R_RECEIVED);
            row->started_ms = db_get_int(rows, R_STARTED);
            row->duration_ns = db_get_int(rows, R_DURATION);
            row->ending = db_get_int(rows, R_ENDING);
            row->complete = db_get_int(rows, R_COMPLETE);
            row->group = db_get_int(rows, R_GROUP);
            row->version = keep(v, db_get_text(rows, R_VERSION));
            row->build = keep(v, db_get_text(rows, R_BUILD));
            row->os = keep(v, db_get_text(rows, R_OS));
            row->device = keep(v, db_get_text(rows, R_DEVICE));
            row->group_title = keep(v, db_get_text(rows, R_TITLE));
        }
        api_done(v, rows);
    }
    if (!found && !v->error) {
        api_refuse(v, 404, "no report \"%.64s\" in this project", text);
        return false;
    }
    if (v->error)
        api_end(v);
    return !v->error;
}

static void get_reports(struct http_request *r)
{
    struct api_view v;
    struct api_report_query q = {.group = 0};
    if (!api_begin(&v, r, API_FILTERS | API_PAGES, "q", "group", NULL) ||
        !api_cursor_read(&v, &q.after))
        return;
    const char *text = http_query(r, "q"), *group = http_query(r, "group");
    q.by_id = text && *text;
    if (q.by_id && !read_id(text, q.id_from, q.id_to)) {
        api_refuse(&v, 400,
                   "\"q\" takes a report's id or its first digits (0-9, a-f); functions "
                   "and files are searched among groups");
        return;
    }
    if (group && *group) {
        q.group = atoll(group);
        if (q.group <= 0) {
            api_refuse(&v, 400, "\"group\" takes a group's id, a number");
            return;
        }
    }
    api_reports(&v, &q);
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/reports",
     .needs = ACCESS_READ,
     .handle = get_reports},
};
const struct http_routes routes_reports_read = {routes, sizeof routes / sizeof *routes};
