/*
 * Collapsed stacks: `process;thread;outermost;...;innermost number`. The number is how often a
 * stack was seen, how many calls were made from it (the API is innermost then), or the milliseconds
 * of a hang that it stands for. Milliseconds are rounded so that their sum is that of the hang: a
 * line is the difference of two rounded sums.
 */
#include "base/duration.h"
#include "report/profile.h"

#include "report/words.h"

#include <stdlib.h>

/* A name on one line, without what separates names. */
static void out_label(struct report_bytes *out, const char *name)
{
    for (const char *p = name; *p; p++) {
        char c = *p == ';' ? ':' : (unsigned char)*p < ' ' ? ' ' : *p;
        out_bytes(out, &c, 1);
    }
}

static void out_location(struct report_bytes *out, const struct profile *p, uint32_t number)
{
    const struct profile_location *l = &p->locations[number];
    for (uint32_t i = l->line_count; i-- > 0;) {
        const struct profile_line *line = &p->lines[l->first_line + i];
        out_text(out, ";");
        out_label(out, p->texts[p->functions[line->function].name]);
        if (i + 1 < l->line_count)
            out_text(out, line->flags & REPORT_TAIL_CALL ? "_[t]" : "_[i]");
    }
}

static void out_stack(struct report_bytes *out, const struct profile *p,
                      const struct profile_series *series, uint32_t node)
{
    uint32_t stack[PROFILE_MAX_DEPTH];
    bool cut;
    size_t count = profile_stack(p, node, stack, &cut);
    if (series->process) {
        out_label(out, series->process);
        out_text(out, ";");
    }
    out_label(out, series->name);
    if (cut)
        out_text(out, ";[...]");
    for (size_t i = 0; i < count; i++)
        out_location(out, p, p->nodes[stack[i]].location);
}

static fw_error out_series(struct report_bytes *out, const struct profile *p,
                           const struct profile_series *series, size_t limit)
{
    size_t count;
    struct profile_sample *samples = profile_merge(p, series, &count);
    uint64_t before = 0;
    for (size_t i = 0; samples && i < count && out->size <= limit; i++) {
        uint64_t number = samples[i].value;
        if (profile_in_time(series)) {
            uint64_t sum = profile_add(before, samples[i].value);
            number = duration_ms(sum) - duration_ms(before);
            before = sum;
        }
        if (number == 0)
            continue;
        out_stack(out, p, series, samples[i].node);
        out_format(out, " %llu\n", (unsigned long long)number);
    }
    free(samples);
    return !samples ? FW_ERR_MEMORY : out->size > limit ? FW_ERR_FULL : FW_OK;
}

fw_error report_to_collapsed(const struct report *r, report_resolve resolve, void *context,
                             struct report_bytes *out)
{
    struct profile p;
    size_t limit = profile_limit(r);
    fw_error error = profile_make(&p, r, resolve, context);
    if (error == FW_ERR_UNSUPPORTED) /* no stacks are no lines */
        error = FW_OK;
    for (size_t i = 0; i < p.series_count && !error; i++)
        error = out_series(out, &p, &p.series[i], limit);
    profile_free(&p);
    return out->failed ? FW_ERR_MEMORY : error;
}
