/*
 * Collapsed stacks: `thread;outermost;...;innermost samples`. Of a tree each frame that was seen
 * more often than the frames within it gives a line with the difference.
 */
#include "report/write.h"

#include "base/array.h"

enum {
    MAX_DEPTH = 1024, /* functions of a line; those further in are left out and `[...]` says so */
    MAX_GROWTH = 64   /* times the input; deep trees repeat themselves in every line */
};

struct labels { /* the functions of each frame, outermost first, joined by `;` */
    struct report_bytes text;
    size_t *ends; /* of frame i of the thread; it begins where the one before ends */
    size_t capacity;
};

/* A name on one line, without what separates names. */
static void out_label(struct report_bytes *out, const char *name)
{
    for (const char *p = name; *p; p++) {
        char c = *p == ';' ? ':' : (unsigned char)*p < ' ' ? ' ' : *p;
        out_bytes(out, &c, 1);
    }
}

static void out_frame(struct report_bytes *out, const struct report *r, const struct frame_names *f)
{
    for (size_t i = f->count; i-- > 0;) {
        out_text(out, ";");
        out_label(out, name_shown(&f->names[i]));
        if (i + 1 < f->count)
            out_text(out, f->names[i].flags & REPORT_TAIL_CALL ? "_[t]" : "_[i]");
    }
    if (f->count)
        return;
    const struct report_frame *frame = f->frame;
    out_text(out, ";");
    if (frame->image != REPORT_NONE && frame->has_offset) {
        out_label(out, r->images[frame->image].name);
        out_format(out, "+0x%llx", (unsigned long long)frame->offset);
    } else {
        out_format(out, "0x%llx", (unsigned long long)frame->address);
    }
}

static bool make_labels(struct labels *labels, const struct report *r,
                        const struct report_thread *thread, report_resolve resolve, void *context)
{
    labels->text.size = 0;
    if (!array_reserve(&labels->ends, &labels->capacity, thread->frame_count + (size_t)1,
                       sizeof *labels->ends))
        return false;
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        struct frame_names f = frame_names(r, resolve, context, thread->first_frame + i);
        out_frame(&labels->text, r, &f);
        labels->ends[i] = labels->text.size;
    }
    return !labels->text.failed;
}

static void out_one(struct report_bytes *out, const struct labels *labels, uint32_t i)
{
    size_t begin = i ? labels->ends[i - 1] : 0;
    out_bytes(out, labels->text.data + begin, labels->ends[i] - begin);
}

static void out_root(struct report_bytes *out, const struct report_thread *thread)
{
    if (thread->process) {
        out_label(out, thread->process);
        out_text(out, ";");
    }
    out_label(out, thread->name        ? thread->name
                   : thread->exception ? "exception"
                   : thread->queue     ? thread->queue
                   : thread->id        ? thread->id
                                       : "thread");
}

/* The frames from `i` to the end of its chain of parents: in the order in which they are met, or
 * the other way round. */
static void out_chain(struct report_bytes *out, const struct report *r,
                      const struct report_thread *thread, const struct labels *labels, uint32_t i,
                      uint64_t samples)
{
    uint32_t chain[MAX_DEPTH], count = 0, number = thread->first_frame + i;
    while (number != REPORT_NONE && count < MAX_DEPTH) {
        chain[count++] = number - thread->first_frame;
        number = r->frames[number].parent;
    }
    out_root(out, thread);
    if (thread->order == REPORT_CALLEES) {
        for (uint32_t k = 0; k < count; k++)
            out_one(out, labels, chain[k]);
    } else {
        if (number != REPORT_NONE)
            out_text(out, ";[...]");
        while (count-- > 0)
            out_one(out, labels, chain[count]);
    }
    if (number != REPORT_NONE && thread->order == REPORT_CALLEES)
        out_text(out, ";[...]");
    out_format(out, " %llu\n", (unsigned long long)samples);
}

static void out_plain(struct report_bytes *out, const struct report *r,
                      const struct report_thread *thread, const struct labels *labels)
{
    uint32_t count = thread->frame_count;
    out_root(out, thread);
    if (count > MAX_DEPTH)
        out_text(out, ";[...]");
    for (uint32_t i = count > MAX_DEPTH ? MAX_DEPTH : count; i-- > 0;)
        out_one(out, labels, i);
    out_format(out, " %llu\n", (unsigned long long)r->frames[thread->first_frame].samples);
}

static bool out_tree(struct report_bytes *out, const struct report *r,
                     const struct report_thread *thread, const struct labels *labels, size_t limit)
{
    uint64_t *within = calloc(thread->frame_count, sizeof *within);
    if (!within) {
        out->failed = true;
        return true;
    }
    const struct report_frame *frames = &r->frames[thread->first_frame];
    for (uint32_t i = 0; i < thread->frame_count; i++)
        if (frames[i].parent != REPORT_NONE)
            within[frames[i].parent - thread->first_frame] += frames[i].samples;
    bool fits = true;
    for (uint32_t i = 0; fits && i < thread->frame_count; i++) {
        if (frames[i].samples > within[i])
            out_chain(out, r, thread, labels, i, frames[i].samples - within[i]);
        fits = out->size <= limit;
    }
    free(within);
    return fits;
}

fw_error report_to_collapsed(const struct report *r, report_resolve resolve, void *context,
                             struct report_bytes *out)
{
    struct labels labels = {0};
    bool fits = true;
    size_t limit = r->text.size > SIZE_MAX / 2 / MAX_GROWTH
                       ? SIZE_MAX / 2
                       : r->text.size * MAX_GROWTH + ((size_t)1 << 20);
    for (size_t i = 0; i < r->thread_count && fits && !out->failed; i++) {
        const struct report_thread *thread = &r->threads[i];
        if (thread->frame_count == 0 || thread->repeats)
            continue;
        if (!make_labels(&labels, r, thread, resolve, context))
            out->failed = true;
        else if (thread->order == REPORT_STACK)
            out_plain(out, r, thread, &labels);
        else
            fits = out_tree(out, r, thread, &labels, limit);
    }
    report_bytes_free(&labels.text);
    free(labels.ends);
    return out->failed ? FW_ERR_MEMORY : fits ? FW_OK : FW_ERR_FULL;
}
