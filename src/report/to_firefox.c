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
#include "report/fwr.h"
#include "report/profile.h"
#include "report/words.h"
#include "symmap/export.h"

#include <inttypes.h>
#include <stdlib.h>

enum { VERSION = 66 };

struct frame_row {           /* of the frame table */
    uint32_t location, line; /* line: of the location */
    uint32_t native;         /* row of the table of native symbols; PROFILE_NONE: none */
};

struct native { /* a function of a library */
    uint32_t image, name;
    uint64_t start, size;
};

struct firefox {
    struct profile *p;
    struct report_bytes *out;
    uint32_t *first_row;  /* frame row of each location's outermost line; its inlined ones follow */
    uint32_t *last_stack; /* stack row of each node */
    uint32_t *lib;        /* of each image; PROFILE_NONE: not used */
    uint32_t *source;     /* of each text that is a file; else PROFILE_NONE */
    struct frame_row *rows;
    struct native *natives;
    struct profile_table by_native;
    size_t row_count, stack_count, native_count, lib_count, source_count;
    uint32_t text_hang; /* "Hang" */
    bool symbolicated;
};

/* ---- columns ---- */

/* `"name":[` and a column's values, one by one; the last one has no comma behind it. */
static void column(struct report_bytes *out, const char *name)
{
    if (out->size && out->data[out->size - 1] != '{')
        out_text(out, ",\n");
    out_format(out, "\"%s\":[", name);
}

static void separate(struct report_bytes *out, size_t i)
{
    if (i)
        out_text(out, ",");
}

static void out_number_or(struct report_bytes *out, bool known, uint64_t number, const char *other)
{
    if (known)
        out_format(out, "%" PRIu64, number);
    else
        out_text(out, other);
}

/* A column of `count` values that are all the same. */
static void same_column(struct report_bytes *out, const char *name, size_t count, const char *value)
{
    column(out, name);
    for (size_t i = 0; i < count; i++) {
        separate(out, i);
        out_text(out, value);
    }
    out_text(out, "]");
}

/* ---- tables in memory ---- */

static bool same_native(const void *context, uint32_t index, const void *key)
{
    const struct firefox *w = context;
    const struct native *a = &w->natives[index], *b = key;
    return a->image == b->image && a->start == b->start && a->name == b->name;
}

static uint32_t native_of(struct firefox *w, const struct profile_location *l)
{
    const struct profile *p = w->p;
    if (!l->has_start || l->image == REPORT_NONE)
        return PROFILE_NONE;
    const struct profile_line *outer = &p->lines[l->first_line + l->line_count - 1];
    struct native native = {l->image, p->functions[outer->function].name, l->start, l->size};
    w->natives[w->native_count] = native;
    const uint64_t words[] = {native.image, native.name, native.start};
    uint32_t row = profile_intern(&w->by_native, profile_hash(2166136261U, words, sizeof words),
                                  same_native, w, &native, (uint32_t)w->native_count);
    if (row == PROFILE_NONE)
        w->p->error = FW_ERR_MEMORY;
    w->native_count += row == w->native_count;
    return row;
}

static void make_rows(struct firefox *w)
{
    const struct profile *p = w->p;
    w->symbolicated = true;
    for (uint32_t i = 0; i < p->location_count && !p->error; i++) {
        const struct profile_location *l = &p->locations[i];
        uint32_t native = native_of(w, l);
        w->first_row[i] = (uint32_t)w->row_count;
        for (uint32_t k = l->line_count; k-- > 0;)
            w->rows[w->row_count++] = (struct frame_row){i, k, native};
        if (l->image == REPORT_NONE)
            continue;
        w->lib[l->image] = 0;
        if (p->functions[p->lines[l->first_line].function].nameless)
            w->symbolicated = false;
    }
    for (size_t i = 0; i < p->report->image_count; i++)
        if (w->lib[i] != PROFILE_NONE)
            w->lib[i] = (uint32_t)w->lib_count++;
    for (size_t i = 0; i < p->node_count; i++) {
        w->stack_count += p->locations[p->nodes[i].location].line_count;
        w->last_stack[i] = (uint32_t)w->stack_count - 1;
    }
}

static fw_error make_tables(struct firefox *w)
{
    struct profile *p = w->p;
    uint64_t stacks = 0;
    for (size_t i = 0; i < p->node_count; i++)
        stacks += p->locations[p->nodes[i].location].line_count;
    if (stacks >= PROFILE_NONE)
        return FW_ERR_FULL;
    w->first_row = calloc(p->location_count + 1, sizeof *w->first_row);
    w->last_stack = calloc(p->node_count + 1, sizeof *w->last_stack);
    w->rows = calloc(p->line_count + 1, sizeof *w->rows);
    w->natives = calloc(p->location_count + 1, sizeof *w->natives);
    w->lib = malloc((p->report->image_count + 1) * sizeof *w->lib);
    if (!w->first_row || !w->last_stack || !w->rows || !w->natives || !w->lib)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < p->report->image_count; i++) {
        w->lib[i] = PROFILE_NONE;
        profile_text(p, p->report->images[i].name);
    }
    w->text_hang = profile_text(p, "Hang");
    w->source = malloc((p->text_count + 1) * sizeof *w->source);
    if (!w->source || p->error)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < p->text_count; i++)
        w->source[i] = PROFILE_NONE;
    for (size_t i = 0; i < p->function_count; i++) {
        uint32_t file = p->functions[i].file;
        if (file && w->source[file] == PROFILE_NONE)
            w->source[file] = (uint32_t)w->source_count++;
    }
    make_rows(w);
    return p->error;
}

/* ---- shared tables ---- */

static void out_frame_table(struct firefox *w)
{
    const struct profile *p = w->p;
    struct report_bytes *out = w->out;
    out_text(out, "\"frameTable\":{");
    column(out, "address");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        bool known = l->image != REPORT_NONE && l->has_offset && l->offset <= (uint64_t)1 << 53;
        separate(out, i);
        out_number_or(out, known, l->offset - (l->kind == REPORT_RETURN && l->offset), "-1");
    }
    out_text(out, "]");
    column(out, "inlineDepth");
    for (size_t i = 0; i < w->row_count; i++) {
        separate(out, i);
        out_format(out, "%zu", i - w->first_row[w->rows[i].location]);
    }
    out_text(out, "]");
    same_column(out, "category", w->row_count, "1");
    same_column(out, "subcategory", w->row_count, "0");
    column(out, "func");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        separate(out, i);
        out_format(out, "%" PRIu32, p->lines[l->first_line + w->rows[i].line].function);
    }
    out_text(out, "]");
    column(out, "nativeSymbol");
    for (size_t i = 0; i < w->row_count; i++) {
        separate(out, i);
        out_number_or(out, w->rows[i].native != PROFILE_NONE, w->rows[i].native, "null");
    }
    out_text(out, "]");
    same_column(out, "innerWindowID", w->row_count, "0");
    column(out, "line");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        uint32_t line = p->lines[l->first_line + w->rows[i].line].line;
        separate(out, i);
        out_number_or(out, line != 0, line, "null");
    }
    out_text(out, "]");
    column(out, "column");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        uint32_t number = p->lines[l->first_line + w->rows[i].line].column;
        separate(out, i);
        out_number_or(out, number != 0, number, "null");
    }
    out_text(out, "]");
    same_column(out, "originalLocation", w->row_count, "null");
    out_format(out, ",\n\"length\":%zu}", w->row_count);
}

static void out_stack_table(struct firefox *w)
{
    const struct profile *p = w->p;
    struct report_bytes *out = w->out;
    out_text(out, ",\n\"stackTable\":{");
    column(out, "frame");
    size_t row = 0;
    for (size_t i = 0; i < p->node_count; i++) {
        const struct profile_location *l = &p->locations[p->nodes[i].location];
        for (uint32_t k = 0; k < l->line_count; k++, row++) {
            separate(out, row);
            out_format(out, "%" PRIu32, w->first_row[p->nodes[i].location] + k);
        }
    }
    out_text(out, "]");
    column(out, "prefixOffset"); /* how many rows before this one its caller stands; 0: no caller */
    row = 0;
    for (size_t i = 0; i < p->node_count; i++) {
        const struct profile_location *l = &p->locations[p->nodes[i].location];
        uint32_t parent = p->nodes[i].parent;
        for (uint32_t k = 0; k < l->line_count; k++, row++) {
            size_t offset = k ? 1 : parent == PROFILE_NONE ? 0 : row - w->last_stack[parent];
            separate(out, row);
            out_format(out, "%zu", offset);
        }
    }
    out_format(out, "],\n\"length\":%zu}", row);
}

/* The viewer calls what has no name by its address; the library stands before it anyway. */
static uint32_t name_of(struct profile *p, const struct profile_function *f)
{
    const char *plus = f->nameless ? strrchr(p->texts[f->name], '+') : NULL;
    return plus ? profile_text(p, plus + 1) : f->name;
}

static void out_func_table(struct firefox *w)
{
    struct profile *p = w->p;
    struct report_bytes *out = w->out;
    size_t count = p->function_count;
    out_text(out, ",\n\"funcTable\":{");
    column(out, "name");
    for (size_t i = 0; i < count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu32, name_of(p, &p->functions[i]));
    }
    out_text(out, "]");
    same_column(out, "isJS", count, "false");
    same_column(out, "relevantForJS", count, "false");
    column(out, "resource");
    for (size_t i = 0; i < count; i++) {
        uint32_t image = p->functions[i].image;
        separate(out, i);
        out_number_or(out, image != REPORT_NONE, image == REPORT_NONE ? 0 : w->lib[image], "-1");
    }
    out_text(out, "]");
    column(out, "source");
    for (size_t i = 0; i < count; i++) {
        uint32_t file = p->functions[i].file;
        separate(out, i);
        out_number_or(out, file != 0, w->source[file], "null");
    }
    out_text(out, "]");
    same_column(out, "lineNumber", count, "null");
    same_column(out, "columnNumber", count, "null");
    same_column(out, "originalLocation", count, "null");
    out_format(out, ",\n\"length\":%zu}", count);
}

static void out_resources(struct firefox *w)
{
    struct profile *p = w->p;
    struct report_bytes *out = w->out;
    size_t row = 0;
    out_text(out, ",\n\"resourceTable\":{");
    column(out, "lib");
    for (size_t i = 0; i < w->lib_count; i++) {
        separate(out, i);
        out_format(out, "%zu", i);
    }
    out_text(out, "]");
    column(out, "name");
    for (size_t i = 0; i < p->report->image_count; i++) {
        if (w->lib[i] == PROFILE_NONE)
            continue;
        separate(out, row++);
        out_format(out, "%" PRIu32, profile_text(p, p->report->images[i].name));
    }
    out_text(out, "]");
    same_column(out, "host", row, "null");
    same_column(out, "type", row, "1");
    out_format(out, ",\n\"length\":%zu}", row);
}

static void out_natives(struct firefox *w)
{
    struct report_bytes *out = w->out;
    out_text(out, ",\n\"nativeSymbols\":{");
    column(out, "libIndex");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu32, w->lib[w->natives[i].image]);
    }
    out_text(out, "]");
    column(out, "address");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu64, w->natives[i].start);
    }
    out_text(out, "]");
    column(out, "name");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu32, w->natives[i].name);
    }
    out_text(out, "]");
    column(out, "functionSize");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_number_or(out, w->natives[i].size != 0, w->natives[i].size, "null");
    }
    out_format(out, "],\n\"length\":%zu}", w->native_count);
}

/* Sources are numbered in the order in which functions first name them. */
static void out_sources(struct firefox *w)
{
    const struct profile *p = w->p;
    struct report_bytes *out = w->out;
    size_t row = 0;
    out_text(out, ",\n\"sources\":{");
    column(out, "filename");
    for (size_t i = 0; i < p->function_count; i++) {
        uint32_t file = p->functions[i].file;
        if (!file || w->source[file] != row)
            continue;
        separate(out, row++);
        out_format(out, "%" PRIu32, file);
    }
    out_text(out, "]");
    same_column(out, "id", row, "null");
    same_column(out, "startLine", row, "1");
    same_column(out, "startColumn", row, "1");
    same_column(out, "sourceMapURL", row, "null");
    same_column(out, "content", row, "null");
    out_format(out, ",\n\"length\":%zu}", row);
    out_text(out, ",\n\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],"
                  "\"length\":0}");
}

static void out_shared(struct firefox *w)
{
    out_text(w->out, ",\n\"shared\":{");
    out_frame_table(w);
    out_stack_table(w);
    out_func_table(w);
    out_resources(w);
    out_natives(w);
    out_sources(w);
    column(w->out, "stringArray");
    for (size_t i = 0; i < w->p->text_count; i++) {
        out_text(w->out, i ? ",\n" : "\n");
        out_json(w->out, w->p->texts[i]);
    }
    out_text(w->out, "]}");
}

/* ---- threads ---- */

/* A hang begins with an empty sample without weight: the viewer's range begins with the first. */
static void out_samples(struct firefox *w, const struct profile_series *series,
                        const struct profile_sample *samples, size_t count)
{
    struct report_bytes *out = w->out;
    bool timed = profile_in_time(series), begins = series->kind == PROFILE_HANG;
    uint64_t at = 0;
    out_text(out, ",\n\"samples\":{");
    column(out, "stack");
    out_text(out, begins ? "null" : "");
    for (size_t i = 0; i < count; i++) {
        separate(out, i + begins);
        out_format(out, "%" PRIu32, w->last_stack[samples[i].node]);
    }
    out_text(out, "]");
    column(out, "time"); /* never backwards; what has no times is a millisecond apart */
    out_text(out, begins ? "0" : "");
    for (size_t i = 0; i < count; i++) {
        uint64_t own = timed ? samples[i].at_ns : (uint64_t)i * 1000000;
        at = own > at ? own : at;
        separate(out, i + begins);
        out_exact_ms(out, at);
    }
    out_text(out, "]");
    column(out, "weight");
    out_text(out, begins ? "0" : "");
    for (size_t i = 0; i < count; i++) {
        separate(out, i + begins);
        if (timed)
            out_exact_ms(out, samples[i].value);
        else
            out_format(out, "%" PRIu64, samples[i].value);
    }
    out_format(out, "],\n\"weightType\":\"%s\",\"length\":%zu}", timed ? "tracing-ms" : "samples",
               count + begins);
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
    for (uint32_t i = 0; i < image->id_size; i++)
        out_format(out, "%02x", image->id[i]);
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
    out_text(out, "1");
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
    column(w->out, "libs");
    for (size_t i = 0, row = 0; i < r->image_count; i++) {
        if (w->lib[i] == PROFILE_NONE)
            continue;
        out_text(w->out, row++ ? ",\n" : "\n");
        out_lib(w->out, r, &r->images[i]);
    }
    out_text(w->out, "]");
    out_shared(w);
    column(w->out, "threads");
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
        error = make_tables(&w);
    if (!error)
        error = out_profile(&w);
    free(w.first_row);
    free(w.last_stack);
    free(w.lib);
    free(w.source);
    free(w.rows);
    free(w.natives);
    free(w.by_native.slots);
    profile_free(&p);
    return out->failed ? FW_ERR_MEMORY : error;
}
