/* A report as a file, in the forms that other tools open. */
#include "collector/api_report_body.h"

#include "base/failure.h"
#include "collector/damage.h"
#include "collector/heavy.h"
#include "collector/packs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FW_ERR_NOT_FOUND: it is not kept any more. Else the view is paused: the blob store may be slow,
 * and the symbol store reads the database itself. */
static fw_error read_body(struct api_view *v, int64_t row, uint8_t **bytes, size_t *size,
                          struct fw_failure *why)
{
    struct packs_place place, before = {.key = ""};
    for (;;) {
        fw_error error = packs_find(v->conn, row, &place, why);
        if (error == FW_ERR_NOT_FOUND)
            return error;
        bool same = strcmp(before.key, place.key) == 0;
        before = place;
        api_pause(v);
        if (!error)
            error = packs_fetch(v->r->collector, &place, bytes, size, why);
        if (error != FW_ERR_NOT_FOUND)
            return error;
        if (same)
            return failure_say(why, FW_ERR_CORRUPT, 0, "%s: the pack is not there", before.key);
        api_resume(v); /* a pack that was written anew meanwhile (forget_pack.c) has another key */
        if (v->error)
            return v->error;
    }
}

/* Only what could be read was ever stored: what cannot be read now is damaged. */
static void say_damaged(struct api_view *v, int64_t row, struct fw_failure *why)
{
    char said[sizeof why->message];
    memcpy(said, why->message, sizeof said);
    damage_found(DAMAGE_BODY, row, said);
    failure_say(why, FW_ERR_SYSTEM, 0, "the stored body of this report is damaged: %.200s", said);
    v->damaged = true;
}

bool api_body_open(struct api_view *v, int64_t row, struct api_body *body)
{
    struct fw_failure why = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    *body = (struct api_body){.report = NULL};
    fw_error error = read_body(v, row, &bytes, &size, &why);
    if (error == FW_ERR_NOT_FOUND)
        return false;
    body->bytes = (struct span){bytes, size};
    if (!error && heavy_begin(v->r->collector->heavy, size))
        body->heavy = v->r->collector->heavy;
    else if (!error)
        error = failure_say(&why, FW_ERR_TIMEOUT, 0, "other large reports are being read");
    if (!error)
        error = report_read(body->bytes, &body->report, &why);
    if (damage_is(error))
        say_damaged(v, row, &why);
    if (!error)
        error = symbols_report_open(v->r->collector->symbols, v->project, body->report,
                                    &body->names, &why);
    api_resume(v);
    if (error && !v->error) {
        v->error = v->damaged ? FW_ERR_SYSTEM : error;
        v->why = why;
    }
    return !v->error;
}

void api_body_close(struct api_body *body)
{
    if (body->names)
        symbols_report_close(body->names);
    report_free(body->report);
    heavy_end(body->heavy, body->bytes.size);
    free((void *)(uintptr_t)body->bytes.data);
}

typedef fw_error (*writer)(const struct report *, report_resolve, void *, struct report_bytes *);

static const struct form {
    const char *name, *type, *end;
    writer write; /* NULL: as it came */
} forms[] = {
    {"raw", "application/octet-stream", "", NULL},
    {"text", "text/plain; charset=utf-8", ".txt", report_to_text},
    {"json", "application/json", ".json", report_to_json},
    {"crash", "text/plain; charset=utf-8", ".crash", report_to_crash},
    {"collapsed", "text/plain; charset=utf-8", ".collapsed.txt", report_to_collapsed},
    {"speedscope", "application/json", ".speedscope.json", report_to_speedscope},
    {"pprof", "application/gzip", ".pb.gz", report_to_pprof},
    {"firefox", "application/json", ".profile.json", report_to_firefox},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* The name is the report's id and an ending of ours: nothing of the report gets into the header. */
static void name_file(struct http_request *r, const struct api_body *body, const struct form *form)
{
    static const char *const ends[REPORT_FRAMEWALK + 1] = {
        [REPORT_IPS] = ".ips",        [REPORT_STACKSHOT] = ".ips", [REPORT_CRASH] = ".crash",
        [REPORT_METRICKIT] = ".json", [REPORT_SAMPLE] = ".txt",    [REPORT_SPINDUMP] = ".txt",
        [REPORT_KSCRASH] = ".json",   [REPORT_DUMP] = ".json",     [REPORT_V5] = ".json",
        [REPORT_FRAMEWALK] = ".fwr",
    };
    char value[128];
    const char *end = form->write ? form->end : ends[body->report->kind];
    snprintf(value, sizeof value, "attachment; filename=\"report-%.32s%s\"", http_part(r, "id"),
             end ? end : ".txt");
    http_set_header(r, "Content-Disposition", value);
}

static void get_download(struct http_request *r)
{
    struct api_view v;
    struct api_report_row row = {.row = 0};
    struct api_body body;
    const char *words[FORMS];
    int to;
    for (size_t i = 0; i < FORMS; i++)
        words[i] = forms[i].name;
    if (!api_begin(&v, r, 0, "to", NULL) || !api_word(&v, "to", words, FORMS, 0, &to) ||
        !api_report_find(&v, &row))
        return;
    const struct form *form = &forms[to];
    bool there = api_body_open(&v, row.row, &body);
    fw_error error = FW_OK;
    if (there && form->write)
        error = form->write(body.report, symbols_resolve, body.names, &v.out);
    else if (there)
        out_bytes(&v.out, body.bytes.data, body.bytes.size);
    if (there && !error)
        name_file(r, &body, form);
    api_body_close(&body);
    if (error == FW_ERR_UNSUPPORTED)
        api_refuse(&v, 422, "this report cannot be written as %s; the other forms can be had",
                   form->name);
    else if (!there && !v.error)
        api_refuse(&v, 410, "the body of this report is gone: its time was up");
    else {
        if (error)
            api_fail(&v, error, "writing the report failed");
        api_end_as(&v, form->type);
    }
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/reports/{id}/download",
     .needs = ACCESS_READ,
     .handle = get_download},
};
const struct http_routes routes_download = {routes, sizeof routes / sizeof *routes};
