/*
 * pprof's profile.proto (github.com/google/pprof, proto/profile.proto), gzip'ed.
 *
 * Values by what the report holds: a hang `hangs/count` and `blocked/nanoseconds`, and for stacks
 * of an interpreter `LANGUAGE/nanoseconds`, so that the same time does not count twice; calls
 * `calls/count`; others `samples/count`. A hang counts once, at the stack with the largest weight:
 * many reports merged (`pprof a b c`) say how many hangs there were and where.
 *
 * Locations keep their addresses and mappings with build ids whether they have names or not, so
 * those without can be named elsewhere. Where the report does not say where an image was loaded, it
 * is laid at an address of our choice; offsets in it hold.
 */
#include "object/codecs.h"
#include "report/profile.h"
#include "report/proto_out.h"
#include "report/words.h"

#include <stdlib.h>

enum { /* fields of Profile */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE,
       PROFILE_MAPPING,
       PROFILE_LOCATION,
       PROFILE_FUNCTION,
       PROFILE_STRING,
       PROFILE_TIME_NANOS = 9,
       PROFILE_DURATION_NANOS,
       PROFILE_COMMENT = 13,
       PROFILE_DEFAULT_TYPE
};

enum { VALUE_TYPES = 5 };

struct mapping {
    uint64_t start, size;
    uint32_t id; /* 0: not used by any location */
    bool nameless, files, lines, inlines;
};

struct pprof {
    struct profile *p;
    struct report_bytes *out;
    struct report_bytes message, part; /* for one message, and for one within it */
    struct mapping *mappings;          /* of each image */
    int value_of[VALUE_TYPES];         /* place of a kind of value; -1: there is none */
    int value_count;
    uint32_t thread_key, process_key, cut; /* cut: location of "[...]" */
};

enum { VALUE_HANGS, VALUE_BLOCKED, VALUE_SCRIPT, VALUE_CALLS, VALUE_SAMPLES };

static const char *script_language(const struct report *r)
{
    for (size_t i = 0; i < r->script_count; i++)
        if (r->scripts[i].language && *r->scripts[i].language)
            return r->scripts[i].language;
    return "script";
}

static void value_type(struct pprof *w, int value, const char *type, const char *unit)
{
    if (w->value_of[value] >= 0)
        return;
    proto_number(&w->message, 1, profile_text(w->p, type));
    proto_number(&w->message, 2, profile_text(w->p, unit));
    proto_message(w->out, PROFILE_SAMPLE_TYPE, &w->message);
    w->value_of[value] = w->value_count++;
}

static void value_types(struct pprof *w)
{
    for (int i = 0; i < VALUE_TYPES; i++)
        w->value_of[i] = -1;
    for (size_t i = 0; i < w->p->series_count; i++)
        switch ((enum profile_kind)w->p->series[i].kind) {
        case PROFILE_HANG:
            value_type(w, VALUE_HANGS, "hangs", "count");
            value_type(w, VALUE_BLOCKED, "blocked", "nanoseconds");
            break;
        case PROFILE_SCRIPT:
            value_type(w, VALUE_SCRIPT, script_language(w->p->report), "nanoseconds");
            break;
        case PROFILE_CALLS: value_type(w, VALUE_CALLS, "calls", "count"); break;
        case PROFILE_THREADS: value_type(w, VALUE_SAMPLES, "samples", "count"); break;
        }
}

/* ---- samples ---- */

static void out_label(struct pprof *w, uint32_t key, const char *text)
{
    proto_number(&w->part, 1, key);
    proto_number(&w->part, 2, profile_text(w->p, text));
    proto_message(&w->message, 3, &w->part);
}

static void out_sample(struct pprof *w, const struct profile_series *series,
                       const struct profile_sample *sample, bool heaviest)
{
    uint32_t stack[PROFILE_MAX_DEPTH];
    uint64_t values[VALUE_TYPES] = {0};
    bool cut;
    size_t count = profile_stack(w->p, sample->node, stack, &cut);
    while (count-- > 0)
        proto_varint(&w->part, (uint64_t)w->p->nodes[stack[count]].location + 1);
    if (cut)
        proto_varint(&w->part, (uint64_t)w->cut + 1);
    proto_message(&w->message, 1, &w->part);

    static const int value_of_kind[] = {[PROFILE_HANG] = VALUE_BLOCKED,
                                        [PROFILE_SCRIPT] = VALUE_SCRIPT,
                                        [PROFILE_CALLS] = VALUE_CALLS,
                                        [PROFILE_THREADS] = VALUE_SAMPLES};
    uint64_t value = sample->value > INT64_MAX ? INT64_MAX : sample->value;
    values[w->value_of[value_of_kind[series->kind]]] = value;
    if (series->kind == PROFILE_HANG && heaviest)
        values[w->value_of[VALUE_HANGS]] = 1;
    for (int i = 0; i < w->value_count; i++)
        proto_varint(&w->part, values[i]);
    proto_message(&w->message, 2, &w->part);
    if (series->process)
        out_label(w, w->process_key, series->process);
    out_label(w, w->thread_key, series->name);
    proto_message(w->out, PROFILE_SAMPLE, &w->message);
}

static fw_error out_samples(struct pprof *w, const struct profile_series *series, size_t limit)
{
    size_t count, heaviest = 0;
    struct profile_sample *samples = profile_merge(w->p, series, &count);
    for (size_t i = 1; samples && i < count; i++)
        if (samples[i].value > samples[heaviest].value)
            heaviest = i;
    for (size_t i = 0; samples && i < count && w->out->size <= limit; i++)
        out_sample(w, series, &samples[i], i == heaviest);
    free(samples);
    return !samples ? FW_ERR_MEMORY : w->out->size > limit ? FW_ERR_FULL : FW_OK;
}

/* ---- places ---- */

static void note_lines(const struct profile *p, const struct profile_location *l,
                       struct mapping *mapping)
{
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct profile_line *line = &p->lines[l->first_line + i];
        mapping->nameless |= p->functions[line->function].nameless;
        mapping->files |= p->functions[line->function].file != 0;
        mapping->lines |= line->line != 0;
    }
    mapping->inlines |= l->line_count > 1;
}

/* The image of the program comes first: that is what pprof takes for it. */
static bool is_main(const struct report *r, const struct report_image *image)
{
    return (r->info.path && image->path && strcmp(r->info.path, image->path) == 0) ||
           (r->info.process && strcmp(last_part(r->info.process), image->name) == 0);
}

static void lay_out(struct pprof *w)
{
    const struct profile *p = w->p;
    const struct report *r = p->report;
    uint64_t free_address = (uint64_t)1 << 28;
    uint32_t id = 0;
    for (size_t i = 0; i < p->location_count; i++) {
        const struct profile_location *l = &p->locations[i];
        struct mapping *mapping = l->image == REPORT_NONE ? NULL : &w->mappings[l->image];
        if (!mapping)
            continue;
        mapping->id = 1;
        if (l->has_offset && l->offset >= mapping->size && l->offset < UINT64_MAX)
            mapping->size = l->offset + 1;
        note_lines(p, l, mapping);
    }
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->image_count; i++) {
            struct mapping *mapping = &w->mappings[i];
            const struct report_image *image = &r->images[i];
            if (!mapping->id || is_main(r, image) != (pass == 0))
                continue;
            mapping->id = ++id;
            mapping->size = image->size ? image->size : mapping->size;
            mapping->start = image->has_load ? image->load : free_address;
            if (!image->has_load)
                free_address += (mapping->size + 0x1fffff) & ~(uint64_t)0xfffff;
        }
}

static void out_mapping(struct pprof *w, size_t number)
{
    const struct report_image *image = &w->p->report->images[number];
    const struct mapping *mapping = &w->mappings[number];
    struct report_bytes id = {0};
    out_hex(&id, image->id, image->id_size);
    proto_number(&w->message, 1, mapping->id);
    proto_number(&w->message, 2, mapping->start);
    proto_number(&w->message, 3, profile_add(mapping->start, mapping->size));
    proto_number(&w->message, 5, profile_text(w->p, image->path ? image->path : image->name));
    proto_number(&w->message, 6, id.data ? profile_text(w->p, id.data) : 0);
    proto_number(&w->message, 7, !mapping->nameless);
    proto_number(&w->message, 8, !mapping->nameless && mapping->files);
    proto_number(&w->message, 9, !mapping->nameless && mapping->lines);
    proto_number(&w->message, 10, !mapping->nameless && mapping->inlines);
    w->message.failed |= id.failed;
    report_bytes_free(&id);
    proto_message(w->out, PROFILE_MAPPING, &w->message);
}

static void out_mappings(struct pprof *w)
{
    const struct report *r = w->p->report;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->image_count; i++)
            if (w->mappings[i].id && is_main(r, &r->images[i]) == (pass == 0))
                out_mapping(w, i);
}

static void out_location(struct pprof *w, uint32_t number)
{
    const struct profile *p = w->p;
    const struct profile_location *l = &p->locations[number];
    const struct mapping *mapping = l->image == REPORT_NONE ? NULL : &w->mappings[l->image];
    uint64_t address = l->address;
    if (!l->has_address && mapping && l->has_offset)
        address = mapping->start + l->offset;
    proto_number(&w->message, 1, (uint64_t)number + 1);
    proto_number(&w->message, 2, mapping ? mapping->id : 0);
    proto_number(&w->message, 3, address);
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct profile_line *line = &p->lines[l->first_line + i];
        if (p->functions[line->function].nameless)
            continue;
        proto_number(&w->part, 1, (uint64_t)line->function + 1);
        proto_number(&w->part, 2, line->line);
        proto_number(&w->part, 3, line->column);
        proto_message(&w->message, 4, &w->part);
    }
    proto_message(w->out, PROFILE_LOCATION, &w->message);
}

static void out_function(struct pprof *w, uint32_t number)
{
    const struct profile_function *f = &w->p->functions[number];
    if (f->nameless)
        return;
    proto_number(&w->message, 1, (uint64_t)number + 1);
    proto_number(&w->message, 2, f->name);
    proto_number(&w->message, 3, f->name);
    proto_number(&w->message, 4, f->file);
    proto_message(w->out, PROFILE_FUNCTION, &w->message);
}

/* ---- the whole ---- */

/* "[...]" for stacks that are cut. */
static bool make_cut(struct pprof *w)
{
    struct profile *p = w->p;
    struct profile_function function = {
        .name = profile_text(p, "[...]"), .image = REPORT_NONE, .pseudo = true};
    struct profile_line line = {.function = profile_function(p, &function)};
    struct profile_location location = {
        .image = REPORT_NONE, .first_line = (uint32_t)p->line_count, .line_count = 1};
    if (!p->error && profile_add_line(p, &line))
        w->cut = profile_location(p, &location);
    return !p->error;
}

static void out_about(struct pprof *w)
{
    const struct report *r = w->p->report;
    struct report_bytes title = {0};
    profile_title(&title, r);
    w->message.failed |= title.failed;
    if (r->hang.present) {
        proto_number(w->out, PROFILE_TIME_NANOS,
                     r->hang.started_ms < INT64_MAX / 1000000 ? r->hang.started_ms * 1000000 : 0);
        proto_number(w->out, PROFILE_DURATION_NANOS,
                     r->hang.duration_ns < INT64_MAX ? r->hang.duration_ns : 0);
    }
    proto_number(w->out, PROFILE_COMMENT, title.data ? profile_text(w->p, title.data) : 0);
    if (w->value_of[VALUE_BLOCKED] >= 0)
        proto_number(w->out, PROFILE_DEFAULT_TYPE, profile_text(w->p, "blocked"));
    report_bytes_free(&title);
}

static fw_error out_profile(struct pprof *w, size_t limit)
{
    struct profile *p = w->p;
    fw_error error = make_cut(w) ? FW_OK : FW_ERR_MEMORY;
    if (error)
        return error;
    w->thread_key = profile_text(p, "thread");
    w->process_key = profile_text(p, "process");
    value_types(w);
    for (size_t i = 0; i < p->series_count && !error; i++)
        error = out_samples(w, &p->series[i], limit);
    if (error)
        return error;
    lay_out(w);
    out_mappings(w);
    for (uint32_t i = 0; i < p->location_count; i++)
        out_location(w, i);
    for (uint32_t i = 0; i < p->function_count; i++)
        out_function(w, i);
    out_about(w);
    for (size_t i = 0; i < p->text_count; i++)
        proto_bytes(w->out, PROFILE_STRING, p->texts[i], strlen(p->texts[i]));
    return p->error ? p->error : w->message.failed || w->part.failed ? FW_ERR_MEMORY : FW_OK;
}

fw_error report_to_pprof(const struct report *r, report_resolve resolve, void *context,
                         struct report_bytes *out)
{
    struct profile p;
    struct report_bytes plain = {0};
    struct pprof w = {.p = &p, .out = &plain};
    fw_error error = profile_make(&p, r, resolve, context);
    w.mappings = calloc(r->image_count + 1, sizeof *w.mappings);
    if (!error)
        error = w.mappings ? out_profile(&w, profile_limit(r)) : FW_ERR_MEMORY;
    if (!error && plain.failed)
        error = FW_ERR_MEMORY;
    if (!error) {
        size_t size;
        uint8_t *packed = codecs_gzip(plain.data, plain.size, &size);
        out_bytes(out, packed, packed ? size : 0);
        error = packed ? FW_OK : FW_ERR_MEMORY;
        free(packed);
    }
    free(w.mappings);
    report_bytes_free(&w.message);
    report_bytes_free(&w.part);
    report_bytes_free(&plain);
    profile_free(&p);
    return out->failed ? FW_ERR_MEMORY : error;
}
