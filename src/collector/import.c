/*
 * POST /api/v1/projects/{P}/import: a report of another tool. It is scrubbed (scrub.h) before
 * anything of it is stored; its id is the beginning of the SHA-256 of what is left, so the same
 * report sent twice is one.
 */
#include "base/hex.h"
#include "collector/heavy.h"
#include "collector/http.h"
#include "collector/install.h"
#include "collector/intake.h"
#include "collector/intake_project.h"
#include "collector/scrub.h"

#include <openssl/sha.h>
#include <stdio.h>

enum { FRAMES_MOST = 1 << 19, THREADS_MOST = 1 << 14 };

struct imported { /* waits for its verdict; in the request's arena */
    struct http_request *request;
    struct intake_item item;
    struct report_bytes text; /* scrubbed; freed with the reply */
    const char *kind;
};

static void reply(void *context)
{
    struct imported *i = context;
    struct http_request *r = i->request;
    char id[33];
    hex_text(id, i->item.id, sizeof i->item.id);
    report_bytes_free(&i->text);
    if (i->item.verdict == INTAKE_RETRY) {
        if (!i->item.full)
            http_set_header(r, "Retry-After", "10");
        http_reply_error(r, i->item.full ? 507 : 503, "%s: send the report again later",
                         i->item.reason);
        return;
    }
    bool duplicate = i->item.verdict == INTAKE_DUPLICATE;
    http_reply_json(
        r, duplicate ? 200 : 201,
        json_pack("{s:s, s:b, s:s}", "id", id, "duplicate", (int)duplicate, "kind", i->kind));
}

/* Why it is no report that can be taken; NULL: it is one. */
static const char *wrong_with(const struct report *report)
{
    if (report->kind == REPORT_OTHER || report->kind == REPORT_V5)
        return "this is no report that we know (docs/reports.md has the formats)";
    if (report->kind == REPORT_FRAMEWALK)
        return "Framewalk's own reports go to /api/v1/reports (docs/upload.md)";
    if (report->frame_count == 0)
        return "there are no frames in the report";
    if (report->frame_count > FRAMES_MOST || report->thread_count > THREADS_MOST)
        return "the report has more frames or threads than are taken";
    return NULL;
}

/* False: 413 or 422 was replied. */
static bool look(struct http_request *r, struct imported *i)
{
    struct report *report = NULL;
    struct fw_failure why = {0};
    struct span text = {(const uint8_t *)i->text.data, i->text.size};
    if (text.size > INTAKE_FOREIGN_BYTES) { /* hashes may be longer than what they stand for */
        http_reply_error(r, 413, "the report has more than 20 MB");
        return false;
    }
    if (report_read(text, &report, &why) != FW_OK) {
        http_reply_error(r, 422, "the report cannot be read: %s", why.message);
        return false;
    }
    const char *wrong = wrong_with(report);
    i->kind = report_kind_text(report->kind);
    if (wrong)
        http_reply_error(r, 422, "%s", wrong);
    report_free(report);
    return !wrong;
}

static void add(struct http_request *r, struct imported *i, int64_t project)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256((const uint8_t *)i->text.data, i->text.size, digest);
    i->item = (struct intake_item){.project = project,
                                   .body = {(const uint8_t *)i->text.data, i->text.size},
                                   .verdict = INTAKE_ACCEPTED};
    memcpy(i->item.id, digest, sizeof i->item.id);
    http_wait(r);
    if (!intake_add(r->collector->intake, &i->item, 1, reply, i)) {
        i->item.verdict = INTAKE_RETRY;
        snprintf(i->item.reason, sizeof i->item.reason, "too many reports are coming in");
        reply(i);
    }
}

/* Scrubs and reads it. False: replied. */
static bool take(struct http_request *r, struct imported *i)
{
    if (scrub(r->body, intake_salt(r->collector->intake), &i->text) == FW_OK)
        return look(r, i);
    http_reply_error(r, 503, "the server is out of memory");
    return false;
}

static void post_import(struct http_request *r)
{
    int64_t project;
    struct imported *i = arena_take(&r->arena, sizeof *i);
    if (!intake_project(r, http_part(r, "P"), &project))
        return;
    if (!i) {
        http_reply_error(r, 503, "the server is out of memory");
        return;
    }
    *i = (struct imported){.request = r};
    if (!heavy_begin(r->collector->heavy, r->body.size)) {
        http_set_header(r, "Retry-After", "10");
        http_reply_error(r, 503, "other large reports are being read: send the report again later");
        return;
    }
    bool good = take(r, i);
    heavy_end(r->collector->heavy, r->body.size);
    if (good)
        add(r, i, project);
    else
        report_bytes_free(&i->text);
}

static const struct http_route routes[] = {
    {.method = "POST",
     .pattern = "/api/v1/projects/{P}/import",
     .needs = ACCESS_REPORTS_WRITE,
     .flags = HTTP_GZIP,
     .body_limit = INTAKE_FOREIGN_BYTES,
     .handle = post_import},
};
extern const struct http_routes routes_import;
const struct http_routes routes_import = {routes, sizeof routes / sizeof *routes};
