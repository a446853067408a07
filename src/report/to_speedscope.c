/*
 * speedscope's own format (https://www.speedscope.app/file-format-schema.json): one `sampled`
 * profile for each series. Those of a hang are in milliseconds and in the order of time, so that
 * the view "Time Order" shows what was done when; others are counts without a unit.
 *
 * A frame is a function, so that a function is one box however many of its lines were seen; its
 * line is the one with the largest weight in it.
 */
#include "report/profile.h"

#include "report/words.h"

#include <inttypes.h>
#include <stdlib.h>

struct line_weight {
    uint32_t function, line, column;
    uint64_t weight;
};

struct best_line { /* of a function */
    uint32_t line, column;
    uint64_t weight;
};

/* What each node and all below it weigh. */
static uint64_t *weigh_nodes(const struct profile *p)
{
    uint64_t *weights = calloc(p->node_count + 1, sizeof *weights);
    for (size_t i = 0; weights && i < p->series_count; i++)
        for (size_t k = 0; k < p->series[i].sample_count; k++) {
            const struct profile_sample *sample = &p->series[i].samples[k];
            weights[sample->node] = profile_add(weights[sample->node], sample->value);
        }
    for (size_t i = p->node_count; weights && i-- > 0;) {
        uint32_t parent = p->nodes[i].parent;
        if (parent != PROFILE_NONE)
            weights[parent] = profile_add(weights[parent], weights[i]);
    }
    return weights;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line_weight *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static void choose(struct best_line *best, const struct line_weight *lines, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        uint64_t weight = 0;
        for (next = i; next < count && compare_lines(&lines[i], &lines[next]) == 0; next++)
            weight = profile_add(weight, lines[next].weight);
        struct best_line *of = &best[lines[i].function];
        if (lines[i].line && (of->line == 0 || weight > of->weight))
            *of = (struct best_line){lines[i].line, lines[i].column, weight};
    }
}

static struct best_line *best_lines(const struct profile *p)
{
    uint64_t *of_node = weigh_nodes(p);
    uint64_t *of_location = calloc(p->location_count + 1, sizeof *of_location);
    struct line_weight *lines = calloc(p->line_count + 1, sizeof *lines);
    struct best_line *best = calloc(p->function_count + 1, sizeof *best);
    size_t count = 0;
    for (size_t i = 0; of_node && of_location && i < p->node_count; i++) {
        uint64_t *weight = &of_location[p->nodes[i].location];
        *weight = profile_add(*weight, of_node[i]);
    }
    for (size_t i = 0; of_node && of_location && lines && i < p->location_count; i++)
        for (uint32_t k = 0; k < p->locations[i].line_count; k++) {
            const struct profile_line *line = &p->lines[p->locations[i].first_line + k];
            lines[count++] =
                (struct line_weight){line->function, line->line, line->column, of_location[i]};
        }
    if (of_node && of_location && lines && best) {
        qsort(lines, count, sizeof *lines, compare_lines);
        choose(best, lines, count);
    } else {
        free(best);
        best = NULL;
    }
    free(of_node);
    free(of_location);
    free(lines);
    return best;
}

static void out_frame(struct report_bytes *out, const struct profile *p, uint32_t number,
                      const struct best_line *best)
{
    const struct profile_function *f = &p->functions[number];
    out_text(out, "{\"name\":");
    out_json(out, p->texts[f->name]);
    if (f->file) {
        out_text(out, ",\"file\":");
        out_json(out, p->texts[f->file]);
        if (best->line)
            out_format(out, ",\"line\":%" PRIu32, best->line);
        if (best->line && best->column)
            out_format(out, ",\"col\":%" PRIu32, best->column);
    }
    out_text(out, "}");
}

/* All functions; behind them `[...]`, for stacks that are cut. */
static void out_frames(struct report_bytes *out, const struct profile *p, struct best_line *best)
{
    for (uint32_t i = 0; i < p->function_count; i++) {
        out_text(out, i ? ",\n" : "\n");
        out_frame(out, p, i, &best[i]);
    }
    out_text(out, p->function_count ? ",\n{\"name\":\"[...]\"}" : "{\"name\":\"[...]\"}");
}

static void out_stack(struct report_bytes *out, const struct profile *p, uint32_t node)
{
    uint32_t stack[PROFILE_MAX_DEPTH];
    bool cut;
    size_t count = profile_stack(p, node, stack, &cut);
    const char *separator = "";
    if (cut) {
        out_format(out, "%zu", p->function_count);
        separator = ",";
    }
    for (size_t i = 0; i < count; i++) {
        const struct profile_location *l = &p->locations[p->nodes[stack[i]].location];
        for (uint32_t k = l->line_count; k-- > 0;) {
            out_format(out, "%s%" PRIu32, separator, p->lines[l->first_line + k].function);
            separator = ",";
        }
    }
}

static void out_value(struct report_bytes *out, const struct profile_series *series, uint64_t value)
{
    if (profile_in_time(series))
        out_exact_ms(out, value);
    else
        out_format(out, "%" PRIu64, value);
}

static void out_name(struct report_bytes *out, const struct profile_series *series)
{
    struct report_bytes name = {0};
    out_format(&name, "%s%s%s", series->process ? series->process : "", series->process ? " " : "",
               series->name);
    if (series->id && strcmp(series->id, series->name) != 0)
        out_format(&name, " (%s)", series->id);
    out->failed |= name.failed;
    out_json(out, name.data);
    report_bytes_free(&name);
}

static fw_error out_series(struct report_bytes *out, const struct profile *p,
                           const struct profile_series *series, size_t limit)
{
    size_t count = series->sample_count;
    struct profile_sample *merged = NULL;
    const struct profile_sample *samples = series->samples;
    if (!profile_in_time(series)) {
        merged = profile_merge(p, series, &count);
        samples = merged;
        if (!merged)
            return FW_ERR_MEMORY;
    }
    out_text(out, "{\"type\":\"sampled\",\"name\":");
    out_name(out, series);
    out_format(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":",
               profile_in_time(series) ? "milliseconds" : "none");
    out_value(out, series, series->total);
    out_text(out, ",\n\"samples\":[");
    for (size_t i = 0; i < count && out->size <= limit; i++) {
        out_text(out, i ? ",\n[" : "\n[");
        out_stack(out, p, samples[i].node);
        out_text(out, "]");
    }
    out_text(out, "],\n\"weights\":[");
    for (size_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        out_value(out, series, samples[i].value);
    }
    out_text(out, "]}");
    free(merged);
    return out->size > limit ? FW_ERR_FULL : FW_OK;
}

static fw_error out_profiles(struct report_bytes *out, const struct profile *p, size_t limit)
{
    fw_error error = FW_OK;
    for (size_t i = 0; i < p->series_count && !error; i++) {
        out_text(out, i ? ",\n" : "\n");
        error = out_series(out, p, &p->series[i], limit);
    }
    return error;
}

static void out_title(struct report_bytes *out, const struct report *r)
{
    struct report_bytes title = {0};
    profile_title(&title, r);
    out->failed |= title.failed;
    out_json(out, title.data);
    report_bytes_free(&title);
}

fw_error report_to_speedscope(const struct report *r, report_resolve resolve, void *context,
                              struct report_bytes *out)
{
    struct profile p;
    fw_error error = profile_make(&p, r, resolve, context);
    struct best_line *best = error ? NULL : best_lines(&p);
    if (!error && !best)
        error = FW_ERR_MEMORY;
    if (!error) {
        out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                      "\"exporter\":\"framewalk\",\"name\":");
        out_title(out, r);
        out_text(out, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
        out_frames(out, &p, best);
        out_text(out, "]},\n\"profiles\":[");
        error = out_profiles(out, &p, profile_limit(r));
        out_text(out, "\n]}\n");
    }
    free(best);
    profile_free(&p);
    return out->failed ? FW_ERR_MEMORY : error;
}
