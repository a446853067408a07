/*
 * Single stacks: functions in one column, images in the next, source lines in the last. Numbers
 * count what is on the stack: an inlined function has the number of the frame that it is part of, a
 * function that left by a tail call has none. Threads with equal stacks are shown as one.
 */
#include "framewalk/stack.h"
#include "report/to_text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { IDS_SHOWN = 3, REPEATS_SHOWN = 4, SOURCE_COLUMNS = 28 };

/* ---- one stack ---- */

struct widths {
    int digits;
    size_t name, image;
};

/* The name with its mark or offset; returns its columns. */
static size_t put_name(struct report_bytes *out, const struct profile *p,
                       const struct profile_location *l, uint32_t i)
{
    const struct profile_line *line = &p->lines[l->first_line + i];
    size_t before = out->size;
    size_t columns = out_clean(out, p->texts[p->functions[line->function].name], TEXT_LONGEST_NAME);
    size_t name = out->size;
    if (line->flags & REPORT_TAIL_CALL)
        out_text(out, " [tail call]");
    else if (i + 1 < l->line_count)
        out_text(out, " [inlined]");
    else if (l->has_start)
        out_format(out, "+0x%" PRIx64, l->offset - l->start);
    return out->failed || name < before ? 0 : columns + (out->size - name);
}

/* "(libc.so.6)", nothing when there is none or the name says it already. */
static size_t put_image(struct report_bytes *out, const struct profile *p, uint32_t function)
{
    const struct profile_function *f = &p->functions[function];
    const char *image = f->image == REPORT_NONE ? "" : p->report->images[f->image].name;
    if (f->nameless || !*image)
        return 0;
    out_text(out, "(");
    size_t columns = out_clean(out, image, TEXT_WORD);
    out_text(out, ")");
    return columns + 2;
}

void text_source(struct text_writer *w, const char *file, uint32_t line)
{
    size_t size = file ? strlen(file) : 0, from = size > SOURCE_COLUMNS ? size - SOURCE_COLUMNS : 0;
    if (size == 0)
        return;
    while (from && file[from] && file[from] != '/')
        from++;
    if (from && !file[from]) /* no folder ends there: the file alone */
        from = (size_t)(last_part(file) - file);
    out_text(w->out, from ? "  ..." : "  ");
    out_clean(w->out, file + from, TEXT_COLUMNS);
    if (line)
        out_format(w->out, ":%" PRIu32, line);
}

static struct widths measure(struct text_writer *w, const struct report_thread *thread)
{
    struct widths widths = {0};
    struct report_bytes scratch = {0};
    uint64_t last = thread->frame_count + thread->omitted;
    out_format(&scratch, "%" PRIu64, last ? last - 1 : 0);
    widths.digits = (int)scratch.size;
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        const struct profile_location *l =
            &w->p->locations[w->p->of_frame[thread->first_frame + i]];
        for (uint32_t k = 0; k < l->line_count; k++) {
            scratch.size = 0;
            size_t name = put_name(&scratch, w->p, l, k);
            size_t image = put_image(&scratch, w->p, w->p->lines[l->first_line + k].function);
            if (name <= TEXT_NAME_COLUMNS && name > widths.name)
                widths.name = name;
            if (image <= TEXT_IMAGE_COLUMNS && image > widths.image)
                widths.image = image;
        }
    }
    w->out->failed |= scratch.failed;
    report_bytes_free(&scratch);
    return widths;
}

static void pad(struct report_bytes *out, size_t used, size_t width)
{
    if (used < width)
        out_repeat(out, ' ', width - used);
}

static void out_frame(struct text_writer *w, const struct profile_location *l, uint64_t number,
                      const struct widths *widths)
{
    const struct profile *p = w->p;
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct profile_line *line = &p->lines[l->first_line + i];
        if (line->flags & REPORT_TAIL_CALL)
            out_format(w->out, "  %*s  ", widths->digits, "");
        else
            out_format(w->out, "  %*" PRIu64 "  ", widths->digits, number);
        size_t before = w->out->size;
        pad(w->out, put_name(w->out, p, l, i), widths->name);
        out_text(w->out, "  ");
        pad(w->out, put_image(w->out, p, line->function), widths->image);
        const struct profile_function *f = &p->functions[line->function];
        text_source(w, f->file ? p->texts[f->file] : NULL, line->line);
        while (w->out->size > before && w->out->data[w->out->size - 1] == ' ')
            w->out->data[--w->out->size] = 0;
        out_text(w->out, "\n");
    }
}

/* How many frames from `i` on are at the same place, not looking past the gap. */
static uint32_t repeats(const struct profile *p, const struct report_thread *thread, uint32_t i)
{
    const uint32_t *of = &p->of_frame[thread->first_frame];
    uint32_t end = thread->omitted && i < thread->head && thread->head < thread->frame_count
                       ? thread->head
                       : thread->frame_count;
    uint32_t next = i + 1;
    while (next < end && of[next] == of[i])
        next++;
    return next - i;
}

void text_stack(struct text_writer *w, const struct report_thread *thread)
{
    const struct profile *p = w->p;
    struct widths widths = measure(w, thread);
    for (uint32_t i = 0, same; i < thread->frame_count; i += same) {
        bool behind = thread->omitted && i >= thread->head;
        if (thread->omitted && i == thread->head) {
            out_text(w->out, "  ... ");
            out_grouped(w->out, thread->omitted);
            out_text(w->out, " frames omitted ...\n");
        }
        same = repeats(p, thread, i);
        const struct profile_location *l = &p->locations[p->of_frame[thread->first_frame + i]];
        uint32_t shown = same > REPEATS_SHOWN ? 1 : same;
        for (uint32_t k = 0; k < shown; k++)
            out_frame(w, l, i + k + (behind ? thread->omitted : 0), &widths);
        if (same == shown)
            continue;
        out_text(w->out, "  ... the same ");
        out_grouped(w->out, same - 1);
        out_text(w->out, " more times ...\n");
    }
    if (thread->unavailable)
        out_format(w->out, "  -- no stack: %s\n",
                   fw_unavailable_text((fw_unavailable)thread->unavailable));
    else if (thread->end != FW_END_NONE && thread->end != FW_END_ROOT)
        out_format(w->out, "  -- stack ends here: %s\n", fw_end_text((fw_end)thread->end));
}

void text_place(struct text_writer *w, const struct profile_location *l)
{
    const struct profile *p = w->p;
    const struct profile_line *line = &p->lines[l->first_line];
    const struct profile_function *f = &p->functions[line->function];
    out_clean(w->out, p->texts[f->name], TEXT_LONGEST_NAME);
    if (f->image != REPORT_NONE && !f->nameless)
        out_text(w->out, "  ");
    put_image(w->out, p, line->function);
    text_source(w, f->file ? p->texts[f->file] : NULL, line->line);
}

/* ---- threads ---- */

static bool same_stack(const void *context, uint32_t index, const void *key)
{
    const struct profile *p = context;
    const struct report_thread *a = &p->report->threads[index], *b = key;
    if (a->frame_count != b->frame_count || a->order != b->order || a->end != b->end ||
        a->unavailable != b->unavailable || a->head != b->head || a->omitted != b->omitted ||
        a->crashed != b->crashed || a->exception != b->exception || a->order != REPORT_STACK ||
        a->main != b->main || a->state != b->state)
        return false;
    if (a->process != b->process && (!a->process || !b->process || strcmp(a->process, b->process)))
        return false;
    return memcmp(&p->of_frame[a->first_frame], &p->of_frame[b->first_frame],
                  a->frame_count * sizeof *p->of_frame) == 0;
}

struct member { /* a thread in its group; groups are called by their first thread */
    uint32_t group, thread;
    uint32_t size; /* of the group */
    uint8_t rank;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static uint8_t rank(const struct report_thread *thread)
{
    return thread->exception      ? 0
           : thread->crashed      ? 1
           : thread->watched      ? 2
           : thread->main         ? 3
           : thread->state == 'R' ? 4
           : thread->state == 'D' ? 4
                                  : 5;
}

static const char *name_of(const struct report_thread *thread)
{
    return thread->name ? thread->name : "";
}

/* One name, a common beginning as "worker-*", or nothing. */
static void out_names(struct text_writer *w, const struct member *members, size_t count)
{
    const struct report_thread *threads = w->p->report->threads;
    const char *first = name_of(&threads[members[0].thread]);
    size_t common = strlen(first);
    bool differ = false;
    for (size_t i = 1; i < count; i++) {
        const char *name = name_of(&threads[members[i].thread]);
        size_t same = 0;
        while (same < common && name[same] == first[same])
            same++;
        differ |= strcmp(name, first) != 0;
        common = same;
    }
    while (differ && common && first[common - 1] >= '0' && first[common - 1] <= '9')
        common--;
    if (common == 0)
        return;
    struct report_bytes part = {0};
    out_bytes(&part, first, common);
    out_text(w->out, " \"");
    out_clean(w->out, part.data ? part.data : "", TEXT_WORD);
    out_text(w->out, differ ? "*\"" : "\"");
    w->out->failed |= part.failed;
    report_bytes_free(&part);
}

static void out_title(struct text_writer *w, const struct member *members, size_t count)
{
    const struct report_thread *threads = w->p->report->threads;
    const struct report_thread *first = &threads[members[0].thread];
    size_t shown = count <= IDS_SHOWN + 1 ? count : IDS_SHOWN;
    out_text(w->out, first->exception ? "\nException" : count == 1 ? "\nThread" : "\nThreads");
    for (size_t i = 0; i < shown; i++) {
        const char *id = threads[members[i].thread].id;
        out_text(w->out, i == 0 ? " " : i + 1 == count ? " and " : ", ");
        out_clean(w->out, id ? id : first->exception ? "" : "?", TEXT_WORD);
    }
    if (shown < count) {
        out_text(w->out, " and ");
        out_grouped(w->out, count - shown);
        out_text(w->out, " more");
    }
    out_names(w, members, count);
    if (count == 1 && first->queue) {
        out_text(w->out, " on queue ");
        out_clean(w->out, first->queue, TEXT_WORD);
    }
    out_text(w->out, first->main ? " (main)" : "");
    out_text(w->out, first->watched ? " (watched)" : "");
    out_text(w->out, first->crashed ? " crashed" : "");
    out_text(w->out, first->state == 'R'   ? " running"
                     : first->state == 'D' ? " uninterruptible sleep"
                                           : "");
    if (first->process) {
        out_text(w->out, " of ");
        out_clean(w->out, first->process, TEXT_WORD);
    }
    out_text(w->out, "\n\n");
}

static bool group_all(struct text_writer *w, uint32_t left_out, struct member *members,
                      uint32_t *sizes, size_t *count)
{
    const struct profile *p = w->p;
    struct profile_table table = {0};
    bool ok = true;
    *count = 0;
    for (uint32_t i = 0; i < p->report->thread_count && ok; i++) {
        const struct report_thread *thread = &p->report->threads[i];
        bool nothing = thread->frame_count == 0 && !thread->unavailable;
        if (i == left_out || thread->stack || thread->repeats || nothing)
            continue;
        uint32_t hash = profile_hash(2166136261U, &p->of_frame[thread->first_frame],
                                     thread->frame_count * sizeof *p->of_frame);
        uint32_t group = profile_intern(&table, hash, same_stack, p, thread, i);
        ok = group != PROFILE_NONE;
        if (!ok)
            break;
        sizes[group]++;
        members[(*count)++] = (struct member){group, i, 0, rank(thread)};
    }
    for (size_t i = 0; i < *count && ok; i++)
        members[i].size = sizes[members[i].group];
    if (*count)
        qsort(members, *count, sizeof *members, compare_members);
    free(table.slots);
    return ok;
}

fw_error text_threads(struct text_writer *w, uint32_t left_out)
{
    const struct report *r = w->p->report;
    struct member *members = calloc(r->thread_count + 1, sizeof *members);
    uint32_t *sizes = calloc(r->thread_count + 1, sizeof *sizes);
    size_t count = 0;
    bool ok = members && sizes && group_all(w, left_out, members, sizes, &count);
    for (size_t i = 0, size; ok && i < count; i += size) {
        size = members[i].size;
        out_title(w, &members[i], size);
        text_stack(w, &r->threads[members[i].thread]);
    }
    free(members);
    free(sizes);
    return ok ? FW_OK : FW_ERR_MEMORY;
}
