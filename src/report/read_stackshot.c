/*
 * Apple .ips of all processes (bug type 288, and panics): frames are pairs of image number and
 * offset. Images of kind S are a whole shared cache, which one id covers.
 */
#include "report/build.h"

static void read_images(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    uint32_t images = jdoc_get(doc, 0, "binaryImages");
    for (uint32_t i = jdoc_first(doc, images); i != JNONE; i = jdoc_after(doc, images, i)) {
        struct report_image image = {0};
        uint32_t uuid = jdoc_at(doc, i, 0), kind = jdoc_at(doc, i, 2);
        if (jdoc_is(doc, uuid, JSTRING))
            build_id(&image,
                     cursor_over(doc->text, doc->nodes[uuid].begin + 1, doc->nodes[uuid].end - 1));
        image.has_load = jdoc_u64(doc, jdoc_at(doc, i, 1), &image.load);
        image.whole_cache =
            jdoc_is(doc, kind, JSTRING) && doc->text.data[doc->nodes[kind].begin + 1] == 'S';
        build_image(b, &image);
    }
}

static void read_frames(struct report_build *b, uint32_t array)
{
    const struct jdoc *doc = &b->body;
    bool first = true;
    for (uint32_t i = jdoc_first(doc, array); i != JNONE; i = jdoc_after(doc, array, i)) {
        struct report_frame *frame = build_frame(b);
        if (!frame)
            return;
        uint64_t image;
        if (jdoc_u64(doc, jdoc_at(doc, i, 0), &image) && image < b->report->image_count)
            frame->image = (uint32_t)image;
        frame->has_offset = jdoc_u64(doc, jdoc_at(doc, i, 1), &frame->offset);
        build_symbol(b, frame, jdoc_at(doc, i, 2)); /* what report_write put there */
        frame->kind = first ? REPORT_EXACT : REPORT_RETURN;
        frame->node = i;
        frame->span = (struct report_span){doc->nodes[i].begin, doc->nodes[i].end};
        first = false;
    }
}

static void read_process(struct report_build *b, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    const char *name = build_string(b, doc, jdoc_get(doc, node, "procname"));
    const char *pid = build_string(b, doc, jdoc_get(doc, node, "pid"));
    const char *process = build_format(b, "%s [%s]", name ? name : "?", pid ? pid : "?");
    uint32_t threads = jdoc_get(doc, node, "threadById");
    for (uint32_t i = jdoc_first(doc, threads); i != JNONE; i = jdoc_after(doc, threads, i)) {
        struct report_thread *thread = build_thread(b, REPORT_STACK);
        thread->process = process;
        thread->id = build_string(b, doc, i);
        thread->name = build_string(b, doc, jdoc_get(doc, i + 1, "name"));
        thread->queue = build_string(b, doc, jdoc_get(doc, i + 1, "dispatch_queue_label"));
        read_frames(b, jdoc_get(doc, i + 1, "kernelFrames"));
        read_frames(b, jdoc_get(doc, i + 1, "userFrames"));
    }
}

void read_stackshot(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    struct report_info *info = &b->report->info;
    info->os = build_string(b, doc, jdoc_get(doc, 0, "build"));
    info->device = build_string(b, doc, jdoc_get(doc, 0, "product"));
    info->date = build_string(b, doc, jdoc_get(doc, 0, "date"));
    info->incident = build_string(b, doc, jdoc_get(doc, 0, "incident"));
    info->exception = build_string(b, doc, jdoc_get(doc, 0, "exception"));
    info->reason = build_string(b, doc, jdoc_get(doc, 0, "reason"));
    read_images(b);
    uint32_t processes = jdoc_get(doc, 0, "processByPid");
    if (!jdoc_is(doc, processes, JOBJECT))
        return;
    for (uint32_t i = jdoc_first(doc, processes); i != JNONE; i = jdoc_after(doc, processes, i)) {
        read_process(b, i + 1);
        b->group++;
    }
}
