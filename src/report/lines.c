#include "report/lines.h"

struct report_frame *lines_frame(struct report_build *b, const struct numbered_line *n)
{
    struct report_frame *frame = build_frame(b);
    if (!frame)
        return NULL;
    frame->has_address = true;
    frame->address = n->address;
    frame->span = n->line;
    frame->item = (struct report_span){n->number, n->head_end};
    return frame;
}

/* Whether the last function is marked; without marks, whether `next` has a source as they all do
 * and differs from them. */
static bool belongs(const struct report *r, const struct report_frame *frame,
                    const struct report_name *next)
{
    const struct report_name *last = &r->names[frame->first_name + frame->name_count - 1];
    if (last->flags)
        return true;
    if (!next->file || frame->node == LINES_MARKED)
        return false;
    for (uint32_t i = 0; i < frame->name_count; i++) {
        const struct report_name *name = &r->names[frame->first_name + i];
        if (!name->file || strcmp(name->function, next->function) == 0)
            return false;
    }
    return true;
}

enum { MAX_JOINED = 256 }; /* keeps the comparison of names linear */

void lines_join(struct report_build *b, struct report_frame *frame)
{
    struct report *r = b->report;
    struct report_thread *thread = &r->threads[r->thread_count - 1];
    if (b->error || thread->frame_count < 2)
        return;
    struct report_frame *before = frame - 1;
    if (before->address != frame->address || before->name_count == 0 ||
        before->name_count >= MAX_JOINED || !r->names[frame->first_name].function ||
        !belongs(r, before, &r->names[frame->first_name]))
        return;
    struct report_name *last = &r->names[before->first_name + before->name_count - 1];
    if (last->flags)
        before->node = LINES_MARKED;
    else
        last->flags = REPORT_INLINED;
    before->name_count++;
    before->span.end = frame->span.end;
    before->item = frame->item;
    before->image = frame->image;
    r->frame_count--;
    thread->frame_count--;
}
