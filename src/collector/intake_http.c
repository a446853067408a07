/*
 * POST /api/v1/reports: docs/upload.md, said by the collector. What is not a report is refused,
 * each by itself; the others wait in the intake's queue for their commit, and the reply goes out
 * when all have a verdict.
 */
#include "base/hex.h"
#include "collector/db.h"
#include "collector/http.h"
#include "collector/intake.h"
#include "collector/intake_project.h"
#include "collector/metrics.h"
#include "collector/report_lines.h"
#include "report/fwr_write.h"

#include <stdio.h>
#include <strings.h>

#define MEDIA_TYPE "application/vnd.framewalk.reports"

struct sent { /* a request that waits for its verdicts; in the request's arena */
    struct http_request *request;
    struct intake_item *items;
    size_t count;
};

/* ---- verdicts ---- */

static void refuse(struct intake_item *item, const char *reason)
{
    item->verdict = INTAKE_REFUSED;
    snprintf(item->reason, sizeof item->reason, "%s", reason);
}

static long read_bytes(void *context, uint64_t offset, void *bytes, size_t size)
{
    const struct span *body = context;
    if (offset >= body->size)
        return 0;
    size_t left = body->size - (size_t)offset;
    size_t take = size < left ? size : left;
    memcpy(bytes, body->data + offset, take);
    return (long)take;
}

static void check(struct intake_item *item)
{
    struct fwr_state state;
    if (item->body.size > INTAKE_REPORT_BYTES)
        refuse(item, "larger than the 2 MB that a report may have");
    else if (fwr_survey(read_bytes, &item->body, &state) != FW_OK || !state.is_report)
        refuse(item, "this is no Framewalk report");
    else if (memcmp(state.id, item->id, sizeof item->id) != 0)
        refuse(item, "the report has another id than its line");
    else if (state.kind < FWR_KIND_HANG || state.kind > FWR_KIND_SNAPSHOT)
        refuse(item, "the report is of a kind that this collector does not know");
}

static void put_line(char **to, const struct intake_item *item)
{
    static const char *const verdicts[] = {"accepted", "duplicate", "refused", "retry"};
    *to = hex_text(*to, item->id, sizeof item->id);
    *to +=
        sprintf(*to, " %s%s%s\n", verdicts[item->verdict], *item->reason ? " " : "", item->reason);
}

static bool all_are(const struct sent *s, enum intake_verdict verdict)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].verdict != verdict)
            return false;
    return true;
}

static void reply(void *context)
{
    struct sent *s = context;
    struct http_request *r = s->request;
    size_t refused = 0;
    for (size_t i = 0; i < s->count; i++)
        refused += s->items[i].verdict == INTAKE_REFUSED;
    metrics_add(r->collector->metrics, METRIC_REPORTS_REFUSED, refused);
    if (all_are(s, INTAKE_RETRY)) {
        if (!s->items[0].full)
            http_set_header(r, "Retry-After", "10");
        http_reply_error(r, s->items[0].full ? 507 : 503, "%s: send the reports again later",
                         s->items[0].reason);
        return;
    }
    char text[REPORT_LINES_MOST * (32 + 12 + sizeof s->items->reason) + 1], *end = text;
    for (size_t i = 0; i < s->count; i++)
        put_line(&end, &s->items[i]);
    *end = '\0';
    http_reply_text(r, 200, "text/plain; charset=us-ascii", text);
}

/* ---- the request ---- */

static bool is_reports(struct http_request *r)
{
    const char *type = http_header(r, "Content-Type");
    size_t size = strlen(MEDIA_TYPE);
    if (type && strncasecmp(type, MEDIA_TYPE, size) == 0 && strchr("; \t", type[size]))
        return true;
    http_reply_error(r, 415, "send reports as %s (docs/upload.md)", MEDIA_TYPE);
    return false;
}

static struct sent *make_items(struct http_request *r, int64_t project,
                               const struct report_line *lines, size_t count)
{
    struct sent *s = arena_take(&r->arena, sizeof *s);
    struct intake_item *items = arena_take_many(&r->arena, count, sizeof *items);
    if (!s || !items)
        return NULL;
    *s = (struct sent){.request = r, .items = items, .count = count};
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct intake_item){
            .project = project, .body = lines[i].bytes, .verdict = INTAKE_ACCEPTED};
        memcpy(items[i].id, lines[i].id, sizeof items[i].id);
        check(&items[i]);
    }
    return s;
}

static void post_reports(struct http_request *r)
{
    struct report_line lines[REPORT_LINES_MOST];
    struct fw_failure why = {0};
    int64_t project;
    size_t count;
    if (!is_reports(r) || !intake_project(r, http_query(r, "project"), &project))
        return;
    if (report_lines_read(r->body, lines, &count, &why) != FW_OK) {
        http_reply_error(r, 400, "%s", why.message);
        return;
    }
    struct sent *s = make_items(r, project, lines, count);
    if (!s) {
        http_reply_error(r, 503, "the server is out of memory");
        return;
    }
    if (all_are(s, INTAKE_REFUSED)) {
        reply(s);
        return;
    }
    http_wait(r);
    if (!intake_add(r->collector->intake, s->items, s->count, reply, s)) {
        http_set_header(r, "Retry-After", "10");
        http_reply_error(r, 503, "too many reports are coming in: send them again later");
    }
}

static const struct http_route routes[] = {
    {.method = "POST",
     .pattern = "/api/v1/reports",
     .needs = ACCESS_REPORTS_WRITE,
     .flags = HTTP_GZIP,
     .body_limit = INTAKE_REQUEST_BYTES,
     .handle = post_reports},
};
extern const struct http_routes routes_intake;
const struct http_routes routes_intake = {routes, sizeof routes / sizeof *routes};
