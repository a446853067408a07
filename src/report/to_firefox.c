/*
 * The Firefox Profiler's processed profile, version 66 (docs-developer/CHANGELOG-formats.md of
 * github.com/firefox-devtools/profiler); the viewer upgrades older versions by itself.
 *
 * All threads share one set of tables: strings, functions, frames (a function at an address, at a
 * depth of inlining) and stacks (a frame below another stack). A location with inlined functions is
 * several frames of the same address, and as many stacks, the outermost first. Addresses count from
 * the library's base; those of return addresses are moved back into the call.
 *
 * A hang's samples have their times and weights (`tracing-ms`), and a marker spans the hang.
 */
#include "report/to_firefox.h"
#include "report/words.h"
#include "symmap/export.h"

#include <inttypes.h>
#include <stdlib.h>

enum { VERSION = 66 };

static void separate(struct report_bytes *out, size_t i)
{
    if (i)
        out_text(out, ",");
}

/* ---- threads ---- */

/* Samples without times follow each other in their order, a period apart: as long as there was
 * sampling, so long is the viewer's range. */
static uint64_t period_ns(const struct report *r)
{
    return r->period_ns ? r->period_ns : 1000000;
}

/* How long so many samples take; a time that the viewer can show, whatever the report claims. */
static uint64_t span_of(const struct report *r, uint64_t samples)
{
    enum { YEAR_S = 31536000 };
    const uint64_t most = (uint64_t)YEAR_S * 1000000000, period = period_ns(r);
    return samples > most / period ? most : samples * period;
}

/* A hang begins with an empty sample without weight: the viewer's range begins with the first. It
 * ends a period behind the last, so that the last of equal ones that were counted together is
 * there, too. */
static void out_samples(struct firefox *w, const struct profile_series *series,
                        const struct profile_sample *samples, size_t count)
{
    struct report_bytes *out = w->out;
    const struct report *r = w->p->report;
    bool timed = profile_in_time(series), begins = series->kind == PROFILE_HANG;
    bool ends = !timed && count && samples[count - 1].value > 1;
    uint64_t at = 0, before = 0;
    out_text(out, ",\n\"samples\":{");
    firefox_column(out, "stack");
    out_text(out, begins ? "null" : "");
    for (size_t i = 0; i < count; i++) {
        separate(out, i + begins);
        out_format(out, "%" PRIu32, w->last_stack[samples[i].node]);
    }
    if (ends)
        out_format(out, ",%" PRIu32, w->last_stack[samples[count - 1].node]);
    out_text(out, "]");
    firefox_column(out, "time"); /* never backwards */
    out_text(out, begins ? "0" : "");
    for (size_t i = 0; i < count; i++) {
        uint64_t own = timed ? samples[i].at_ns : span_of(r, before);
        at = own > at ? own : at;
        separate(out, i + begins);
        out_exact_ms(out, at);
        before = profile_add(before, samples[i].value);
    }
    if (ends) {
        out_text(out, ",");
        out_exact_ms(out, span_of(r, before - 1));
    }
    out_text(out, "]");
    firefox_column(out, "weight");
    out_text(out, begins ? "0" : "");
    for (size_t i = 0; i < count; i++) {
        separate(out, i + begins);
        if (timed)
            out_exact_ms(out, samples[i].value);
        else
            out_format(out, "%" PRIu64, samples[i].value);
    }
    out_text(out, ends ? ",0" : "");
    out_format(out, "],\n\"weightType\":\"%s\",\"length\":%zu}", timed ? "tracing-ms" : "samples",
               count + begins + ends);
}

static void out_markers(struct firefox *w, const struct profile_series *series)
{
    struct report_bytes *out = w->out;
    const struct report_hang *hang = &w->p->report->hang;
    if (series->kind != PROFILE_HANG || !hang->present) {
        out_text(out, ",\n\"markers\":{\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
                      "\"category\":[],\"data\":[],\"length\":0}");
        return;
    }
    out_format(out,
               ",\n\"markers\":{\"name\":[%" PRIu32 "],\"startTime\":[0],\"phase\":[1],"
               "\"category\":[0],\"endTime\":[",
               w->text_hang);
    out_exact_ms(out, hang->duration_ns);
    out_format(out, "],\"data\":[{\"type\":\"Hang\",\"ending\":\"%s\",\"threshold\":",
               ending_word(hang->ending));
    out_exact_ms(out, hang->threshold_ns);
    out_text(out, ",\"unsampled\":");
    out_exact_ms(out, hang->unsampled_ns);
    out_text(out, ",\"starved\":");
    out_exact_ms(out, hang->starved_ns);
    out_format(out, ",\"samples\":%" PRIu64 "}],\"length\":1}", hang->samples);
}

static fw_error out_thread(struct firefox *w, const struct profile_series *series)
{
    struct report_bytes *out = w->out;
    const struct report_info *info = &w->p->report->info;
    size_t count = series->sample_count;
    const struct profile_sample *samples = series->samples;
    struct profile_sample *merged = NULL;
    if (!profile_in_time(series)) {
        merged = profile_merge(w->p, series, &count);
        samples = merged;
        if (!merged)
            return FW_ERR_MEMORY;
    }
    const char *process = series->process ? series->process : info->process;
    out_text(out, "{\"name\":");
    out_json(out, series->name);
    out_format(out, ",\"isMainThread\":%s,\"processType\":\"default\",\"processName\":",
               series->main ? "true" : "false");
    out_json(out, process ? process : "");
    out_text(out, ",\"pid\":");
    out_json(out, info->pid ? info->pid : "0");
    out_text(out, ",\"tid\":");
    out_json(out, series->id ? series->id : series->name);
    out_text(out, ",\n\"registerTime\":0,\"unregisterTime\":null,\"processStartupTime\":0,"
                  "\"processShutdownTime\":null,\"pausedRanges\":[],\"showMarkersInTimeline\":");
    out_text(out, series->kind == PROFILE_HANG ? "true" : "false");
    out_samples(w, series, samples, count);
    out_markers(w, series);
    out_text(out, "}");
    free(merged);
    return FW_OK;
}

/* ---- the whole ---- */

static bool is_apple(const struct report *r)
{
    static const char *const systems[] = {"iOS",  "iPhone",  "iPad",     "mac",  "Mac",
                                          "tvOS", "watchOS", "visionOS", "OS X", "Darwin"};
    switch (r->kind) {
    case REPORT_IPS:
    case REPORT_STACKSHOT:
    case REPORT_CRASH:
    case REPORT_METRICKIT:
    case REPORT_SAMPLE:
    case REPORT_SPINDUMP:
    case REPORT_KSCRASH:
    case REPORT_METER: return true;
    default: break;
    }
    for (size_t i = 0; r->info.os && i < sizeof systems / sizeof *systems; i++)
        if (strncmp(r->info.os, systems[i], strlen(systems[i])) == 0)
            return true;
    return false;
}

static void out_lib(struct report_bytes *out, const struct report *r,
                    const struct report_image *image)
{
    char id[BREAKPAD_ID_SIZE];
    const char *path = image->path ? image->path : image->name;
    breakpad_id(image->id, image->id_size, is_apple(r), id);
    out_text(out, "{\"name\":");
    out_json(out, image->name);
    out_text(out, ",\"debugName\":");
    out_json(out, image->name);
    out_text(out, ",\"path\":");
    out_json(out, path);
    out_text(out, ",\"debugPath\":");
    out_json(out, path);
    out_text(out, ",\"breakpadId\":");
    out_json(out, image->breakpad ? image->breakpad : id);
    out_text(out, image->id_size ? ",\"codeId\":\"" : ",\"codeId\":null");
    out_hex(out, image->id, image->id_size);
    out_text(out, image->id_size ? "\",\"arch\":" : ",\"arch\":");
    out_json(out, image->arch);
    out_text(out, "}");
}

/* How long the viewer takes the last sample of all for: it is when the hang ends. */
static void out_interval(struct report_bytes *out, const struct profile *p)
{
    for (size_t i = 0; i < p->series_count; i++)
        if (p->series[i].kind == PROFILE_HANG) {
            out_exact_ms(out, p->series[i].samples[p->series[i].sample_count - 1].value);
            return;
        }
    out_exact_ms(out, period_ns(p->report));
}

static void out_meta(struct firefox *w)
{
    struct report_bytes *out = w->out;
    const struct report *r = w->p->report;
    out_text(out, "{\"meta\":{\"version\":24,\"processType\":0,\"stackwalk\":1,\"debug\":false,"
                  "\"importedFrom\":\"Framewalk\",\"interval\":");
    out_interval(out, w->p);
    out_format(out, ",\"startTime\":%" PRIu64 ",\"preprocessedProfileVersion\":%d,\"product\":",
               r->started_ms, VERSION);
    out_json(out, r->info.process ? r->info.process : report_kind_text(r->kind));
    if (r->info.os) {
        out_text(out, ",\"oscpu\":");
        out_json(out, r->info.os);
    }
    out_format(
        out,
        ",\"symbolicated\":%s,\"usesOnlyOneStackType\":true,"
        "\"sourceCodeIsNotOnSearchfox\":true,\"pausedRanges\":[],\n"
        "\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0},\n"
        "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n"
        "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Regular\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}],\n",
        w->symbolicated ? "true" : "false");
    out_text(
        out,
        "\"markerSchema\":[{\"name\":\"Hang\",\"display\":[\"marker-chart\",\"marker-table\","
        "\"timeline-overview\"],\"tableLabel\":\"{marker.data.ending}\",\"fields\":["
        "{\"key\":\"ending\",\"label\":\"Ending\",\"format\":\"string\"},"
        "{\"key\":\"threshold\",\"label\":\"Threshold\",\"format\":\"duration\"},"
        "{\"key\":\"unsampled\",\"label\":\"Before the first sample\",\"format\":\"duration\"},"
        "{\"key\":\"starved\",\"label\":\"Without a processor\",\"format\":\"duration\"},"
        "{\"key\":\"samples\",\"label\":\"Stacks taken\",\"format\":\"integer\"}]}]}");
}

static fw_error out_profile(struct firefox *w)
{
    const struct report *r = w->p->report;
    fw_error error = FW_OK;
    out_meta(w);
    firefox_column(w->out, "libs");
    for (size_t i = 0, row = 0; i < r->image_count; i++) {
        if (w->lib[i] == PROFILE_NONE)
            continue;
        out_text(w->out, row++ ? ",\n" : "\n");
        out_lib(w->out, r, &r->images[i]);
    }
    out_text(w->out, "]");
    firefox_tables(w);
    firefox_column(w->out, "threads");
    for (size_t i = 0; i < w->p->series_count && !error; i++) {
        out_text(w->out, i ? ",\n" : "\n");
        error = out_thread(w, &w->p->series[i]);
    }
    out_text(w->out, "],\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[]}\n");
    return error ? error : w->p->error;
}

fw_error report_to_firefox(const struct report *r, report_resolve resolve, void *context,
                           struct report_bytes *out)
{
    struct profile p;
    struct firefox w = {.p = &p, .out = out};
    fw_error error = profile_make(&p, r, resolve, context);
    if (!error)
        error = firefox_make(&w);
    if (!error)
        error = out_profile(&w);
    firefox_free(&w);
    profile_free(&p);
    return out->failed ? FW_ERR_MEMORY : error;
}
