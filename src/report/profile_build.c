/*
 * From a report to weighted stacks. Names are asked for frame by frame, in order; stacks are made
 * of them afterwards.
 *
 * A tree in which callers stand inside callees has a stack for each frame, which is walked from
 * there to the root: as long as the tree is deep. The budget bounds the sum of these walks.
 */
#include "report/profile.h"

#include "base/array.h"
#include "framewalk/stack.h"
#include "report/words.h"

#include <inttypes.h>
#include <stdio.h>

struct builder {
    struct profile *p;
    uint32_t *stacks; /* nodes of threads[] that samples and calls pointed at; else PROFILE_NONE */
    uint32_t cut;     /* location of "[...]", made when it is needed; else PROFILE_NONE */
};

size_t profile_limit(const struct report *r)
{
    size_t room = SIZE_MAX / 4 / PROFILE_MAX_GROWTH;
    size_t size = r->text.size < room ? r->text.size : room;
    size_t frames = r->frame_count < room / 32 ? r->frame_count * 32 : room;
    return (size + frames) * PROFILE_MAX_GROWTH + ((size_t)1 << 20);
}

/* ---- locations ---- */

/* What is no code of an image: `[...]`, an API, a function of a script. */
static uint32_t pseudo(struct profile *p, const char *name, const char *file, uint32_t line)
{
    struct profile_location location = {
        .image = REPORT_NONE, .kind = REPORT_EXACT, .first_line = (uint32_t)p->line_count};
    struct profile_function function = {.name = profile_text(p, name),
                                        .file = file ? profile_text(p, file) : 0,
                                        .image = REPORT_NONE,
                                        .pseudo = true};
    struct profile_line one = {.function = profile_function(p, &function), .line = line};
    if (p->error || !profile_add_line(p, &one))
        return PROFILE_NONE;
    location.line_count = 1;
    return profile_location(p, &location);
}

static uint32_t nameless(struct profile *p, const struct report_frame *frame)
{
    struct report_bytes text = {0};
    const char *image = frame->image == REPORT_NONE ? "" : p->report->images[frame->image].name;
    if (frame->image != REPORT_NONE && frame->has_offset)
        out_format(&text, "%s+0x%" PRIx64, image, frame->offset);
    else
        out_format(&text, "0x%" PRIx64, frame->address);
    struct profile_function function = {.image = frame->image, .nameless = true};
    if (text.failed)
        p->error = FW_ERR_MEMORY;
    else
        function.name = profile_text(p, text.data);
    report_bytes_free(&text);
    return p->error ? PROFILE_NONE : profile_function(p, &function);
}

static void set_start(struct profile_location *l, const struct frame_names *f)
{
    const struct report_name *outer = f->count ? outer_name(f) : NULL;
    if (!outer || !outer->has_offset || outer->offset > l->offset || !l->has_offset)
        return;
    l->has_start = true;
    l->start = l->offset - outer->offset;
    l->size = outer->size;
}

static uint32_t location_of(struct profile *p, const struct frame_names *f)
{
    const struct report_frame *frame = f->frame;
    struct profile_location l = {.image = frame->image,
                                 .kind = frame->kind,
                                 .has_address = frame->has_address,
                                 .has_offset = frame->has_offset,
                                 .address = frame->has_address ? frame->address : 0,
                                 .offset = frame->has_offset ? frame->offset : 0,
                                 .first_line = (uint32_t)p->line_count};
    if (p->line_count > UINT32_MAX - 2 - f->count) {
        p->error = FW_ERR_FULL;
        return PROFILE_NONE;
    }
    for (size_t i = 0; i < f->count && !p->error; i++) {
        const struct report_name *name = &f->names[i];
        const char *shown = name->function && *name->function ? name->function : "???";
        struct profile_function function = {.name = profile_text(p, shown),
                                            .file = name->file ? profile_text(p, name->file) : 0,
                                            .image = frame->image};
        struct profile_line line = {profile_function(p, &function), name->line, name->column,
                                    name->flags};
        if (i + 1 == f->count)
            line.flags &= REPORT_TAIL_CALL;
        if (!p->error)
            profile_add_line(p, &line);
    }
    if (f->count == 0) {
        struct profile_line line = {.function = nameless(p, frame)};
        if (!p->error)
            profile_add_line(p, &line);
    }
    if (p->error)
        return PROFILE_NONE;
    l.line_count = (uint32_t)p->line_count - l.first_line;
    set_start(&l, f);
    return profile_location(p, &l);
}

static void name_frames(struct builder *b, report_resolve resolve, void *context)
{
    const struct report *r = b->p->report;
    for (size_t t = 0; t < r->thread_count && !b->p->error; t++) {
        const struct report_thread *thread = &r->threads[t];
        for (uint32_t i = 0; i < thread->frame_count && !b->p->error; i++) {
            uint32_t number = thread->first_frame + i;
            struct frame_names f = frame_names(r, resolve, context, number);
            b->p->of_frame[number] = location_of(b->p, &f);
        }
    }
}

/* ---- stacks ---- */

static uint32_t push_text(struct builder *b, uint32_t parent, const char *text)
{
    uint32_t location = pseudo(b->p, text, NULL, 0);
    return b->p->error ? PROFILE_NONE : profile_node(b->p, parent, location);
}

static uint32_t stack_node(struct builder *b, const struct report_thread *thread)
{
    uint32_t node = PROFILE_NONE;
    if (thread->frame_count == 0) {
        char text[160];
        snprintf(text, sizeof text, "[no stack%s%s]", thread->unavailable ? ": " : "",
                 thread->unavailable ? fw_unavailable_text((fw_unavailable)thread->unavailable)
                                     : "");
        return push_text(b, node, text);
    }
    if (thread->end != FW_END_NONE && thread->end != FW_END_ROOT) {
        char text[160];
        snprintf(text, sizeof text, "[stack ends here: %s]", fw_end_text((fw_end)thread->end));
        node = push_text(b, node, text);
    }
    for (uint32_t i = thread->frame_count; i-- > 0 && !b->p->error;) {
        if (thread->omitted && i + 1 == thread->head)
            node = push_text(b, node, "[frames omitted]");
        if (!b->p->error)
            node = profile_node(b->p, node, b->p->of_frame[thread->first_frame + i]);
    }
    return node;
}

/* The stack that samples and calls point at. */
static uint32_t stack_at(struct builder *b, uint32_t number)
{
    const struct report *r = b->p->report;
    if (number >= r->thread_count || r->threads[number].order != REPORT_STACK)
        return push_text(b, PROFILE_NONE, "[no stack]");
    if (b->stacks[number] == PROFILE_NONE)
        b->stacks[number] = stack_node(b, &r->threads[number]);
    return b->stacks[number];
}

/* The chain from a frame of a tree to its root, the frame being outermost. */
static uint32_t inverted_node(struct builder *b, uint32_t frame)
{
    struct profile *p = b->p;
    uint32_t node = PROFILE_NONE, depth = 0;
    for (; frame != REPORT_NONE && !p->error; frame = p->report->frames[frame].parent) {
        if (depth++ == PROFILE_MAX_DEPTH) {
            if (b->cut == PROFILE_NONE)
                b->cut = pseudo(p, "[...]", NULL, 0);
            return p->error ? PROFILE_NONE : profile_node(p, node, b->cut);
        }
        if (p->budget == 0) {
            p->error = FW_ERR_FULL;
            break;
        }
        p->budget--;
        node = profile_node(p, node, b->p->of_frame[frame]);
    }
    return node;
}

/* ---- series ---- */

static void add_sample(struct profile *p, struct profile_series *series,
                       struct profile_sample sample)
{
    if (p->error || sample.value == 0)
        return;
    if (!array_room(&series->samples, &series->sample_capacity, series->sample_count,
                    sizeof *series->samples)) {
        p->error = FW_ERR_MEMORY;
        return;
    }
    series->samples[series->sample_count++] = sample;
    series->total = profile_add(series->total, sample.value);
}

static struct profile_series *add_series(struct profile *p, const struct profile_series *series)
{
    if (p->error || !array_room(&p->series, &p->series_capacity, p->series_count, sizeof *series)) {
        p->error = FW_ERR_MEMORY;
        return NULL;
    }
    p->series[p->series_count] = *series;
    return &p->series[p->series_count++];
}

static bool same_word(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_series(const void *context, uint32_t index, const void *key)
{
    const struct profile *p = context;
    const struct profile_series *a = &p->series[index], *b = key;
    return same_word(a->process, b->process) && same_word(a->name, b->name) &&
           same_word(a->id, b->id);
}

static uint32_t hash_word(uint32_t hash, const char *word)
{
    return word ? profile_hash(hash, word, strlen(word) + 1) : profile_hash(hash, "\1", 1);
}

/* The series of a thread: those that are called the same are one, like the samples of perf. */
static struct profile_series *thread_series(struct profile *p, const struct report_thread *thread)
{
    struct profile_series series = {.kind = PROFILE_THREADS,
                                    .process = thread->process,
                                    .name = thread_label(thread),
                                    .id = thread->id,
                                    .main = thread->main};
    uint32_t hash =
        hash_word(hash_word(hash_word(2166136261U, series.process), series.name), series.id);
    if (!array_room(&p->series, &p->series_capacity, p->series_count, sizeof series)) {
        p->error = FW_ERR_MEMORY;
        return NULL;
    }
    p->series[p->series_count] = series;
    uint32_t index =
        profile_intern(&p->by_series, hash, same_series, p, &series, (uint32_t)p->series_count);
    if (index == PROFILE_NONE) {
        p->error = FW_ERR_MEMORY;
        return NULL;
    }
    p->series_count += index == p->series_count;
    return &p->series[index];
}

static void add_tree(struct builder *b, const struct report_thread *thread)
{
    struct profile *p = b->p;
    const struct report_frame *frames = &p->report->frames[thread->first_frame];
    uint64_t *within = calloc(thread->frame_count, sizeof *within);
    uint32_t *nodes = calloc(thread->frame_count, sizeof *nodes);
    struct profile_series *series = within && nodes ? thread_series(p, thread) : NULL;
    for (uint32_t i = 0; series && i < thread->frame_count; i++)
        if (frames[i].parent != REPORT_NONE) {
            uint64_t *sum = &within[frames[i].parent - thread->first_frame];
            *sum = profile_add(*sum, frames[i].samples);
        }
    for (uint32_t i = 0; series && i < thread->frame_count && !p->error; i++) {
        bool own = frames[i].samples > within[i];
        if (thread->order == REPORT_CALLERS) {
            uint32_t parent = frames[i].parent == REPORT_NONE
                                  ? PROFILE_NONE
                                  : nodes[frames[i].parent - thread->first_frame];
            nodes[i] = profile_node(p, parent, b->p->of_frame[thread->first_frame + i]);
        } else if (own) {
            nodes[i] = inverted_node(b, thread->first_frame + i);
        }
        if (own)
            add_sample(
                p, series,
                (struct profile_sample){.node = nodes[i], .value = frames[i].samples - within[i]});
    }
    if (!series)
        p->error = FW_ERR_MEMORY;
    free(within);
    free(nodes);
}

static void add_threads(struct builder *b)
{
    struct profile *p = b->p;
    for (size_t i = 0; i < p->report->thread_count && !p->error; i++) {
        const struct report_thread *thread = &p->report->threads[i];
        if (thread->frame_count == 0 || thread->repeats || thread->stack)
            continue;
        if (thread->order != REPORT_STACK) {
            add_tree(b, thread);
            continue;
        }
        uint32_t node = stack_node(b, thread);
        struct profile_series *series = p->error ? NULL : thread_series(p, thread);
        if (series)
            add_sample(p, series,
                       (struct profile_sample){
                           .node = node, .value = p->report->frames[thread->first_frame].samples});
    }
}

static struct profile_series hang_series(const struct report *r)
{
    const struct report_hang *hang = &r->hang;
    const struct report_thread *thread =
        hang->thread < r->thread_count ? &r->threads[hang->thread] : NULL;
    return (struct profile_series){.kind = PROFILE_HANG,
                                   .name = hang->watch && *hang->watch ? hang->watch
                                           : thread                    ? thread_label(thread)
                                                                       : "thread",
                                   .id = thread ? thread->id : NULL,
                                   .main = !thread || thread->main};
}

static void add_hang(struct builder *b)
{
    struct profile *p = b->p;
    const struct report *r = p->report;
    struct profile_series first = hang_series(r);
    struct profile_series *series = add_series(p, &first);
    for (size_t i = 0; series && i < r->sample_count && !p->error; i++) {
        const struct report_sample *sample = &r->samples[i];
        add_sample(p, series,
                   (struct profile_sample){stack_at(b, sample->stack), sample->weight_ns,
                                           sample->at_ns, sample->stack});
    }
}

/* ---- stacks of interpreters ---- */

static uint32_t script_node(struct builder *b, const struct report_script *script)
{
    struct profile *p = b->p;
    uint32_t node = PROFILE_NONE;
    for (uint32_t i = script->frame_count; i-- > 0 && !p->error;) {
        const struct report_script_frame *f = &p->report->script_frames[script->first_frame + i];
        uint32_t location = pseudo(p, f->function ? f->function : "???", f->file, f->line);
        node = p->error ? PROFILE_NONE : profile_node(p, node, location);
    }
    return script->frame_count || p->error ? node : push_text(b, node, "[no stack]");
}

struct taken {
    uint64_t at_ns;
    uint32_t node;
};

static int compare_taken(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* The last one taken at or before `at`, else the first. */
static const struct taken *taken_at(const struct taken *list, size_t count, uint64_t at)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].at_ns <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return &list[low ? low - 1 : 0];
}

static void add_scripts(struct builder *b)
{
    struct profile *p = b->p;
    const struct report *r = p->report;
    struct taken *list = calloc(r->script_count + 1, sizeof *list);
    const char *language = NULL;
    size_t count = 0;
    for (size_t i = 0; list && i < r->script_count && !p->error; i++) {
        if (r->scripts[i].thread_id != r->hang.thread_id)
            continue;
        language = language ? language : r->scripts[i].language;
        list[count++] = (struct taken){r->scripts[i].at_ns, script_node(b, &r->scripts[i])};
    }
    struct profile_series first = hang_series(r);
    struct report_bytes name = {0};
    out_format(&name, "%s (%s)", first.name, language ? language : "script");
    first.kind = PROFILE_SCRIPT;
    uint32_t text = list && !name.failed && !p->error ? profile_text(p, name.data) : 0;
    first.name = p->text_count ? p->texts[text] : "";
    if (!list || name.failed)
        p->error = FW_ERR_MEMORY;
    struct profile_series *series = count && !p->error ? add_series(p, &first) : NULL;
    if (series)
        qsort(list, count, sizeof *list, compare_taken);
    for (size_t i = 0; series && i < r->sample_count && !p->error; i++) {
        const struct report_sample *sample = &r->samples[i];
        uint32_t node = taken_at(list, count, sample->at_ns)->node;
        add_sample(p, series,
                   (struct profile_sample){
                       .node = node, .value = sample->weight_ns, .at_ns = sample->at_ns});
    }
    report_bytes_free(&name);
    free(list);
}

/* ---- calls ---- */

static void add_calls(struct builder *b)
{
    struct profile *p = b->p;
    const struct report *r = p->report;
    struct profile_series *series =
        add_series(p, &(struct profile_series){.kind = PROFILE_CALLS, .name = "calls"});
    for (size_t i = 0; series && i < r->call_count && !p->error; i++) {
        const struct report_call *call = &r->calls[i];
        const char *api = call->api < r->api_count ? r->apis[call->api].name : NULL;
        uint32_t node = push_text(b, stack_at(b, call->stack), api ? api : "???");
        add_sample(p, series, (struct profile_sample){.node = node, .value = call->count});
    }
}

/* ---- the whole ---- */

static void add_all(struct builder *b)
{
    const struct report *r = b->p->report;
    if (r->sample_count)
        add_hang(b);
    if (r->sample_count && r->script_count)
        add_scripts(b);
    if (r->call_count)
        add_calls(b);
    if (!r->sample_count && !r->call_count)
        add_threads(b);
}

static void drop_empty(struct profile *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->series_count; i++) {
        if (p->series[i].sample_count)
            p->series[kept++] = p->series[i];
        else
            free(p->series[i].samples);
    }
    p->series_count = kept;
}

fw_error profile_make(struct profile *p, const struct report *r, report_resolve resolve,
                      void *context)
{
    *p = (struct profile){.report = r,
                          .budget = (1 << 20) + (uint64_t)r->frame_count * PROFILE_MAX_GROWTH};
    struct builder b = {.p = p, .cut = PROFILE_NONE};
    p->of_frame = calloc(r->frame_count + 1, sizeof *p->of_frame);
    b.stacks = malloc((r->thread_count + 1) * sizeof *b.stacks);
    for (size_t i = 0; b.stacks && i < r->thread_count; i++)
        b.stacks[i] = PROFILE_NONE;
    if (!p->of_frame || !b.stacks)
        p->error = FW_ERR_MEMORY;
    else
        profile_text(p, "");
    if (!p->error)
        name_frames(&b, resolve, context);
    if (!p->error)
        add_all(&b);
    drop_empty(p);
    free(b.stacks);
    if (!p->error && !(p->place = malloc((p->node_count + 1) * sizeof *p->place)))
        p->error = FW_ERR_MEMORY;
    for (size_t i = 0; p->place && i < p->node_count; i++)
        p->place[i] = PROFILE_NONE;
    return p->error ? p->error : p->series_count ? FW_OK : FW_ERR_UNSUPPORTED;
}

void profile_title(struct report_bytes *out, const struct report *r)
{
    const char *name = r->info.process ? last_part(r->info.process) : NULL;
    if (name)
        out_format(out, "%s: ", name);
    if (r->hang.present) {
        out_text(out, "hang of ");
        out_ms(out, r->hang.duration_ns);
    } else if (r->call_count) {
        out_text(out, "watched calls");
    } else {
        out_format(out, "%s report", report_kind_text(r->kind));
    }
}
