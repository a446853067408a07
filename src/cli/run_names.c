/*
 * Names for the frames of a run's reports: functions, files, lines, inlined calls and tail calls.
 *
 * Each image is opened once for all reports; each report is one question. What stands for a frame
 * lives as long as the report's run_frames.
 */
#include "cli/cli.h"
#include "cli/run.h"

#include "base/array.h"
#include "framewalk/stack.h"
#include "report/own_image.h"

#include <stdlib.h>
#include <string.h>

struct run_frames {
    struct run_stack *stacks; /* one for each of the report's threads[] */
    struct run_frame *frames;
    size_t count, capacity;
    struct fw_symbols *symbols;
};

struct known_image {
    const struct report_image *image; /* of the first report that has it */
    struct fw_source *source;
};

struct naming {
    struct symbolicate_options options;
    struct fw_symbolicator *symbolicator;
    struct known_image *known;
    size_t known_count, known_capacity;
};

/* ---- images ---- */

static bool is_same_image(const struct report_image *a, const struct report_image *b)
{
    return a->id_size == b->id_size && memcmp(a->id, b->id, a->id_size) == 0 &&
           strcmp(a->path ? a->path : a->name, b->path ? b->path : b->name) == 0;
}

static bool find_source(struct naming *n, const struct report *r, const struct report_image *image,
                        struct fw_source **source)
{
    for (size_t i = 0; i < n->known_count; i++)
        if (is_same_image(n->known[i].image, image)) {
            *source = n->known[i].source;
            return true;
        }
    if (!array_room(&n->known, &n->known_capacity, n->known_count, sizeof *n->known))
        return false;
    struct image_file file = image_file_find(&n->options, n->symbolicator, r, image);
    free(file.looked);
    n->known[n->known_count++] = (struct known_image){image, file.source};
    *source = file.source;
    return true;
}

/* ---- frames ---- */

static const char agent_name[] = "libframewalk-agent.so";

static bool is_system_frame(const struct report *r, const struct report_frame *frame)
{
    if (frame->image == REPORT_NONE)
        return frame->name_count == 0; /* compiled just in time, if it has a name */
    return image_is_system(r, &r->images[frame->image]);
}

static struct run_frame bare(const struct report *r, const struct report_frame *frame)
{
    struct run_frame to = {.offset = frame->has_offset ? frame->offset : frame->address,
                           .system = is_system_frame(r, frame),
                           .signal = frame->flags & FW_FRAME_SIGNAL};
    if (frame->image != REPORT_NONE)
        to.image = r->images[frame->image].name;
    return to;
}

static bool add(struct run_frames *to, const struct run_frame *frame)
{
    if (!array_room(&to->frames, &to->capacity, to->count, sizeof *to->frames))
        return false;
    to->frames[to->count++] = *frame;
    return true;
}

static bool add_known(struct run_frames *to, const struct report *r,
                      const struct report_frame *frame)
{
    for (uint32_t i = 0; i < frame->name_count; i++) {
        const struct report_name *name = &r->names[frame->first_name + i];
        struct run_frame f = bare(r, frame);
        f.function = name->function;
        f.file = name->file;
        f.line = name->line;
        f.inlined = name->flags & REPORT_INLINED;
        f.script = frame->image == REPORT_NONE;
        if (!add(to, &f))
            return false;
    }
    struct run_frame nothing = bare(r, frame);
    return frame->name_count > 0 || add(to, &nothing);
}

static bool add_resolved(struct run_frames *to, const struct report *r,
                         const struct report_frame *frame, const struct fw_resolved *answer)
{
    if (answer->frame_count == 0)
        return add_known(to, r, frame);
    for (size_t i = 0; i < answer->frame_count; i++) {
        const struct fw_symbol_frame *symbol = &answer->frames[i];
        struct run_frame f = bare(r, frame);
        f.function = symbol->function;
        f.file = symbol->file;
        f.line = symbol->line;
        f.inlined = symbol->flags & FW_SYMBOL_INLINED;
        f.tail = symbol->flags & FW_SYMBOL_TAIL_CALL;
        if (f.function && strcmp(f.function, "_start") == 0)
            f.system = true; /* it is the C library's, and stands in every program */
        if (!add(to, &f))
            return false;
    }
    return true;
}

static bool is_agent(const struct report *r, const struct report_frame *frame)
{
    return frame->image != REPORT_NONE && strcmp(r->images[frame->image].name, agent_name) == 0;
}

/* ---- one report ---- */

static bool ask(struct naming *n, const struct report *r, struct fw_stack_address **questions,
                size_t *count)
{
    *questions = calloc(r->frame_count + r->thread_count + 1, sizeof **questions);
    *count = 0;
    for (size_t t = 0; *questions && t < r->thread_count; t++) {
        const struct report_thread *thread = &r->threads[t];
        for (uint32_t i = 0; thread->stack && i < thread->frame_count; i++) {
            const struct report_frame *frame = &r->frames[thread->first_frame + i];
            struct fw_stack_address *question = &(*questions)[(*count)++];
            if (frame->image == REPORT_NONE || !frame->has_offset || is_agent(r, frame))
                continue;
            if (!find_source(n, r, &r->images[frame->image], &question->source))
                return false;
            question->address.value = frame->offset;
            question->address.space =
                (frame->space == REPORT_LINKED ? FW_ADDRESS_LINK : FW_ADDRESS_IMAGE) |
                (frame->kind == REPORT_RETURN ? FW_ADDRESS_RETURN : 0u);
        }
        (*count)++; /* what stands between stacks */
    }
    return *questions != NULL;
}

/* Frames of the program that runs scripts are no more to blame than the system's; nor are scripts
 * that it brings, or that are installed packages. */
static void tell_runtime(const struct report *r, struct run_frame *frames, size_t count)
{
    const char *program = r->info.path ? symbolicate_last_part(r->info.path) : "";
    bool scripts = false;
    for (size_t i = 0; i < count; i++)
        scripts |= frames[i].script;
    for (size_t i = 0; scripts && i < count; i++) {
        struct run_frame *frame = &frames[i];
        bool foreign = frame->script && !own_script(frame->file);
        frame->system |= foreign || (frame->image && strcmp(frame->image, program) == 0);
    }
}

static bool take(const struct report *r, struct run_frames *to)
{
    size_t at = 0;
    size_t *begins = calloc(r->thread_count + 1, sizeof *begins);
    bool taken = begins != NULL;
    for (size_t t = 0; taken && t < r->thread_count; t++) {
        const struct report_thread *thread = &r->threads[t];
        begins[t] = to->count;
        for (uint32_t i = 0; taken && thread->stack && i < thread->frame_count; i++) {
            const struct report_frame *frame = &r->frames[thread->first_frame + i];
            const struct fw_resolved *answer = &to->symbols->items[at++];
            if (!is_agent(r, frame))
                taken = add_resolved(to, r, frame, answer);
        }
        at++;
        to->stacks[t].count = to->count - begins[t];
        tell_runtime(r, to->frames + begins[t], to->stacks[t].count);
        to->stacks[t].broken = thread->end > FW_END_ROOT && thread->end != FW_END_LIMIT;
    }
    for (size_t t = 0; taken && t < r->thread_count; t++)
        if (to->stacks[t].count)
            to->stacks[t].frames = to->frames + begins[t];
    free(begins);
    return taken;
}

static bool name_report(struct naming *n, struct run_report *report)
{
    const struct report *r = report->report;
    struct fw_stack_address *questions = NULL;
    struct fw_failure why = {0};
    size_t count;
    report->frames = calloc(1, sizeof *report->frames);
    if (!report->frames)
        return false;
    report->frames->stacks = calloc(r->thread_count + 1, sizeof *report->frames->stacks);
    bool named = report->frames->stacks && ask(n, r, &questions, &count);
    fw_error error = FW_ERR_MEMORY;
    if (named)
        error = fw_symbolicate_stack(questions, count, &report->frames->symbols, &why);
    if (named && error != FW_OK && error != FW_ERR_MEMORY) {
        cli_error("%s", why.message); /* a debug file is broken: without names, then */
        for (size_t i = 0; i < count; i++)
            questions[i].source = NULL;
        error = fw_symbolicate_stack(questions, count, &report->frames->symbols, &why);
    }
    free(questions);
    return error == FW_OK && take(r, report->frames);
}

bool run_names(const struct run_options *options, struct fw_symbolicator *symbolicator,
               struct run_result *result)
{
    struct naming n = {.options = {.folders = options->folders,
                                   .folder_count = options->folder_count,
                                   .inlines = true,
                                   .demangle = true},
                       .symbolicator = symbolicator};
    bool named = true;
    for (size_t i = 0; named && i < result->count; i++)
        named = name_report(&n, &result->reports[i]);
    for (size_t i = 0; i < n.known_count; i++) {
        symbolicate_tell_incomplete(n.known[i].source);
        fw_source_close(n.known[i].source);
    }
    free(n.known);
    return named;
}

struct run_stack run_stack_of(const struct run_report *report, uint32_t index)
{
    if (!report->frames || index >= report->report->thread_count)
        return (struct run_stack){0};
    return report->frames->stacks[index];
}

void run_frames_free(struct run_frames *frames)
{
    if (!frames)
        return;
    fw_symbols_free(frames->symbols);
    free(frames->stacks);
    free(frames->frames);
    free(frames);
}

const struct run_frame *run_guilty(const struct run_stack *stack)
{
    for (size_t i = 0; i < stack->count; i++) {
        const struct run_frame *frame = &stack->frames[i];
        if (!frame->system && !frame->tail && frame->function)
            return frame;
    }
    for (size_t i = 0; i < stack->count; i++)
        if (stack->frames[i].function)
            return &stack->frames[i];
    return stack->count ? stack->frames : NULL;
}
