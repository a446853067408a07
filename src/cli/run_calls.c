/*
 * Watched calls: for each function asked for, who called it.
 *
 * Reports of one run are parts of one count: each holds what was new since the one before, of each
 * process. Calls are put together by the place that made them, and by the program's own function
 * that led there, when it is another one.
 */
#include "cli/run.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_place(const struct run_frame *a, const struct run_frame *b)
{
    return is_same_text(a->image, b->image) && is_same_text(a->function, b->function) &&
           is_same_text(a->file, b->file) && a->line == b->line &&
           (a->function || a->offset == b->offset);
}

static struct run_caller caller_of(const struct run_stack *stack)
{
    struct run_caller caller = {0};
    const struct run_frame *own = run_guilty(stack);
    caller.caller = stack->frames[0];
    if (own && own != &stack->frames[0] && !own->system)
        caller.own = *own;
    return caller;
}

static struct run_caller *find_caller(struct run_api *api, const struct run_caller *wanted)
{
    for (size_t i = 0; i < api->caller_count; i++)
        if (is_same_place(&api->callers[i].caller, &wanted->caller) &&
            is_same_place(&api->callers[i].own, &wanted->own))
            return &api->callers[i];
    if (!array_room(&api->callers, &api->caller_capacity, api->caller_count, sizeof *wanted))
        return NULL;
    api->callers[api->caller_count] = *wanted;
    return &api->callers[api->caller_count++];
}

static bool add_call(struct run_api *api, const struct run_report *report,
                     const struct report_call *call)
{
    struct run_stack stack = run_stack_of(report, call->stack);
    if (stack.count == 0) {
        api->without += call->count;
        return true;
    }
    struct run_caller wanted = caller_of(&stack);
    struct run_caller *caller = find_caller(api, &wanted);
    if (!caller)
        return false;
    caller->count += call->count;
    if (caller->first_ms == 0 || call->first_ms < caller->first_ms)
        caller->first_ms = call->first_ms;
    if (call->last_ms > caller->last_ms)
        caller->last_ms = call->last_ms;
    return true;
}

static struct run_api *find_api(struct run_calls *calls, const char *name)
{
    for (size_t i = 0; name && i < calls->count; i++)
        if (strcmp(calls->items[i].name, name) == 0)
            return &calls->items[i];
    return NULL;
}

static bool add_report(struct run_calls *calls, const struct run_report *report)
{
    const struct report *r = report->report;
    for (size_t i = 0; i < r->call_count; i++) {
        const struct report_call *call = &r->calls[i];
        struct run_api *api =
            call->api < r->api_count ? find_api(calls, r->apis[call->api].name) : NULL;
        if (api && !add_call(api, report, call))
            return false;
    }
    return true;
}

/* What the agent knew of each name last, in each process. */
static void add_process(struct run_calls *calls, const struct status *process)
{
    for (uint32_t i = 0; i < process->api_count; i++) {
        const struct status_api *from = &process->apis[i];
        struct run_api *api = find_api(calls, from->name);
        if (!api)
            continue;
        api->calls += from->calls;
        api->found |= from->found != 0;
        api->refused |= from->refused != 0;
        if (from->pointers > api->pointers)
            api->pointers = from->pointers;
        if (from->inside > api->inside)
            api->inside = from->inside;
    }
}

static int by_count(const void *a, const void *b)
{
    const struct run_caller *left = a, *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return left->first_ms < right->first_ms ? -1 : left->first_ms > right->first_ms;
}

/* A killed process may have written more than the status file knew, which counts calls of all. */
static void finish(struct run_api *api, bool app_only)
{
    uint64_t sum = api->without;
    for (size_t i = 0; i < api->caller_count; i++)
        sum += api->callers[i].count;
    if (app_only || api->calls < sum)
        api->calls = sum;
    if (api->caller_count)
        qsort(api->callers, api->caller_count, sizeof *api->callers, by_count);
}

bool run_calls_rank(const struct run_options *options, const struct run_result *result,
                    struct run_calls *calls)
{
    *calls = (struct run_calls){0};
    calls->items = calloc(options->call_count + 1, sizeof *calls->items);
    if (!calls->items)
        return false;
    for (size_t i = 0; i < options->call_count; i++) {
        calls->items[calls->count].reason = options->reasons[i];
        calls->items[calls->count++].name = options->calls[i];
    }
    for (size_t i = 0; i < result->process_count; i++)
        add_process(calls, &result->processes[i]);
    for (size_t i = 0; i < result->count; i++)
        if (!add_report(calls, &result->reports[i]))
            return false;
    for (size_t i = 0; i < calls->count; i++)
        finish(&calls->items[i], options->app_callers);
    return true;
}

void run_calls_free(struct run_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        free(calls->items[i].callers);
    free(calls->items);
}
