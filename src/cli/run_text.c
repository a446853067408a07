/*
 * The summary for people.
 *
 * What is needed to act stands first in each entry: how long, and the function, file and line to
 * look at. Below it the stack, innermost first, in which what the operating system's libraries do
 * among themselves is folded. Everything that came from the program is cleaned before it is shown.
 */
#include "base/duration.h"
#include "cli/cli.h"
#include "cli/run.h"

#include "framewalk/hang.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum {
    TEXT = 1200,
    PART = 500,
    FOLD_FROM = 3,
    SHOWN_CALLERS = 5,
    SHOWN_HANGS = 10,
    SCRIPT_FRAMES = 12
};

struct text {
    const struct run_summary *s;
    struct style style;
};

/* ---- small words ---- */

static void put_clock(char *to, size_t size, uint64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;
    if (!localtime_r(&seconds, &local) || strftime(to, size, "%H:%M:%S", &local) == 0)
        snprintf(to, size, "?");
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* `function  file:line`, or where it is when neither is known. */
static void put_place(const struct run_frame *frame, bool whole_path, char *to, size_t size)
{
    char function[PART + 40], file[PART], image[128];
    style_clean(frame->image ? frame->image : "", image, sizeof image);
    if (frame->function)
        style_clean(frame->function, function, sizeof function);
    else if (frame->image)
        snprintf(function, sizeof function, "%s+0x%" PRIx64, image, frame->offset);
    else
        snprintf(function, sizeof function, "0x%" PRIx64 ", in no file", frame->offset);
    if (frame->file) {
        style_clean(whole_path ? frame->file : symbolicate_last_part(frame->file), file,
                    sizeof file);
        if (frame->line)
            snprintf(to, size, "%s  %s:%" PRIu32, function, file, frame->line);
        else
            snprintf(to, size, "%s  %s", function, file);
    } else if (frame->function && frame->image)
        snprintf(to, size, "%s  (%s)", function, image);
    else
        snprintf(to, size, "%s", function);
}

static const char *mark_of(const struct run_frame *frame)
{
    if (frame->signal)
        return " [signal]";
    return frame->inlined ? " [inlined]" : frame->tail ? " [tail call]" : "";
}

/* ---- a stack ---- */

static void print_frame(struct text *t, const struct run_frame *frame, bool guilty)
{
    char place[TEXT];
    put_place(frame, t->s->options->verbose, place, sizeof place);
    style_line(&t->style,
               guilty          ? STYLE_STRONG
               : frame->system ? STYLE_DIM
                               : STYLE_PLAIN,
               "     %s %s%s", guilty ? ">" : " ", place, mark_of(frame));
}

/* Frames from `at` on that only pass on: of the system, in a row, outside of the guilty one. */
static size_t count_passing(const struct run_stack *stack, size_t at)
{
    size_t end = at;
    while (end < stack->count && stack->frames[end].system)
        end++;
    return end - at;
}

static void print_fold(struct text *t, const struct run_stack *stack, size_t at, size_t count)
{
    char image[128], last[128] = "", list[TEXT] = "";
    size_t used = 0, named = 0;
    for (size_t i = at; i < at + count && named < 4; i++) {
        style_clean(stack->frames[i].image ? stack->frames[i].image : "?", image, sizeof image);
        if (strcmp(image, last) == 0 || strstr(list, image))
            continue;
        snprintf(last, sizeof last, "%s", image);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", named ? ", " : "", image);
        named++;
    }
    style_line(&t->style, STYLE_DIM, "       ... %zu frames in %s", count, list);
}

static void print_stack(struct text *t, const struct run_stack *stack)
{
    const struct run_frame *guilty = run_guilty(stack);
    size_t innermost = guilty ? (size_t)(guilty - stack->frames) : 0;
    for (size_t i = 0; i < stack->count;) {
        size_t passing = i > innermost ? count_passing(stack, i) : 0;
        bool outermost = i + passing == stack->count;
        if (!t->s->options->verbose && passing > 0 && (outermost || passing >= FOLD_FROM)) {
            if (!outermost) /* what starts the program is of no interest at all */
                print_fold(t, stack, i, passing);
            i += passing;
            continue;
        }
        print_frame(t, &stack->frames[i], i == innermost && guilty && !guilty->system);
        i++;
    }
    if (stack->broken)
        style_line(&t->style, STYLE_WARNING, "       ... the stack could not be followed further");
}

static void print_script(struct text *t, const struct report *r, const struct report_script *script)
{
    const uint32_t guilty = run_script_guilty(r, script);
    uint32_t shown = script->frame_count;
    if (!t->s->options->verbose && shown > SCRIPT_FRAMES)
        shown = guilty < SCRIPT_FRAMES ? SCRIPT_FRAMES : guilty + 1;
    for (uint32_t i = 0; i < shown; i++) {
        const struct report_script_frame *from = &r->script_frames[script->first_frame + i];
        struct run_frame frame = {.function = from->function ? from->function : "?",
                                  .file = from->file,
                                  .line = from->line,
                                  .script = true};
        print_frame(t, &frame, i == guilty);
    }
    if (shown < script->frame_count)
        style_line(&t->style, STYLE_DIM, "       ... %" PRIu32 " more",
                   script->frame_count - shown);
}

/* ---- hangs ---- */

static void print_inside(struct text *t, const struct run_hang *hang)
{
    for (size_t i = 0; hang->stack.count && i < hang->inside_count; i++) {
        char place[TEXT];
        put_place(&hang->inside[i].frame, false, place, sizeof place);
        style_line(&t->style, STYLE_DIM, "       %3u %% in %s", hang->inside[i].percent, place);
    }
}

static void print_heading(struct text *t, size_t number, const struct run_hang *hang)
{
    char total[DURATION_TEXT], longest[DURATION_TEXT], clock[64],
        place[TEXT] = "no stack was taken";
    duration_text(total, hang->total_ns);
    duration_text(longest, hang->longest_ns);
    put_clock(clock, sizeof clock, hang->first_ms);
    if (hang->guilty.function || hang->guilty.image)
        put_place(&hang->guilty, false, place, sizeof place);
    uint64_t all = t->s->hangs->total_ns;
    unsigned share = all ? (unsigned)((double)hang->total_ns * 100 / (double)all + 0.5) : 100;
    style_print(&t->style, STYLE_STRONG, "%3zu. %s", number, total);
    if (hang->count > 1)
        style_print(&t->style, STYLE_PLAIN, " in %zu hangs, the longest %s", hang->count, longest);
    style_print(&t->style, STYLE_PLAIN, " (%u %%)  ", share);
    style_print(&t->style, STYLE_STRONG, "%s", place);
    style_print(&t->style, STYLE_DIM, "  %s %s", hang->count > 1 ? "first at" : "at", clock);
    if (hang->fatal)
        style_print(&t->style, STYLE_WARNING, "  fatal: the process ended during it");
    else if (hang->unended)
        style_print(&t->style, STYLE_WARNING, "  not over when the program ended");
    style_line(&t->style, STYLE_PLAIN, "%s", "");
}

static void print_hang(struct text *t, size_t number, const struct run_hang *hang)
{
    const struct report *r = hang->report->report;
    print_heading(t, number, hang);
    if (hang->script)
        print_script(t, r, hang->script);
    if (hang->script && !t->s->options->verbose)
        return; /* what the interpreter does for it */
    print_inside(t, hang);
    if (hang->stack.count)
        print_stack(t, &hang->stack);
}

static void print_hangs(struct text *t)
{
    const struct run_hangs *hangs = t->s->hangs;
    size_t shown = hangs->count;
    if (!t->s->options->verbose && shown > SHOWN_HANGS)
        shown = SHOWN_HANGS;
    for (size_t i = 0; i < shown; i++)
        print_hang(t, i + 1, &hangs->items[i]);
    if (shown < hangs->count)
        style_line(&t->style, STYLE_DIM, "     ... %zu more kinds (--verbose shows them)",
                   hangs->count - shown);
}

/* ---- what was watched ---- */

struct sums {
    struct status_hangs hangs;
    uint64_t waits, forks;
    size_t settled, failed;
};

static void add_sums(struct sums *sums, const struct status *p)
{
    const struct status_hangs *h = &p->hangs;
    sums->hangs.hangs += h->hangs;
    sums->hangs.severe += h->severe;
    sums->hangs.hang_ns += h->hang_ns;
    sums->hangs.annealed += h->annealed;
    sums->hangs.capped += h->capped;
    sums->hangs.unwritten += h->unwritten;
    for (size_t i = 0; i < FW_HANG_VETOES; i++)
        sums->hangs.vetoed[i] += h->vetoed[i];
    sums->waits += p->idle_waits + p->turns;
    sums->forks += p->forks;
    sums->settled += p->settled != 0;
    sums->failed += p->state == STATUS_FAILED;
}

static void print_vetoed(struct text *t, const struct sums *sums)
{
    for (size_t i = 1; i < FW_HANG_VETOES; i++)
        if (sums->hangs.vetoed[i])
            style_line(&t->style, STYLE_DIM, "Left out: %" PRIu64 " long turn%s, %s",
                       sums->hangs.vetoed[i], plural(sums->hangs.vetoed[i]),
                       fw_hang_veto_text((fw_hang_veto)i));
}

static void print_unreported(struct text *t, const struct sums *sums)
{
    if (sums->hangs.annealed)
        style_line(&t->style, STYLE_DIM,
                   "%" PRIu64
                   " of them had the same stack as one above, and no report of their own",
                   sums->hangs.annealed);
    if (sums->hangs.capped)
        style_line(&t->style, STYLE_DIM, "%" PRIu64 " of them were over the most that are kept",
                   sums->hangs.capped);
    if (sums->hangs.unwritten)
        style_line(&t->style, STYLE_WARNING,
                   "%" PRIu64
                   " report%s could not be written: the folder is gone, full or forbidden",
                   sums->hangs.unwritten, plural(sums->hangs.unwritten));
}

static void print_unfit(struct text *t, const struct status *p)
{
    static const char *const words[] = {
        [STATUS_UNFIT_STATIC] = "it is linked statically",
        [STATUS_UNFIT_LOADER] = "its loader and libc are not the agent's (musl?)",
        [STATUS_UNFIT_CLASS] = "it is of another class or machine (32-bit?)"};
    char program[STATUS_PROGRAM * 4];
    const bool known = p->unfit_why >= STATUS_UNFIT_STATIC && p->unfit_why <= STATUS_UNFIT_CLASS;
    if (!p->unfit || !known)
        return;
    style_clean(p->unfit_program, program, sizeof program);
    style_print(&t->style, STYLE_WARNING, "Not watched: %s: %s", program, words[p->unfit_why]);
    if (p->unfit > 1)
        style_print(&t->style, STYLE_WARNING, "; and %" PRIu32 " more", p->unfit - 1);
    style_line(&t->style, STYLE_PLAIN, "%s", "");
}

static void print_failures(struct text *t)
{
    const struct run_result *result = t->s->result;
    for (size_t i = 0; i < result->process_count; i++)
        print_unfit(t, &result->processes[i]);
    for (size_t i = 0; i < result->process_count; i++) {
        const struct status *p = &result->processes[i];
        char why[STATUS_FAILURE * 4];
        if (!p->failure[0])
            continue;
        style_clean(p->failure, why, sizeof why);
        style_line(&t->style, STYLE_WARNING, "Process %" PRIu32 " was not watched whole: %s",
                   p->pid, why);
    }
    if (result->unreadable)
        style_line(&t->style, STYLE_WARNING, "%zu report%s could not be read", result->unreadable,
                   plural(result->unreadable));
}

static void print_no_loop(struct text *t, const struct sums *sums)
{
    const struct run_options *o = t->s->options;
    static const char never[] = "the main thread never waited in poll, epoll or select";
    if (o->from_start)
        style_line(&t->style, STYLE_PLAIN, "No hang of %u ms or more; %s", o->hang_ms, never);
    else
        style_line(&t->style, STYLE_PLAIN,
                   "No loop to watch: %s (%s--startup shows whether it hung, and where)", never,
                   sums->forks && !o->follow ? "--follow watches the processes that it starts, "
                                             : "");
}

static void print_verdict(struct text *t, const struct sums *sums)
{
    const struct run_options *o = t->s->options;
    const struct run_hangs *hangs = t->s->hangs;
    uint64_t count = 0, total_ns = hangs->total_ns; /* of those with reports */
    for (size_t i = 0; i < hangs->count; i++)
        count += hangs->items[i].count;
    if (count < sums->hangs.hangs)
        count = sums->hangs.hangs;
    if (total_ns < sums->hangs.hang_ns)
        total_ns = sums->hangs.hang_ns;
    if (count) {
        char total[DURATION_TEXT];
        duration_text(total, total_ns);
        style_line(&t->style, STYLE_STRONG, "%" PRIu64 " hang%s of %u ms or more, %s in all", count,
                   plural(count), o->hang_ms, total);
    } else if (t->s->result->process_count == 0) {
        style_line(&t->style, STYLE_WARNING,
                   "The agent was not loaded: the program, or what started it, cleared LD_PRELOAD");
    } else if (sums->failed) {
        style_line(&t->style, STYLE_WARNING, "Whether it hung is not known: %s",
                   sums->failed == t->s->result->process_count
                       ? "it was not watched, or not to its end"
                       : "not all of its processes were watched to their end");
    } else if (sums->waits == 0) {
        print_no_loop(t, sums);
    } else if (sums->settled == 0 && sums->waits)
        style_line(&t->style, STYLE_PLAIN,
                   "No hang of %u ms or more; the main thread waited %" PRIu64
                   " time%s, too seldom to know its loop (--idle any takes every wait as idle)",
                   o->hang_ms, sums->waits, plural(sums->waits));
    else
        style_line(&t->style, STYLE_PLAIN,
                   "No hang of %u ms or more in %" PRIu64 " turn%s of the main loop", o->hang_ms,
                   sums->waits, plural(sums->waits));
}

/* ---- calls ---- */

static void print_caller(struct text *t, const struct run_caller *caller)
{
    char place[TEXT], own[TEXT];
    put_place(&caller->caller, t->s->options->verbose, place, sizeof place);
    style_print(&t->style, caller->caller.system ? STYLE_DIM : STYLE_PLAIN, "%12" PRIu64 "  %s",
                caller->count, place);
    if (caller->own.function || caller->own.image) {
        put_place(&caller->own, t->s->options->verbose, own, sizeof own);
        style_print(&t->style, STYLE_PLAIN, "  for %s", own);
    }
    style_line(&t->style, STYLE_PLAIN, "%s", "");
}

static void print_api(struct text *t, const struct run_api *api)
{
    char name[256];
    style_clean(api->name, name, sizeof name);
    style_line(&t->style, STYLE_STRONG, "%8" PRIu64 "  %s", api->calls, name);
    size_t shown = api->caller_count;
    if (!t->s->options->verbose && shown > SHOWN_CALLERS)
        shown = SHOWN_CALLERS;
    for (size_t i = 0; i < shown; i++)
        print_caller(t, &api->callers[i]);
    if (shown < api->caller_count)
        style_line(&t->style, STYLE_DIM, "              ... %zu more callers",
                   api->caller_count - shown);
    if (api->without)
        style_line(&t->style, STYLE_DIM, "%12" PRIu64 "  without a stack", api->without);
    if (api->refused)
        style_line(&t->style, STYLE_WARNING,
                   "              a place that calls it could not be changed");
}

enum unseen { UNSEEN_NOT_FOUND, UNSEEN_NOT_IMPORTED, UNSEEN_UNCALLED, UNSEEN_KINDS };

static enum unseen why_unseen(const struct run_api *api)
{
    if (!api->found)
        return UNSEEN_NOT_FOUND;
    return api->pointers ? UNSEEN_UNCALLED : UNSEEN_NOT_IMPORTED;
}

/* Was any process ended without having written its last calls? */
static bool was_killed(const struct run_result *result)
{
    for (size_t i = 0; i < result->process_count; i++)
        if (result->processes[i].state != STATUS_ENDED)
            return true;
    return false;
}

/* Of the names that were not called, and what that is worth. */
static void print_unseen(struct text *t)
{
    const char *const words[UNSEEN_KINDS] = {
        [UNSEEN_NOT_FOUND] = "Not found in any file that was loaded",
        [UNSEEN_NOT_IMPORTED] = "Not called from outside the file that defines it",
        [UNSEEN_UNCALLED] =
            t->s->options->app_callers ? "Never called by the program itself" : "Never called"};
    const struct run_calls *calls = t->s->calls;
    size_t left_out = 0;
    for (int kind = 0; kind < UNSEEN_KINDS; kind++) {
        size_t listed = 0;
        for (size_t i = 0; i < calls->count; i++) {
            const struct run_api *api = &calls->items[i];
            char name[256];
            if (api->calls || why_unseen(api) != (enum unseen)kind)
                continue;
            if (api->reason != RUN_ASKED && !t->s->options->verbose) {
                left_out += api->reason == RUN_OF_GROUP;
                continue;
            }
            style_clean(api->name, name, sizeof name);
            if (listed++ == 0)
                style_print(&t->style, STYLE_DIM, "     %s: %s", words[kind], name);
            else
                style_print(&t->style, STYLE_DIM, ", %s", name);
        }
        if (listed)
            style_line(&t->style, STYLE_PLAIN, "%s", "");
    }
    if (left_out)
        style_line(&t->style, STYLE_DIM,
                   "     No call of %zu other function%s of the groups (--verbose names them)",
                   left_out, plural(left_out));
    style_line(&t->style, STYLE_DIM,
               "     Not seen: calls within the file that defines a function, system calls made "
               "directly%s",
               was_killed(t->s->result) ? ", the last two seconds of a process that was killed"
                                        : "");
}

static void print_calls(struct text *t)
{
    const struct run_calls *calls = t->s->calls;
    if (calls->count == 0 || t->s->result->process_count == 0)
        return;
    style_line(&t->style, STYLE_PLAIN, "%s", "");
    style_line(&t->style, STYLE_STRONG, "   Calls");
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].calls)
            print_api(t, &calls->items[i]);
    print_unseen(t);
}

/* ---- the whole ---- */

static void print_end(struct text *t)
{
    const struct run_end *end = t->s->end;
    char took[DURATION_TEXT], name[TEXT];
    duration_text(took, end->duration_ms * 1000000u);
    style_clean(symbolicate_last_part(t->s->options->program[0]), name, sizeof name);
    style_print(&t->style, STYLE_STRONG, "framewalk: %s", name);
    style_print(&t->style, STYLE_PLAIN, ", process %d, ran %s, ", (int)end->pid, took);
    if (WIFSIGNALED(end->status))
        style_print(&t->style, STYLE_WARNING, "ended by signal %d (%s)", WTERMSIG(end->status),
                    strsignal(WTERMSIG(end->status)));
    else
        style_print(&t->style, WEXITSTATUS(end->status) ? STYLE_WARNING : STYLE_PLAIN,
                    "ended with status %d", WEXITSTATUS(end->status));
    if (t->s->result->process_count > 1)
        style_print(&t->style, STYLE_PLAIN, "; %zu processes were watched",
                    t->s->result->process_count);
    style_line(&t->style, STYLE_PLAIN, "%s", "");
}

static void print_more(struct text *t)
{
    const struct run_folders *folders = t->s->folders;
    const struct run_result *result = t->s->result;
    char folder[RUN_PATH];
    if (result->count == 0)
        return;
    style_clean(folders->reports, folder, sizeof folder);
    if (t->s->options->out || folders->keep_base)
        style_line(
            &t->style, STYLE_DIM,
            "%zu report%s in %s; framewalk symbolicate FILE shows one, with --to speedscope, "
            "pprof or firefox for viewers",
            result->count, plural(result->count), folder);
    else
        style_line(&t->style, STYLE_DIM,
                   "--out DIR keeps the reports; framewalk symbolicate FILE --to speedscope makes "
                   "a flame graph of one");
}

void run_print_text(const struct run_summary *summary, FILE *to)
{
    struct text t = {summary, {to, style_wanted(summary->options->color, to)}};
    struct sums sums = {0};
    for (size_t i = 0; i < summary->result->process_count; i++)
        add_sums(&sums, &summary->result->processes[i]);
    if (to == stderr) /* away from what the program wrote */
        style_line(&t.style, STYLE_PLAIN, "%s", "");
    print_end(&t);
    print_verdict(&t, &sums);
    print_hangs(&t);
    print_unreported(&t, &sums);
    print_vetoed(&t, &sums);
    print_failures(&t);
    print_calls(&t);
    print_more(&t);
}
