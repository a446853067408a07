/* Watched calls: a table of APIs and of who calls them, then the stacks of the most frequent
 * callers. A caller is the innermost function behind the API's return address, inlined or not. */
#include "report/to_text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { API_COLUMNS = 32, CALLERS_SHOWN = 10, STACKS_SHOWN = 5 };

struct caller {
    uint32_t api;
    uint32_t location; /* of the first such call; PROFILE_NONE: without a stack */
    uint32_t function;
    uint64_t count;
};

static int compare_callers(const void *a, const void *b)
{
    const struct caller *x = a, *y = b;
    if (x->api != y->api)
        return x->api < y->api ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function;
}

static int compare_counts(const void *a, const void *b)
{
    const struct caller *x = a, *y = b;
    if (x->api != y->api)
        return x->api < y->api ? -1 : 1;
    return x->count > y->count ? -1 : x->count < y->count;
}

static struct caller caller_of(const struct profile *p, const struct report_call *call)
{
    const struct report *r = p->report;
    const struct report_thread *stack =
        call->stack < r->thread_count ? &r->threads[call->stack] : NULL;
    struct caller caller = {call->api, PROFILE_NONE, PROFILE_NONE, call->count};
    if (stack && stack->frame_count) {
        caller.location = p->of_frame[stack->first_frame];
        caller.function = p->lines[p->locations[caller.location].first_line].function;
    }
    return caller;
}

/* Callers of all APIs, each once: by API, then by number of calls. */
static struct caller *list_callers(const struct profile *p, size_t *count)
{
    const struct report *r = p->report;
    struct caller *list = calloc(r->call_count + 1, sizeof *list);
    *count = 0;
    if (!list)
        return NULL;
    for (size_t i = 0; i < r->call_count; i++)
        list[i] = caller_of(p, &r->calls[i]);
    if (r->call_count)
        qsort(list, r->call_count, sizeof *list, compare_callers);
    for (size_t i = 0; i < r->call_count; i++) {
        struct caller *last = *count ? &list[*count - 1] : NULL;
        if (last && compare_callers(last, &list[i]) == 0)
            last->count = profile_add(last->count, list[i].count);
        else
            list[(*count)++] = list[i];
    }
    if (*count)
        qsort(list, *count, sizeof *list, compare_counts);
    return list;
}

static void out_number(struct report_bytes *out, uint64_t number)
{
    struct report_bytes text = {0};
    out_grouped(&text, number);
    out_format(out, "%11s  ", text.data ? text.data : "");
    out->failed |= text.failed;
    report_bytes_free(&text);
}

/* The name in its column; a long one has a line of its own. */
static void out_api(struct text_writer *w, const char *name)
{
    out_text(w->out, "  ");
    size_t columns = out_clean(w->out, name ? name : "???", TEXT_COLUMNS - 2);
    if (columns > API_COLUMNS) {
        out_text(w->out, "\n  ");
        columns = 0;
    }
    out_repeat(w->out, ' ', API_COLUMNS - columns);
}

static void out_caller(struct text_writer *w, const struct caller *caller)
{
    out_number(w->out, caller->count);
    if (caller->location == PROFILE_NONE)
        out_text(w->out, "[no stack]");
    else
        text_place(w, &w->p->locations[caller->location]);
    out_text(w->out, "\n");
}

/* Of a function that nobody was seen to call: one reason. */
static const char *why_uncalled(const struct report_api *api)
{
    return !api || !api->found  ? "[no image that was loaded defines it]\n"
           : api->pointers == 0 ? "[no image calls it from outside]\n"
           : api->inside        ? "[not called from outside the image that defines it]\n"
                                : "[not called]\n";
}

static void out_notes(struct text_writer *w, const struct report_api *api, uint64_t with_caller)
{
    const size_t indent = 2 + API_COLUMNS + 13;
    if (api->calls > with_caller) {
        out_repeat(w->out, ' ', 2 + API_COLUMNS);
        out_number(w->out, api->calls - with_caller);
        out_text(w->out, "[other callers, or counted without their stack]\n");
    }
    const char *note = !api->found          ? "[no image that was loaded defines it]"
                       : api->pointers == 0 ? "[no image calls it from outside]"
                                            : NULL;
    if (note) {
        out_repeat(w->out, ' ', indent);
        out_format(w->out, "%s\n", note);
    }
    if (api->inside) {
        out_repeat(w->out, ' ', indent);
        out_format(w->out, "[calls within %" PRIu32 " image%s that define it are not seen]\n",
                   api->inside, api->inside == 1 ? "" : "s");
    }
}

static size_t out_one(struct text_writer *w, uint32_t number, const struct caller *list,
                      size_t count)
{
    const struct report *r = w->p->report;
    const struct report_api *api = number < r->api_count ? &r->apis[number] : NULL;
    uint64_t sum = 0, rest = 0;
    size_t of_api = 0;
    while (of_api < count && list[of_api].api == number)
        sum = profile_add(sum, list[of_api++].count);
    out_api(w, api ? api->name : NULL);
    if (of_api == 0) {
        out_number(w->out, api ? api->calls : 0);
        out_text(w->out, api && api->calls ? "[no calls with a stack]\n" : why_uncalled(api));
    }
    for (size_t i = 0; i < of_api; i++) {
        if (i >= CALLERS_SHOWN) {
            rest = profile_add(rest, list[i].count);
            continue;
        }
        out_repeat(w->out, ' ', i ? 2 + API_COLUMNS : 0);
        out_caller(w, &list[i]);
    }
    if (of_api > CALLERS_SHOWN) {
        out_repeat(w->out, ' ', 2 + API_COLUMNS);
        out_number(w->out, rest);
        out_format(w->out, "[%zu more callers]\n", of_api - CALLERS_SHOWN);
    }
    if (api && api->calls)
        out_notes(w, api, of_api ? sum : api->calls);
    return of_api;
}

/* ---- stacks ---- */

static void out_stack(struct text_writer *w, const struct report_call *call)
{
    const struct report *r = w->p->report;
    out_text(w->out, "\n");
    out_clean(w->out,
              call->api < r->api_count && r->apis[call->api].name ? r->apis[call->api].name : "???",
              TEXT_WORD);
    out_text(w->out, ": ");
    out_grouped(w->out, call->count);
    out_format(w->out, " call%s from this stack", call->count == 1 ? "" : "s");
    if (call->first_ms) {
        out_text(w->out, call->count == 1 ? ", " : ", first ");
        out_utc(w->out, call->first_ms);
    }
    if (call->count > 1 && call->last_ms > call->first_ms) {
        uint64_t later = call->last_ms - call->first_ms;
        out_format(w->out, ", last %" PRIu64 ".%" PRIu64 " s later", later / 1000,
                   later / 100 % 10);
    }
    out_text(w->out, "\n\n");
    text_stack(w, &r->threads[call->stack]);
}

/* Those with the most calls; of equal ones the first. */
static void out_stacks(struct text_writer *w)
{
    const struct report *r = w->p->report;
    size_t top[STACKS_SHOWN], count = 0;
    for (size_t i = 0; i < r->call_count; i++) {
        if (r->calls[i].stack >= r->thread_count)
            continue;
        size_t at = count;
        while (at > 0 && r->calls[top[at - 1]].count < r->calls[i].count)
            at--;
        if (at == STACKS_SHOWN)
            continue;
        if (count < STACKS_SHOWN)
            count++;
        memmove(&top[at + 1], &top[at], (count - 1 - at) * sizeof *top);
        top[at] = i;
    }
    for (size_t i = 0; i < count; i++)
        out_stack(w, &r->calls[top[i]]);
}

fw_error text_calls(struct text_writer *w)
{
    const struct report *r = w->p->report;
    size_t count;
    struct caller *list = list_callers(w->p, &count);
    if (!list)
        return FW_ERR_MEMORY;
    out_format(w->out, "\n  %-*s%11s  caller\n", API_COLUMNS, "API", "calls");
    size_t at = 0;
    for (uint32_t api = 0; api < r->api_count; api++)
        at += out_one(w, api, list + at, count - at);
    while (at < count) /* of APIs that the report does not name */
        at += out_one(w, list[at].api, list + at, count - at);
    out_stacks(w);
    free(list);
    return FW_OK;
}
