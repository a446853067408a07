/*
 * What a report's frames ask whoever knows names, and which answers it wants.
 */
#include "report/report.h"

/* `IMAGE 0xADDR` in a list is an address as the image is linked, like those of disassemblies. */
bool report_frame_place(const struct report *r, uint32_t frame, uint64_t *offset, uint8_t *space)
{
    const struct report_frame *f = &r->frames[frame];
    bool linked = r->kind == REPORT_LIST && f->has_address && !f->has_offset;
    *offset = linked ? f->address : f->offset;
    *space = linked ? REPORT_LINKED : f->space;
    return f->image != REPORT_NONE && (f->has_offset || linked);
}

/* Frames of a tree are no stack: each stands alone. */
bool report_ends_stack(const struct report *r, uint32_t frame)
{
    return frame + 1 == r->frame_count || r->frames[frame + 1].thread != r->frames[frame].thread ||
           r->threads[r->frames[frame].thread].order != REPORT_STACK;
}

bool report_wants_name(const struct report *r, uint32_t frame, const char *function,
                       const char *file)
{
    return function && (r->frames[frame].name_count == 0 || file);
}

bool report_is_apple(const struct report *r)
{
    return r->kind == REPORT_IPS || r->kind == REPORT_CRASH || r->kind == REPORT_STACKSHOT ||
           r->kind == REPORT_SAMPLE || r->kind == REPORT_SPINDUMP || r->kind == REPORT_METRICKIT ||
           r->kind == REPORT_METER;
}
