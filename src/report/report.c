/* Which format it is, and one report's life. */
#include "report/report.h"

#include "report/build.h"
#include "report/fwr.h"

#include <stdio.h>
#include <stdlib.h>

const char *report_kind_text(enum report_kind kind)
{
    static const char *const text[] = {
        [REPORT_OTHER] = "other",         [REPORT_IPS] = "ips",
        [REPORT_STACKSHOT] = "stackshot", [REPORT_CRASH] = "crash",
        [REPORT_METRICKIT] = "metrickit", [REPORT_SAMPLE] = "sample",
        [REPORT_SPINDUMP] = "spindump",   [REPORT_KSCRASH] = "kscrash",
        [REPORT_METER] = "meter",         [REPORT_DUMP] = "dump",
        [REPORT_SANITIZER] = "sanitizer", [REPORT_PERF] = "perf",
        [REPORT_LIST] = "list",           [REPORT_V5] = "symbolicate-v5",
        [REPORT_FRAMEWALK] = "framewalk",
    };
    return (size_t)kind < sizeof text / sizeof *text ? text[kind] : "other";
}

static void (*const readers[])(struct report_build *b) = {
    [REPORT_IPS] = read_ips,         [REPORT_STACKSHOT] = read_stackshot,
    [REPORT_CRASH] = read_crash,     [REPORT_METRICKIT] = read_metrickit,
    [REPORT_SAMPLE] = read_sample,   [REPORT_SPINDUMP] = read_spindump,
    [REPORT_KSCRASH] = read_kscrash, [REPORT_METER] = read_meter,
    [REPORT_DUMP] = read_dump,       [REPORT_SANITIZER] = read_sanitizer,
    [REPORT_PERF] = read_perf,       [REPORT_LIST] = read_list,
    [REPORT_V5] = read_v5,           [REPORT_FRAMEWALK] = read_fwr,
};

static bool has(const struct jdoc *doc, uint32_t object, const char *key)
{
    return jdoc_get(doc, object, key) != JNONE;
}

static bool has_diagnostics(const struct jdoc *doc, uint32_t object)
{
    static const char *const keys[] = {"callStackTree",
                                       "callStacks",
                                       "crashDiagnostics",
                                       "hangDiagnostics",
                                       "cpuExceptionDiagnostics",
                                       "diskWriteExceptionDiagnostics",
                                       "appLaunchDiagnostics",
                                       "diagnosticLogs",
                                       "productData"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (has(doc, object, keys[i]))
            return true;
    return false;
}

static enum report_kind json_kind(const struct jdoc *doc)
{
    uint32_t top = 0;
    if (jdoc_is(doc, top, JARRAY)) { /* several payloads */
        top = jdoc_first(doc, top);
        return has_diagnostics(doc, top) ? REPORT_METRICKIT : REPORT_OTHER;
    }
    uint32_t format = jdoc_get(doc, top, "format");
    if (jdoc_is(doc, format, JSTRING)) {
        struct cursor c =
            cursor_over(doc->text, doc->nodes[format].begin + 1, doc->nodes[format].end);
        if (cursor_word(&c, "framewalk-dump\"") || cursor_word(&c, "framewalk-report\""))
            return REPORT_DUMP;
    }
    if (has(doc, top, "processByPid"))
        return REPORT_STACKSHOT;
    if (has(doc, top, "threads") && (has(doc, top, "usedImages") ||
                                     has(doc, top, "faultingThread") || has(doc, top, "procName")))
        return REPORT_IPS;
    if (has(doc, top, "crash") && (has(doc, top, "binary_images") || has(doc, top, "report")))
        return REPORT_KSCRASH;
    if (has_diagnostics(doc, top))
        return REPORT_METRICKIT;
    if (has(doc, top, "jobs") || (has(doc, top, "memoryMap") && has(doc, top, "stacks")))
        return REPORT_V5;
    return REPORT_OTHER;
}

static bool contains(const struct cursor *c, const char *word)
{
    return cursor_find(c, word) != SIZE_MAX;
}

static enum report_kind apple_text_kind(const struct cursor *c)
{
    if (contains(c, "Call graph:") && (contains(c, "Analysis of sampling") ||
                                       contains(c, "Analysis Tool:") || contains(c, " Thread_")))
        return REPORT_SAMPLE;
    if (contains(c, "Timeline format:") || contains(c, "Heavy format:") ||
        (contains(c, "Data Source:") && contains(c, "Steps:")) || contains(c, "Powerstats for:") ||
        contains(c, "Num samples:"))
        return REPORT_SPINDUMP;
    if (contains(c, "Exception Type:") || contains(c, "Incident Identifier:") ||
        contains(c, "Crashed Thread:") || contains(c, "Triggered by Thread:") ||
        contains(c, "Binary Images:"))
        return REPORT_CRASH;
    return REPORT_OTHER;
}

/* What a text of addresses is, by its first line that decides. */
static enum report_kind line_kind(struct cursor c)
{
    struct cursor line;
    enum report_kind kind = REPORT_OTHER;
    while (kind == REPORT_OTHER && cursor_line(&c, &line)) {
        if (text_is_meter(line))
            kind = REPORT_METER;
        else if (text_is_sanitizer(line))
            kind = REPORT_SANITIZER;
        else if (text_is_perf(line))
            kind = REPORT_PERF;
        else if (text_is_list(line))
            kind = REPORT_LIST;
    }
    return kind;
}

static enum report_kind text_kind(struct report_build *b)
{
    struct cursor c = cursor_over(b->report->text, b->begin, b->report->text.size);
    enum report_kind kind = apple_text_kind(&c);
    return kind == REPORT_OTHER ? line_kind(c) : kind;
}

/* JSON, JSON behind a header, or text behind a header. */
static enum report_kind behind_brace(struct report_build *b)
{
    struct report *r = b->report;
    b->error = jdoc_scan(&b->body, r->text, b->begin);
    if (b->error)
        return REPORT_OTHER;
    enum report_kind kind = json_kind(&b->body);
    if (kind != REPORT_OTHER || !b->body.complete)
        return kind;
    struct cursor rest = cursor_over(r->text, b->body.end, r->text.size);
    while (cursor_left(&rest) && (cursor_peek(&rest) == '\n' || cursor_peek(&rest) == '\r' ||
                                  cursor_peek(&rest) == ' ' || cursor_peek(&rest) == '\t'))
        rest.pos++;
    if (cursor_left(&rest) == 0)
        return REPORT_OTHER;
    b->head = b->body; /* bodies differ: the header alone does not say what follows */
    b->body = (struct jdoc){0};
    b->begin = rest.pos;
    if (cursor_peek(&rest) != '{')
        return text_kind(b);
    b->error = jdoc_scan(&b->body, r->text, rest.pos);
    return b->error ? REPORT_OTHER : json_kind(&b->body);
}

static void detect(struct report_build *b)
{
    struct report *r = b->report;
    struct cursor c = cursor_over(r->text, 0, r->text.size);
    if (cursor_starts(&c, FWR_MAGIC)) {
        r->kind = REPORT_FRAMEWALK;
        return;
    }
    cursor_word(&c, "\xef\xbb\xbf");
    while (cursor_peek(&c) == '\n' || cursor_peek(&c) == '\r' || cursor_peek(&c) == ' ' ||
           cursor_peek(&c) == '\t')
        c.pos++;
    if (cursor_peek(&c) == '{' || (cursor_peek(&c) == '[' && cursor_left(&c) > 1)) {
        b->begin = c.pos;
        r->kind = behind_brace(b);
        bool all_json = b->body.count && b->body.complete; /* words in it are only words */
        if (r->kind != REPORT_OTHER || b->error || all_json)
            return;
    }
    b->begin = 0;
    r->kind = text_kind(b);
}

static void header_info(struct report_build *b)
{
    const struct jdoc *head = &b->head;
    struct report_info *info = &b->report->info;
    if (head->count == 0)
        return;
    const struct {
        const char **field;
        const char *key;
    } fields[] = {
        {&info->process, "app_name"},     {&info->version, "app_version"},
        {&info->build, "build_version"},  {&info->bundle, "bundleID"},
        {&info->bug_type, "bug_type"},    {&info->os, "os_version"},
        {&info->incident, "incident_id"}, {&info->date, "timestamp"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i].field = build_string(b, head, jdoc_get(head, 0, fields[i].key));
}

static void drop_empty(const char **field)
{
    if (*field && !**field)
        *field = NULL;
}

static void drop_empty_info(struct report_info *info)
{
    const char **fields[] = {&info->process,   &info->pid,         &info->path,     &info->bundle,
                             &info->version,   &info->build,       &info->os,       &info->device,
                             &info->arch,      &info->date,        &info->incident, &info->bug_type,
                             &info->exception, &info->termination, &info->reason};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        drop_empty(fields[i]);
}

fw_error report_read(struct span text, struct report **report, struct fw_failure *why)
{
    struct report *r = calloc(1, sizeof *r);
    struct report_build *b = calloc(1, sizeof *b);
    *report = NULL;
    fw_error error = FW_ERR_MEMORY;
    if (r && b) {
        *b = (struct report_build){.report = r};
        r->build = b;
        r->text = text;
        r->complete = true;
        detect(b);
        header_info(b);
        if (!b->error && readers[r->kind]) {
            readers[r->kind](b);
            if (!b->error)
                build_place(b);
        }
        if (b->body.count && !b->body.complete)
            build_note(b, build_format(b, "the JSON is broken or ends at byte %zu", b->body.end));
        drop_empty_info(&r->info);
        error = b->error;
    } else {
        free(b);
    }
    if (!error) {
        *report = r;
        return FW_OK;
    }
    if (why) {
        *why = (struct fw_failure){.code = error};
        snprintf(why->message, sizeof why->message, "report of %zu bytes: %s", text.size,
                 error == FW_ERR_FULL ? "too many frames" : fw_error_text(error));
    }
    report_free(r);
    return error;
}

void report_free(struct report *r)
{
    if (!r)
        return;
    if (r->build) {
        jdoc_free(&r->build->head);
        jdoc_free(&r->build->body);
        free(r->build->by_key);
        free(r->build->real);
        arena_free(&r->build->arena);
        free(r->build);
    }
    free(r->images);
    free(r->threads);
    free(r->frames);
    free(r->names);
    free(r->samples);
    free(r->apis);
    free(r->calls);
    free(r->scripts);
    free(r->script_frames);
    free(r->symbols);
    free(r->keys);
    free(r->totals);
    free(r);
}
