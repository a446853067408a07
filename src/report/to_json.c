/* Any report in Framewalk's own form: docs/reports.md, change the two together. */
#include "report/to_json.h"

#include <inttypes.h>

enum { VERSION = 1 };

void json_member(struct report_bytes *out, const char *key, const char *value)
{
    out_format(out, ",\"%s\":", key);
    out_json(out, value);
}

static void out_info(struct report_bytes *out, const struct report *r)
{
    const struct report_info *info = &r->info;
    const struct {
        const char *key, *value;
    } members[] = {
        {"pid", info->pid},
        {"executable", info->path},
        {"arch", info->arch},
        {"bundle", info->bundle},
        {"version", info->version},
        {"build", info->build},
        {"os", info->os},
        {"device", info->device},
        {"incident", info->incident},
        {"exception", info->exception},
        {"reason", info->reason},
        {"termination", info->termination},
    };
    out_text(out, "{\"name\":");
    out_json(out, info->process);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_member(out, members[i].key, members[i].value);
    out_text(out, "}");
}

static void out_line(struct report_bytes *out, uint32_t line)
{
    if (line)
        out_format(out, ",\"line\":%" PRIu32, line);
    else
        out_text(out, ",\"line\":null");
}

static void out_names(struct report_bytes *out, const struct frame_names *f)
{
    const struct report_name *outer = f->count ? outer_name(f) : NULL;
    json_member(out, "function", outer ? outer->function : NULL);
    if (outer && outer->has_offset)
        out_format(out, ",\"offset\":%" PRIu64, outer->offset);
    else
        out_text(out, ",\"offset\":null");
    json_member(out, "file", outer ? outer->file : NULL);
    out_line(out, outer ? outer->line : 0);
    out_text(out, ",\"inlines\":[");
    for (size_t i = 0; i + 1 < f->count; i++) {
        const struct report_name *name = &f->names[i];
        out_format(out, "%s{\"function\":", i ? "," : "");
        out_json(out, name->function);
        json_member(out, "file", name->file);
        out_line(out, name->line);
        if (name->flags & REPORT_TAIL_CALL)
            out_text(out, ",\"tail_call\":true");
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void out_image(struct report_bytes *out, const struct report *r,
                      const struct report_frame *frame)
{
    const struct report_image *image =
        frame->image == REPORT_NONE ? NULL : &r->images[frame->image];
    json_member(out, "image",
                !image         ? NULL
                : image->path  ? image->path
                : *image->name ? image->name
                               : NULL);
    if (image && frame->has_offset)
        out_format(out, ",\"image_offset\":\"0x%" PRIx64 "\"", frame->offset);
    else
        out_text(out, ",\"image_offset\":null");
    json_member(out, "image_offset_from", frame->space == REPORT_LINKED ? "file" : "load");
    if (!image || !image->id_size) {
        out_text(out, ",\"build_id\":null");
        return;
    }
    out_text(out, ",\"build_id\":\"");
    out_hex(out, image->id, image->id_size);
    out_text(out, "\"");
}

static void out_frame(struct report_bytes *out, const struct report *r,
                      const struct report_thread *thread, const struct frame_names *f)
{
    const struct report_frame *frame = f->frame;
    if (frame->has_address)
        out_format(out, "{\"address\":\"0x%" PRIx64 "\"", frame->address);
    else
        out_text(out, "{\"address\":null");
    json_member(out, "kind", frame->kind == REPORT_EXACT ? "exact" : "return");
    if (thread->order != REPORT_STACK) {
        out_format(out, ",\"samples\":%" PRIu64, frame->samples);
        if (frame->parent == REPORT_NONE)
            out_text(out, ",\"parent\":null");
        else
            out_format(out, ",\"parent\":%" PRIu32, frame->parent - thread->first_frame);
    }
    out_names(out, f);
    out_image(out, r, frame);
    out_text(out, "}");
}

static const char *order_text(uint8_t order)
{
    return order == REPORT_CALLERS ? "callers" : order == REPORT_CALLEES ? "callees" : "stack";
}

void json_frames(struct report_bytes *out, const struct report *r,
                 const struct report_thread *thread, report_resolve resolve, void *context)
{
    out_text(out, "[");
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        struct frame_names f = frame_names(r, resolve, context, thread->first_frame + i);
        if (i)
            out_text(out, ",");
        out_frame(out, r, thread, &f);
    }
    out_text(out, "]");
}

static void out_thread(struct report_bytes *out, const struct report *r,
                       const struct report_thread *thread, report_resolve resolve, void *context)
{
    out_text(out, "{\"id\":");
    out_json(out, thread->id);
    json_member(out, "name", thread->name);
    json_member(out, "queue", thread->queue);
    json_member(out, "process", thread->process);
    out_format(out, ",\"crashed\":%s,\"exception\":%s", thread->crashed ? "true" : "false",
               thread->exception ? "true" : "false");
    if (r->kind == REPORT_FRAMEWALK)
        json_watch_thread(out, thread);
    out_format(out, ",\"stacks\":[{\"order\":\"%s\"", order_text(thread->order));
    uint64_t samples = 1;
    if (thread->frame_count && thread->order == REPORT_STACK)
        samples = r->frames[thread->first_frame].samples;
    out_format(out, ",\"samples\":%" PRIu64 ",\"frames\":", samples);
    json_frames(out, r, thread, resolve, context);
    out_text(out, "}]}");
}

fw_error report_to_json(const struct report *r, report_resolve resolve, void *context,
                        struct report_bytes *out)
{
    out_format(out,
               "{\"format\":\"framewalk-report\",\"version\":%d,\"kind\":\"%s\",\"time\":", VERSION,
               report_kind_text(r->kind));
    out_json(out, r->info.date);
    out_format(out, ",\"complete\":%s", r->complete ? "true" : "false");
    json_member(out, "note", r->note);
    out_text(out, ",\"process\":");
    out_info(out, r);
    out_text(out, ",\"threads\":[");
    const char *separator = "\n";
    for (size_t i = 0; i < r->thread_count; i++) {
        if (r->threads[i].repeats || r->threads[i].stack)
            continue;
        out_text(out, separator);
        out_thread(out, r, &r->threads[i], resolve, context);
        separator = ",\n";
    }
    out_text(out, "\n]");
    if (r->kind == REPORT_FRAMEWALK)
        json_watch(out, r, resolve, context);
    out_text(out, "}\n");
    return out->failed ? FW_ERR_MEMORY : FW_OK;
}
