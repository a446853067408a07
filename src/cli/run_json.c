/* The summary for machines: docs/run.md specifies it; change the two together. */
#include "cli/cli.h"
#include "cli/run.h"

#include "framewalk/hang.h"
#include "report/fwr.h"

#include <inttypes.h>
#include <jansson.h>
#include <sys/wait.h>

enum { VERSION = 1 };

/* Text of the program may be no UTF-8: what is not becomes visible escapes. */
static json_t *text(const char *from)
{
    char clean[4096];
    if (!from)
        return json_null();
    json_t *whole = json_string(from);
    if (whole)
        return whole;
    style_clean(from, clean, sizeof clean);
    return json_string(clean);
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)(value > INT64_MAX ? INT64_MAX : value));
}

static json_t *milliseconds(uint64_t ns)
{
    return json_real((double)ns / 1e6);
}

static json_t *frame(const struct run_frame *from)
{
    char offset[24];
    snprintf(offset, sizeof offset, "0x%" PRIx64, from->offset);
    return json_pack("{so, so, so, so, ss, sb, sb, sb}", "function", text(from->function), "file",
                     text(from->file), "line", from->line ? number(from->line) : json_null(),
                     "image", text(from->image), "offset", offset, "inlined", (int)from->inlined,
                     "tail_call", (int)from->tail, "system", (int)from->system);
}

static json_t *stack(const struct run_stack *from)
{
    json_t *frames = json_array();
    for (size_t i = 0; i < from->count; i++)
        json_array_append_new(frames, frame(&from->frames[i]));
    return frames;
}

static json_t *script(const struct run_hang *hang)
{
    if (!hang->script)
        return json_null();
    json_t *frames = json_array();
    const struct report *r = hang->report->report;
    for (uint32_t i = 0; i < hang->script->frame_count; i++) {
        const struct report_script_frame *from = &r->script_frames[hang->script->first_frame + i];
        json_array_append_new(frames,
                              json_pack("{so, so, so}", "function", text(from->function), "file",
                                        text(from->file), "line", number(from->line)));
    }
    return json_pack("{so, so}", "language", text(hang->script->language), "frames", frames);
}

static json_t *inside(const struct run_hang *hang)
{
    json_t *list = json_array();
    for (size_t i = 0; i < hang->inside_count; i++)
        json_array_append_new(list, json_pack("{si, so}", "percent", (int)hang->inside[i].percent,
                                              "frame", frame(&hang->inside[i].frame)));
    return list;
}

/* Else the reports are gone when this is read. */
static bool are_kept(const struct run_summary *s)
{
    return s->options->out || s->folders->keep_base;
}

static json_t *hang(const struct run_hang *from, bool kept)
{
    return json_pack("{sI, so, so, so, sb, sb, si, so, so, so, so, so}", "count",
                     (json_int_t)from->count, "total_ms", milliseconds(from->total_ns),
                     "longest_ms", milliseconds(from->longest_ns), "first_at_ms",
                     number(from->first_ms), "fatal", (int)from->fatal, "unended",
                     (int)from->unended, "percent", (int)from->percent, "guilty",
                     frame(&from->guilty), "stack", stack(&from->stack), "inside", inside(from),
                     "script", script(from), "report", text(kept ? from->report->path : NULL));
}

static json_t *hangs(const struct run_summary *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->hangs->count; i++)
        json_array_append_new(list, hang(&s->hangs->items[i], are_kept(s)));
    return list;
}

static json_t *caller(const struct run_caller *from)
{
    return json_pack("{so, so, so, so, so}", "count", number(from->count), "first_at_ms",
                     number(from->first_ms), "last_at_ms", number(from->last_ms), "caller",
                     frame(&from->caller), "for",
                     from->own.function || from->own.image ? frame(&from->own) : json_null());
}

static json_t *calls(const struct run_calls *from)
{
    json_t *list = json_array();
    for (size_t i = 0; i < from->count; i++) {
        const struct run_api *api = &from->items[i];
        json_t *callers = json_array();
        for (size_t k = 0; k < api->caller_count; k++)
            json_array_append_new(callers, caller(&api->callers[k]));
        json_array_append_new(list,
                              json_pack("{so, so, sb, sb, so, so, so, so}", "function",
                                        text(api->name), "calls", number(api->calls), "found",
                                        (int)api->found, "refused", (int)api->refused, "pointers",
                                        number(api->pointers), "inside", number(api->inside),
                                        "without_stack", number(api->without), "callers", callers));
    }
    return list;
}

static json_t *vetoed(const struct status *from)
{
    json_t *list = json_object();
    for (size_t i = 1; i < FW_HANG_VETOES; i++)
        if (from->hangs.vetoed[i])
            json_object_set_new(list, fw_hang_veto_text((fw_hang_veto)i),
                                number(from->hangs.vetoed[i]));
    return list;
}

static json_t *processes(const struct run_result *from)
{
    json_t *list = json_array();
    for (size_t i = 0; i < from->process_count; i++) {
        const struct status *p = &from->processes[i];
        json_array_append_new(
            list,
            json_pack("{so, so, so, sb, so, so, so, so, so, so, so, so, so, so}", "pid",
                      number(p->pid), "parent", number(p->parent), "program", text(p->program),
                      "loop", (int)p->settled, "waits", number(p->idle_waits), "turns",
                      number(p->turns), "waits_inside", number(p->inside_waits), "hangs",
                      number(p->hangs.hangs), "severe", number(p->hangs.severe), "hang_ms",
                      milliseconds(p->hangs.hang_ns), "vetoed", vetoed(p), "unwritten",
                      number(p->hangs.unwritten), "unfit", number(p->unfit), "failure",
                      p->failure[0] ? text(p->failure) : json_null()));
    }
    return list;
}

static json_t *reports(const struct run_summary *s)
{
    json_t *list = json_array();
    for (size_t i = 0; are_kept(s) && i < s->result->count; i++)
        json_array_append_new(list, text(s->result->reports[i].path));
    return list;
}

bool run_print_json(const struct run_summary *s, FILE *to)
{
    const struct run_end *end = s->end;
    bool killed = WIFSIGNALED(end->status);
    json_t *whole =
        json_pack("{si, so, si, so, so, so, so, si, so, so, so, so}", "version", VERSION, "program",
                  text(s->program->path), "pid", (int)end->pid, "started_at_ms",
                  number(end->started_ms), "ran_ms", number(end->duration_ms), "status",
                  killed ? json_null() : number((uint64_t)WEXITSTATUS(end->status)), "signal",
                  killed ? number((uint64_t)WTERMSIG(end->status)) : json_null(), "threshold_ms",
                  (int)s->options->hang_ms, "hangs", hangs(s), "calls", calls(s->calls),
                  "processes", processes(s->result), "reports", reports(s));
    bool written = whole && json_dumpf(whole, to, JSON_COMPACT) == 0 && fputc('\n', to) != EOF;
    json_decref(whole);
    return written;
}
