/*
 * Framewalk's own JSON: `framewalk dump --json` (docs/dump-json.md) and what report_to_json writes
 * (docs/reports.md), which is the same with trees and inlined functions.
 */
#include "report/build.h"

#include <stdlib.h>

static const char *text(struct report_build *b, uint32_t object, const char *key)
{
    return build_string(b, &b->body, jdoc_get(&b->body, object, key));
}

static bool is_text(struct report_build *b, uint32_t object, const char *key, const char *value)
{
    const char *found = text(b, object, key);
    return found && strcmp(found, value) == 0;
}

static void read_image(struct report_build *b, struct report_frame *frame, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    struct report_image image = {.path = text(b, node, "image")};
    uint32_t id = jdoc_get(doc, node, "build_id");
    if (jdoc_is(doc, id, JSTRING))
        build_id(&image, cursor_over(doc->text, doc->nodes[id].begin + 1, doc->nodes[id].end - 1));
    if (!image.path && !image.id_size)
        return;
    build_name_of_path(&image);
    frame->image = build_intern(b, &image);
    frame->has_offset = jdoc_u64(doc, jdoc_get(doc, node, "image_offset"), &frame->offset);
    frame->space = is_text(b, node, "image_offset_from", "load") ? REPORT_FROM_LOAD : REPORT_LINKED;
}

static void read_frame(struct report_build *b, uint32_t node, uint32_t first)
{
    const struct jdoc *doc = &b->body;
    struct report_frame *frame = build_frame(b);
    if (!frame)
        return;
    uint64_t parent;
    frame->node = node;
    frame->span = (struct report_span){doc->nodes[node].begin, doc->nodes[node].end};
    frame->has_address = jdoc_u64(doc, jdoc_get(doc, node, "address"), &frame->address);
    frame->kind = is_text(b, node, "kind", "exact") ? REPORT_EXACT : REPORT_RETURN;
    if (jdoc_u64(doc, jdoc_get(doc, node, "parent"), &parent) &&
        parent < b->report->frame_count - 1 - first)
        frame->parent = first + (uint32_t)parent;
    jdoc_u64(doc, jdoc_get(doc, node, "samples"), &frame->samples);
    read_image(b, frame, node);
    const char *function = text(b, node, "function");
    build_inlines(b, frame, jdoc_get(doc, node, "inlines"), "function", "file", "line");
    if (!function && frame->name_count == 0)
        return;
    struct report_name *name = build_known(b, frame);
    if (!name)
        return;
    name->function = function;
    name->file = text(b, node, "file");
    name->line = build_line(b, jdoc_get(doc, node, "line"));
    name->has_offset = jdoc_u64(doc, jdoc_get(doc, node, "offset"), &name->offset);
}

static void read_stack(struct report_build *b, uint32_t thread, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    enum report_order order = REPORT_STACK;
    if (is_text(b, node, "order", "callers"))
        order = REPORT_CALLERS;
    if (is_text(b, node, "order", "callees"))
        order = REPORT_CALLEES;
    struct report_thread *read = build_thread(b, order);
    read->id = text(b, thread, "id");
    read->name = text(b, thread, "name");
    read->queue = text(b, thread, "queue");
    read->process = text(b, thread, "process");
    read->crashed = jdoc_is(doc, jdoc_get(doc, thread, "crashed"), JTRUE) ||
                    jdoc_is(doc, jdoc_get(doc, thread, "signal"), JNUMBER);
    read->exception = jdoc_is(doc, jdoc_get(doc, thread, "exception"), JTRUE);
    uint32_t first = read->first_frame, frames = jdoc_get(doc, node, "frames");
    uint64_t samples;
    if (!jdoc_is(doc, frames, JARRAY))
        return;
    for (uint32_t i = jdoc_first(doc, frames); i != JNONE; i = jdoc_after(doc, frames, i))
        read_frame(b, i, first);
    if (b->error || order != REPORT_STACK ||
        !jdoc_u64(doc, jdoc_get(doc, node, "samples"), &samples))
        return;
    for (size_t i = first; i < b->report->frame_count; i++)
        b->report->frames[i].samples = samples;
}

/* How far apart the samples were, as they went and not as they were asked for. */
static void read_sampling(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    uint32_t sampling = jdoc_get(doc, 0, "sampling");
    const char *took = jdoc_is(doc, jdoc_get(doc, sampling, "seconds"), JNUMBER)
                           ? text(b, sampling, "seconds")
                           : NULL;
    double seconds = took ? strtod(took, NULL) : 0;
    uint64_t rounds;
    if (jdoc_u64(doc, jdoc_get(doc, sampling, "rounds"), &rounds) && rounds > 0 && seconds > 0 &&
        seconds < 1e9)
        b->report->period_ns = (uint64_t)(seconds * 1e9 / (double)rounds);
}

void read_dump(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    struct report_info *info = &b->report->info;
    uint32_t process = jdoc_get(doc, 0, "process");
    info->pid = text(b, process, "pid");
    info->path = text(b, process, "executable");
    info->arch = text(b, process, "arch");
    info->process = text(b, process, "name");
    info->date = text(b, 0, "time");
    read_sampling(b);
    uint32_t threads = jdoc_get(doc, 0, "threads");
    for (uint32_t t = jdoc_first(doc, threads); t != JNONE; t = jdoc_after(doc, threads, t)) {
        uint32_t stacks = jdoc_get(doc, t, "stacks");
        for (uint32_t s = jdoc_first(doc, stacks); s != JNONE; s = jdoc_after(doc, stacks, s))
            read_stack(b, t, s);
    }
    if (jdoc_is(doc, jdoc_get(doc, 0, "complete"), JFALSE))
        build_note(b, "the dump says itself that something is missing");
}
