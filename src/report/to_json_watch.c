/*
 * What Framewalk's own reports hold beside threads, in Framewalk's own form (docs/reports.md,
 * change the two together): the hang and its samples, calls, stacks of interpreters, keys and
 * totals. Samples and calls name their stack by its number in `stacks`.
 */
#include "framewalk/stack.h"
#include "report/fwr.h"
#include "report/to_json.h"
#include "report/words.h"

#include <inttypes.h>
#include <stdlib.h>

static void out_u64(struct report_bytes *out, const char *key, uint64_t value)
{
    out_format(out, ",\"%s\":%" PRIu64, key, value);
}

static void out_true(struct report_bytes *out, const char *key, bool value)
{
    out_format(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void out_end(struct report_bytes *out, const struct report_thread *thread)
{
    bool cut = thread->end != FW_END_NONE && thread->end != FW_END_ROOT;
    json_member(out, "incomplete",
                thread->unavailable ? fw_unavailable_text((fw_unavailable)thread->unavailable)
                : cut               ? fw_end_text((fw_end)thread->end)
                                    : NULL);
    out_u64(out, "head", thread->head);
    out_u64(out, "omitted", thread->omitted);
}

void json_watch_thread(struct report_bytes *out, const struct report_thread *thread)
{
    char state[2] = {thread->state, 0};
    out_true(out, "main", thread->main);
    out_true(out, "watched", thread->watched);
    json_member(out, "state", thread->state ? state : NULL);
    out_end(out, thread);
}

static void out_hang(struct report_bytes *out, const struct report_hang *hang)
{
    if (!hang->present) {
        out_text(out, ",\n\"hang\":null");
        return;
    }
    out_text(out, ",\n\"hang\":{\"watch\":");
    out_json(out, hang->watch);
    out_format(out, ",\"thread\":\"%" PRIu64 "\"", hang->thread_id);
    out_u64(out, "started_ms", hang->started_ms);
    out_u64(out, "duration_ns", hang->duration_ns);
    out_u64(out, "threshold_ns", hang->threshold_ns);
    out_u64(out, "severe_ns", hang->severe_ns);
    out_u64(out, "unsampled_ns", hang->unsampled_ns);
    out_u64(out, "starved_ns", hang->starved_ns);
    out_u64(out, "samples", hang->samples);
    json_member(out, "ending", ending_word(hang->ending));
    json_member(out, "veto", veto_word(hang->veto));
    out_text(out, "}");
}

/* Numbers of stacks: entries of threads[] that are none are not counted. */
static uint32_t *number_stacks(const struct report *r)
{
    uint32_t *numbers = malloc((r->thread_count + 1) * sizeof *numbers), count = 0;
    for (size_t i = 0; numbers && i < r->thread_count; i++)
        numbers[i] = r->threads[i].stack ? count++ : REPORT_NONE;
    return numbers;
}

static void out_stack_number(struct report_bytes *out, const struct report *r,
                             const uint32_t *numbers, uint32_t stack)
{
    if (stack < r->thread_count && numbers[stack] != REPORT_NONE)
        out_u64(out, "stack", numbers[stack]);
    else
        out_text(out, ",\"stack\":null");
}

static void out_stacks(struct report_bytes *out, const struct report *r, report_resolve resolve,
                       void *context)
{
    const char *separator = "\n";
    out_text(out, ",\n\"stacks\":[");
    for (size_t i = 0; i < r->thread_count; i++) {
        if (!r->threads[i].stack)
            continue;
        out_format(out, "%s{\"frames\":", separator);
        json_frames(out, r, &r->threads[i], resolve, context);
        out_end(out, &r->threads[i]);
        out_text(out, "}");
        separator = ",\n";
    }
    out_text(out, "]");
}

static void out_samples(struct report_bytes *out, const struct report *r, const uint32_t *numbers)
{
    out_text(out, ",\n\"samples\":[");
    for (size_t i = 0; i < r->sample_count; i++) {
        const struct report_sample *sample = &r->samples[i];
        out_format(out, "%s{\"at_ns\":%" PRIu64, i ? ",\n" : "\n", sample->at_ns);
        out_u64(out, "weight_ns", sample->weight_ns);
        out_u64(out, "count", sample->count);
        out_stack_number(out, r, numbers, sample->stack);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void out_apis(struct report_bytes *out, const struct report *r)
{
    out_text(out, ",\n\"apis\":[");
    for (size_t i = 0; i < r->api_count; i++) {
        const struct report_api *api = &r->apis[i];
        out_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
        out_json(out, api->name);
        out_u64(out, "calls", api->calls);
        out_u64(out, "pointers", api->pointers);
        out_u64(out, "inside", api->inside);
        out_true(out, "found", api->found);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void out_calls(struct report_bytes *out, const struct report *r, const uint32_t *numbers)
{
    out_text(out, ",\n\"calls\":[");
    for (size_t i = 0; i < r->call_count; i++) {
        const struct report_call *call = &r->calls[i];
        out_format(out, "%s{\"api\":%" PRIu32, i ? ",\n" : "\n", call->api);
        out_u64(out, "count", call->count);
        out_u64(out, "first_ms", call->first_ms);
        out_u64(out, "last_ms", call->last_ms);
        out_format(out, ",\"thread\":\"%" PRIu64 "\"", call->thread_id);
        out_stack_number(out, r, numbers, call->stack);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void out_script(struct report_bytes *out, const struct report *r,
                       const struct report_script *script)
{
    out_format(out, "{\"thread\":\"%" PRIu64 "\"", script->thread_id);
    out_u64(out, "at_ns", script->at_ns);
    json_member(out, "language", script->language);
    out_text(out, ",\"frames\":[");
    for (uint32_t i = 0; i < script->frame_count; i++) {
        const struct report_script_frame *frame = &r->script_frames[script->first_frame + i];
        out_text(out, i ? ",{\"function\":" : "{\"function\":");
        out_json(out, frame->function);
        json_member(out, "file", frame->file);
        if (frame->line)
            out_u64(out, "line", frame->line);
        else
            out_text(out, ",\"line\":null");
        out_text(out, "}");
    }
    out_text(out, "]}");
}

static void out_scripts(struct report_bytes *out, const struct report *r)
{
    out_text(out, ",\n\"scripts\":[");
    for (size_t i = 0; i < r->script_count; i++) {
        out_text(out, i ? ",\n" : "\n");
        out_script(out, r, &r->scripts[i]);
    }
    out_text(out, "]");
}

static void out_symbols(struct report_bytes *out, const struct report *r)
{
    out_text(out, ",\n\"symbols\":[");
    for (size_t i = 0; i < r->symbol_count; i++) {
        const struct report_symbol *symbol = &r->symbols[i];
        out_format(out, "%s{\"address\":\"0x%" PRIx64 "\",\"size\":%" PRIu64, i ? ",\n" : "\n",
                   symbol->address, symbol->size);
        json_member(out, "name", symbol->name);
        json_member(out, "file", symbol->file);
        if (symbol->line)
            out_u64(out, "line", symbol->line);
        else
            out_text(out, ",\"line\":null");
        out_text(out, "}");
    }
    out_text(out, "]");
}

/* Lists, not objects: nothing keeps a program from using a key twice. */
static void out_pairs(struct report_bytes *out, const struct report *r)
{
    out_text(out, ",\n\"keys\":[");
    for (size_t i = 0; i < r->key_count; i++) {
        out_text(out, i ? ",{\"key\":" : "{\"key\":");
        out_json(out, r->keys[i].key);
        json_member(out, "value", r->keys[i].value);
        out_text(out, "}");
    }
    out_text(out, "],\n\"totals\":[");
    for (size_t i = 0; i < r->total_count; i++) {
        out_text(out, i ? ",{\"name\":" : "{\"name\":");
        out_json(out, r->totals[i].key);
        out_u64(out, "value", r->totals[i].number);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static const char *about_word(uint8_t about)
{
    switch (about) {
    case FWR_KIND_HANG: return "hang";
    case FWR_KIND_CALLS: return "calls";
    case FWR_KIND_SNAPSHOT: return "snapshot";
    default: return NULL;
    }
}

void json_watch(struct report_bytes *out, const struct report *r, report_resolve resolve,
                void *context)
{
    uint32_t *numbers = number_stacks(r);
    if (!numbers) {
        out->failed = true;
        return;
    }
    json_member(out, "about", about_word(r->about));
    json_member(out, "session", r->session);
    out_u64(out, "started_ms", r->started_ms);
    out_u64(out, "process_age_ms", r->process_age_ms);
    out_hang(out, &r->hang);
    out_samples(out, r, numbers);
    out_apis(out, r);
    out_calls(out, r, numbers);
    out_stacks(out, r, resolve, context);
    out_scripts(out, r);
    out_symbols(out, r);
    out_pairs(out, r);
    free(numbers);
}
