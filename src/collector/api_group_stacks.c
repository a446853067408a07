/*
 * The stacks that a group's reports are grouped by, those that hung longest first: what there is to
 * choose from when somebody splits the group.
 */
#include "collector/api_frames.h"

#include <stdlib.h>

struct stacks {
    struct api_view *v;
    int64_t group, total, blocked;
    struct api_cursor after;
    struct report_bytes codes;
    struct listed { /* its code is at `start` of the codes */
        int64_t id, reports, blocked, last_ms;
        size_t start, size;
        bool by_hand;
    } items[API_LIMIT_MAX];
    size_t count;
    bool more;
};

/* $1 project, $2 first day, $3 version, $4 os, $5 device, $6 group, $7 and $8 the cursor, $9 limit.
 */
/* clang-format off */
static const char sql[] =
    "WITH sums AS MATERIALIZED (SELECT r.stack AS id, COUNT(*) AS reports,"
    " " API_SUM("r.duration_ns") " AS blocked, MAX(r.started_ms) AS last_ms"
    " FROM report r WHERE r.group_id = $6 AND r.day >= $2 AND r.stack IS NOT NULL"
    " AND ($4 = 0 OR r.os = $4) AND ($5 = 0 OR r.device = $5)"
    " AND " API_OF_VERSION("r") " GROUP BY r.stack)"
    " SELECT s.id, p.reports, p.blocked, p.last_ms, s.pinned, s.frames,"
    " (SELECT COUNT(*) FROM sums), (SELECT " API_SUM("blocked") " FROM sums)"
    " FROM (SELECT * FROM sums WHERE blocked < $7 OR (blocked = $7 AND id < $8)"
    " ORDER BY blocked DESC, id DESC LIMIT $9) p"
    " JOIN stack s ON s.id = p.id AND s.project = $1 ORDER BY p.blocked DESC, p.id DESC";
/* clang-format on */

static void read_items(struct stacks *s)
{
    struct api_view *v = s->v;
    const struct api_filter *f = &v->filter;
    int64_t since = http_query(v->r, "days") ? f->first_day : 0;
    struct db_rows *rows =
        api_query(v, sql,
                  DB_VALUES(db_int(v->project), db_int(since), db_text(f->version), db_int(f->os),
                            db_int(f->device), db_int(s->group), db_int(s->after.rank),
                            db_int(s->after.id), db_int(s->after.limit + 1)));
    while (api_next(v, rows)) {
        s->more = (int64_t)s->count == s->after.limit;
        if (s->more)
            break;
        struct span code = db_get_bytes(rows, 5);
        s->items[s->count++] = (struct listed){
            .id = db_get_int(rows, 0),
            .reports = db_get_int(rows, 1),
            .blocked = db_get_int(rows, 2),
            .last_ms = db_get_int(rows, 3),
            .by_hand = db_get_int(rows, 4) != 0,
            .start = s->codes.size,
            .size = code.size,
        };
        out_bytes(&s->codes, code.data, code.size);
        s->total = db_get_int(rows, 6);
        s->blocked = db_get_int(rows, 7);
    }
    api_done(v, rows);
    if (s->codes.failed)
        api_fail(v, FW_ERR_MEMORY, "out of memory");
}

static void write_items(struct stacks *s)
{
    struct report_bytes *out = &s->v->out;
    struct api_frames *frames = api_frames_new(s->v);
    const struct listed *last = s->count ? &s->items[s->count - 1] : NULL;
    api_open(out, NULL, '{');
    api_open(out, "items", '[');
    for (size_t i = 0; frames && i < s->count; i++) {
        const struct listed *item = &s->items[i];
        api_open(out, NULL, '{');
        api_int(out, "id", item->id);
        api_int(out, "reports", item->reports);
        api_int(out, "blocked_ns", item->blocked);
        api_int(out, "last_ms", item->last_ms);
        api_bool(out, "by_hand", item->by_hand);
        api_stack_write(frames, "frames",
                        (struct span){(uint8_t *)s->codes.data + item->start, item->size});
        api_shut(out, '}');
    }
    api_frames_free(frames);
    api_shut(out, ']');
    api_cursor_write(out, s->more, last ? last->blocked : 0, last ? last->id : 0);
    api_int(out, "total", s->total);
    api_int(out, "blocked_ns", s->blocked);
    api_shut(out, '}');
}

static void list(struct stacks *s)
{
    struct api_view *v = s->v;
    if (!api_number(v, "SELECT id FROM hang_group WHERE id = $1 AND project = $2",
                    DB_VALUES(db_int(s->group), db_int(v->project))) &&
        !v->error) {
        api_refuse(v, 404, "no group %lld", (long long)s->group);
        return;
    }
    read_items(s);
    write_items(s);
    api_end(v);
}

static void get_stacks(struct http_request *r)
{
    struct api_view v;
    int64_t group;
    struct api_cursor after;
    if (!api_begin(&v, r, API_FILTERS | API_PAGES, NULL) || !api_id(&v, "id", "group", &group) ||
        !api_cursor_read(&v, &after))
        return;
    struct stacks *s = calloc(1, sizeof *s);
    if (!s) {
        api_fail(&v, FW_ERR_MEMORY, "out of memory");
        api_end(&v);
        return;
    }
    s->v = &v;
    s->group = group;
    s->after = after;
    list(s);
    report_bytes_free(&s->codes);
    free(s);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/groups/{id}/stacks",
     .needs = ACCESS_READ,
     .handle = get_stacks},
};
const struct http_routes routes_group_stacks = {routes, sizeof routes / sizeof *routes};
