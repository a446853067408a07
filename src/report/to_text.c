/*
 * Text for people: what it is about, then where the time went, the stack with the largest weight,
 * what an interpreter says, the other threads; or the calls; or of other tools' reports the threads
 * and trees. Times are UTC, so that two people with one report read the same.
 */
#include "report/to_text.h"

#include "base/duration.h"
#include "framewalk/hang.h"
#include "report/fwr.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- the head ---- */

static void out_word(struct text_writer *w, const char *before, const char *word)
{
    if (!word || !*word)
        return;
    out_text(w->out, before);
    out_clean(w->out, word, TEXT_WORD);
}

static void out_program(struct text_writer *w)
{
    const struct report_info *info = &w->p->report->info;
    out_clean(w->out, info->process ? last_part(info->process) : "A program", TEXT_WORD);
    out_word(w, " ", info->version);
    if (info->build && *info->build) {
        out_word(w, " (", info->build);
        out_text(w->out, ")");
    }
}

static const char *veto_phrase(uint8_t veto)
{
    return veto == FW_HANG_VETO_STOPPED      ? "the process was stopped, or the machine slept"
           : veto == FW_HANG_VETO_STARVED    ? "the thread got no processor"
           : veto == FW_HANG_VETO_DEBUGGED   ? "a debugger was attached"
           : veto == FW_HANG_VETO_BACKGROUND ? "the program was in the background"
           : veto == FW_HANG_VETO_IDLE_STACK ? "the thread waited in its loop"
                                             : "for an unknown reason";
}

static void out_ending(struct text_writer *w, const struct report_hang *hang)
{
    switch (hang->ending) {
    case FWR_RECOVERED: out_text(w->out, ", then came back\n"); break;
    case FWR_KILLED:
        out_text(w->out, ", until the process was killed: the hang was fatal\n");
        break;
    case FWR_STOPPED: out_text(w->out, " so far, when the watch was stopped\n"); break;
    case FWR_VETOED:
        out_format(w->out, ", which was no hang: %s\n", veto_phrase(hang->veto));
        break;
    default: out_text(w->out, " so far: the report breaks off here\n"); break;
    }
}

static void out_hang_head(struct text_writer *w)
{
    const struct report_hang *hang = &w->p->report->hang;
    out_program(w);
    out_word(w, ": \"", hang->watch ? hang->watch : "a thread");
    out_text(w->out, "\" hung for ");
    if (hang->ending == FWR_KILLED) /* nobody was there to see its end */
        out_text(w->out, "at least ");
    out_ms(w->out, hang->duration_ns);
    out_ending(w, hang);
}

static void out_about(struct text_writer *w)
{
    const struct report *r = w->p->report;
    const struct report_info *info = &r->info;
    size_t before = w->out->size;
    if (r->started_ms)
        out_utc(w->out, r->started_ms);
    else
        out_word(w, "", info->date);
    out_word(w, w->out->size > before ? ", process " : "process ", info->pid);
    out_word(w, w->out->size > before ? ", " : "", info->os);
    out_word(w, w->out->size > before ? ", " : "", info->arch);
    out_word(w, w->out->size > before ? ", " : "", info->device);
    if (w->out->size > before)
        out_text(w->out, "\n");
    const uint64_t tenths = duration_in(r->process_age_ms, 100);
    if (r->process_age_ms)
        out_format(w->out, "%" PRIu64 ".%" PRIu64 " s after the program's start\n", tenths / 10,
                   tenths % 10);
    const char *const lines[][2] = {{"Exception: ", info->exception},
                                    {"Reason: ", info->reason},
                                    {"Termination: ", info->termination},
                                    {"Report ", info->incident},
                                    {"Not whole: ", r->complete ? NULL : r->note}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i][1] && *lines[i][1]) {
            out_text(w->out, lines[i][0]);
            out_clean(w->out, lines[i][1], 4 * TEXT_COLUMNS);
            out_text(w->out, "\n");
        }
    if (!r->complete && !r->note)
        out_text(w->out, "Not whole: it breaks off\n");
}

static void out_hang_facts(struct text_writer *w)
{
    const struct report_hang *hang = &w->p->report->hang;
    out_text(w->out, "Threshold ");
    out_ms(w->out, hang->threshold_ns);
    if (hang->severe_ns) {
        out_text(w->out, ", severe from ");
        out_ms(w->out, hang->severe_ns);
        out_text(w->out, hang->duration_ns > hang->severe_ns ? " (it is)" : "");
    }
    out_text(w->out, "; ");
    out_grouped(w->out, hang->samples);
    out_format(w->out, " stack%s taken", hang->samples == 1 ? "" : "s");
    if (hang->unsampled_ns) {
        out_text(w->out, ", none in the first ");
        out_ms(w->out, hang->unsampled_ns);
    }
    if (hang->starved_ns) {
        out_text(w->out, "\nFor ");
        out_ms(w->out, hang->starved_ns);
        out_text(w->out, " of it the thread wanted to run and got no processor");
    }
    out_text(w->out, "\n");
}

/* ---- a hang ---- */

static const struct profile_series *series_of(const struct profile *p, enum profile_kind kind)
{
    for (size_t i = 0; i < p->series_count; i++)
        if (p->series[i].kind == kind)
            return &p->series[i];
    return NULL;
}

static fw_error out_tree(struct text_writer *w, const char *title,
                         const struct profile_series *series)
{
    out_format(w->out, "\n%s (", title);
    if (profile_in_time(series))
        out_ms(w->out, series->total);
    else
        out_grouped(w->out, series->total);
    out_text(w->out, profile_in_time(series) ? " sampled)\n\n"
                     : series->total == 1    ? " sample)\n\n"
                                             : " samples)\n\n");
    return text_tree(w, series);
}

static void out_share(struct text_writer *w, const char *what, uint64_t weight,
                      const struct profile_series *series)
{
    out_format(w->out, "\n%s (", what);
    out_ms(w->out, weight);
    out_format(w->out, ", %.0f %%)\n\n", 100.0 * (double)weight / (double)series->total);
}

static fw_error out_heaviest(struct text_writer *w, const struct profile_series *series)
{
    const struct report *r = w->p->report;
    const struct profile_sample *sample;
    uint64_t weight;
    fw_error error = text_heaviest(w, series, &sample, &weight);
    if (error || !sample || sample->stack >= r->thread_count)
        return error;
    out_share(w, "The stack with the most time", weight, series);
    text_stack(w, &r->threads[sample->stack]);
    return FW_OK;
}

static void out_script_frame(struct text_writer *w, uint32_t number, const char *function,
                             const char *file, uint32_t line)
{
    out_format(w->out, "  %2" PRIu32 "  ", number);
    out_clean(w->out, function, TEXT_LONGEST_NAME);
    text_source(w, file, line);
    out_text(w->out, "\n");
}

static fw_error out_heaviest_script(struct text_writer *w, const struct profile_series *series)
{
    const struct profile *p = w->p;
    const struct profile_sample *sample;
    uint64_t weight;
    fw_error error = text_heaviest(w, series, &sample, &weight);
    if (error || !sample)
        return error;
    out_share(w, "The script's stack with the most time", weight, series);
    uint32_t number = 0;
    for (uint32_t node = sample->node; node != PROFILE_NONE; node = p->nodes[node].parent) {
        const struct profile_line *line =
            &p->lines[p->locations[p->nodes[node].location].first_line];
        const struct profile_function *f = &p->functions[line->function];
        out_script_frame(w, number++, p->texts[f->name], f->file ? p->texts[f->file] : NULL,
                         line->line);
    }
    return FW_OK;
}

/* Of each other thread the stack that was taken last. */
static void out_scripts(struct text_writer *w, bool all)
{
    const struct report *r = w->p->report;
    for (size_t i = 0; i < r->script_count; i++) {
        const struct report_script *script = &r->scripts[i];
        bool later = i + 1 < r->script_count && r->scripts[i + 1].thread_id == script->thread_id;
        if (later || (!all && script->thread_id == r->hang.thread_id))
            continue;
        out_format(w->out, "\nThread %" PRIu64 " in ", script->thread_id);
        out_clean(w->out, script->language ? script->language : "its interpreter", TEXT_WORD);
        out_text(w->out, "\n\n");
        for (uint32_t k = 0; k < script->frame_count; k++) {
            const struct report_script_frame *f = &r->script_frames[script->first_frame + k];
            out_script_frame(w, k, f->function ? f->function : "???", f->file, f->line);
        }
    }
}

static fw_error out_hang(struct text_writer *w)
{
    const struct report *r = w->p->report;
    const struct profile_series *time = series_of(w->p, PROFILE_HANG);
    const struct profile_series *script = series_of(w->p, PROFILE_SCRIPT);
    out_hang_head(w);
    out_about(w);
    out_hang_facts(w);
    fw_error error = time ? out_tree(w, "Where the time went", time) : FW_OK;
    if (!error && script)
        error = out_tree(w, "The same time in the script", script);
    if (!error && time)
        error = out_heaviest(w, time);
    if (!error && script)
        error = out_heaviest_script(w, script);
    if (error)
        return error;
    out_scripts(w, !script);
    return text_threads(w, time ? r->hang.thread : REPORT_NONE);
}

/* ---- others ---- */

static fw_error out_calls(struct text_writer *w)
{
    out_program(w);
    out_text(w->out, ": watched calls\n");
    out_about(w);
    return text_calls(w);
}

/* Many stacks of one thread are a tree, one is a stack. */
static bool is_sampled(const struct profile *p)
{
    const struct report *r = p->report;
    for (size_t i = 0; i < r->thread_count; i++)
        if (r->threads[i].order != REPORT_STACK)
            return true;
    return r->kind == REPORT_PERF;
}

static fw_error out_other(struct text_writer *w)
{
    const struct profile *p = w->p;
    fw_error error = FW_OK;
    out_program(w);
    out_format(w->out, ": %s\n",
               p->report->kind == REPORT_FRAMEWALK ? "threads" : report_kind_text(p->report->kind));
    out_about(w);
    out_scripts(w, true);
    if (!is_sampled(p))
        return text_threads(w, REPORT_NONE);
    for (size_t i = 0; i < p->series_count && !error; i++) {
        const struct profile_series *series = &p->series[i];
        struct report_bytes title = {0};
        bool unknown = !series->id && strcmp(series->name, "thread") == 0;
        out_text(&title, unknown ? "All stacks" : "Thread ");
        out_clean(&title, unknown ? "" : series->name, TEXT_WORD);
        if (series->id && strcmp(series->id, series->name) != 0) {
            out_text(&title, " ");
            out_clean(&title, series->id, TEXT_WORD);
        }
        if (series->process) {
            out_text(&title, " of ");
            out_clean(&title, series->process, TEXT_WORD);
        }
        error = title.failed ? FW_ERR_MEMORY : out_tree(w, title.data, series);
        report_bytes_free(&title);
    }
    return error;
}

/* ---- the end ---- */

static void out_pairs(struct text_writer *w)
{
    const struct report *r = w->p->report;
    for (size_t i = 0; i < r->key_count; i++) {
        out_text(w->out, i ? "  " : "\nKeys\n  ");
        out_clean(w->out, r->keys[i].key ? r->keys[i].key : "", TEXT_WORD);
        out_text(w->out, " = ");
        out_clean(w->out, r->keys[i].value ? r->keys[i].value : "", 4 * TEXT_COLUMNS);
        out_text(w->out, "\n");
    }
    bool first = true;
    for (size_t i = 0; i < r->total_count; i++) {
        if (r->totals[i].number == 0)
            continue;
        out_text(w->out, first ? "\nTotals\n  " : "  ");
        first = false;
        out_clean(w->out, r->totals[i].key ? r->totals[i].key : "", TEXT_WORD);
        out_text(w->out, " ");
        out_grouped(w->out, r->totals[i].number);
        out_text(w->out, "\n");
    }
}

fw_error report_to_text(const struct report *r, report_resolve resolve, void *context,
                        struct report_bytes *out)
{
    struct profile p;
    struct text_writer w = {.out = out, .p = &p};
    fw_error error = profile_make(&p, r, resolve, context);
    if (error == FW_ERR_UNSUPPORTED) /* without stacks there is still something to say */
        error = FW_OK;
    if (!error) {
        error = r->hang.present                 ? out_hang(&w)
                : r->api_count || r->call_count ? out_calls(&w)
                                                : out_other(&w);
        out_pairs(&w);
    }
    profile_free(&p);
    return out->failed ? FW_ERR_MEMORY : error;
}
