/*
 * Apple .ips of one process (Apple: "Interpreting the JSON format of a crash report"). Frames say
 * image and offset; entries marked `inline` belong to the next that is not, which is the frame.
 */
#include "report/build.h"

static uint32_t read_image(struct report_build *b, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    struct report_image image = {
        .name = build_string(b, doc, jdoc_get(doc, node, "name")),
        .path = build_string(b, doc, jdoc_get(doc, node, "path")),
        .arch = build_string(b, doc, jdoc_get(doc, node, "arch")),
    };
    image.has_load = jdoc_u64(doc, jdoc_get(doc, node, "base"), &image.load);
    jdoc_u64(doc, jdoc_get(doc, node, "size"), &image.size);
    uint32_t uuid = jdoc_get(doc, node, "uuid");
    if (jdoc_is(doc, uuid, JSTRING))
        build_id(&image,
                 cursor_over(doc->text, doc->nodes[uuid].begin + 1, doc->nodes[uuid].end - 1));
    build_name_of_path(&image);
    return build_image(b, &image);
}

static void read_known(struct report_build *b, struct report_frame *frame, uint32_t node,
                       bool inlined)
{
    const struct jdoc *doc = &b->body;
    const char *symbol = build_string(b, doc, jdoc_get(doc, node, "symbol"));
    const char *file = build_string(b, doc, jdoc_get(doc, node, "sourceFile"));
    if (!symbol && !file && !inlined && frame->name_count == 0)
        return;
    struct report_name *name = build_known(b, frame);
    if (!name)
        return;
    name->function = symbol;
    name->file = file;
    name->has_offset = jdoc_u64(doc, jdoc_get(doc, node, "symbolLocation"), &name->offset);
    name->line = build_line(b, jdoc_get(doc, node, "sourceLine"));
    if (jdoc_is(doc, jdoc_get(doc, node, "tailCall"), JTRUE))
        name->flags = REPORT_TAIL_CALL;
    else if (inlined)
        name->flags = REPORT_INLINED;
}

static void locate(struct report_build *b, struct report_frame *frame, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    uint64_t image;
    if (jdoc_u64(doc, jdoc_get(doc, node, "imageIndex"), &image) && image < b->report->image_count)
        frame->image = (uint32_t)image;
    frame->has_offset = jdoc_u64(doc, jdoc_get(doc, node, "imageOffset"), &frame->offset);
    const struct report_image *own =
        frame->image == REPORT_NONE ? NULL : &b->report->images[frame->image];
    if (frame->has_offset && own && own->load == 0 && own->id_size == 0) {
        frame->image = REPORT_NONE; /* of no image: the offset is the address */
        frame->has_offset = false;
        frame->address = frame->offset;
        frame->has_address = true;
    }
}

/* Entries that do not stand for a frame of their own lead to the next one that does. */
static bool leads(const struct jdoc *doc, uint32_t node)
{
    return jdoc_is(doc, jdoc_get(doc, node, "inline"), JTRUE) ||
           jdoc_is(doc, jdoc_get(doc, node, "tailCall"), JTRUE);
}

static void read_frames(struct report_build *b, uint32_t array)
{
    const struct jdoc *doc = &b->body;
    struct report_frame *open = NULL;
    for (uint32_t i = jdoc_first(doc, array); i != JNONE; i = jdoc_after(doc, array, i)) {
        if (!jdoc_is(doc, i, JOBJECT))
            continue;
        struct report_frame *frame = open ? open : build_frame(b);
        if (!frame)
            return;
        if (!open)
            frame->span.begin = doc->nodes[i].begin;
        frame->span.end = doc->nodes[i].end;
        frame->node = i;
        bool lead = leads(doc, i);
        read_known(b, frame, i, lead);
        open = lead ? frame : NULL;
        if (!lead || jdoc_after(doc, array, i) == JNONE)
            locate(b, frame, i);
    }
}

static void read_thread(struct report_build *b, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    struct report_thread *thread = build_thread(b, REPORT_STACK);
    thread->id = build_string(b, doc, jdoc_get(doc, node, "id"));
    thread->name = build_string(b, doc, jdoc_get(doc, node, "name"));
    thread->queue = build_string(b, doc, jdoc_get(doc, node, "queue"));
    thread->crashed = jdoc_is(doc, jdoc_get(doc, node, "triggered"), JTRUE);
    if (thread->crashed) {
        uint32_t legacy = jdoc_get(doc, jdoc_get(doc, 0, "legacyInfo"), "threadTriggered");
        if (!thread->name)
            thread->name = build_string(b, doc, jdoc_get(doc, legacy, "name"));
        if (!thread->queue)
            thread->queue = build_string(b, doc, jdoc_get(doc, legacy, "queue"));
    }
    read_frames(b, jdoc_get(doc, node, "frames"));
}

static void read_exception_backtrace(struct report_build *b, uint32_t array)
{
    struct report *r = b->report;
    build_thread(b, REPORT_STACK)->exception = true;
    size_t first = r->frame_count;
    read_frames(b, array);
    if (first < r->frame_count)
        r->frames[first].kind = REPORT_RETURN; /* recorded by the one who threw */
}

static const char *exception_text(struct report_build *b, uint32_t exception)
{
    const struct jdoc *doc = &b->body;
    const char *type = build_string(b, doc, jdoc_get(doc, exception, "type"));
    const char *signal = build_string(b, doc, jdoc_get(doc, exception, "signal"));
    return type && signal ? build_format(b, "%s (%s)", type, signal) : type ? type : signal;
}

static const char *termination_text(struct report_build *b, uint32_t termination)
{
    const struct jdoc *doc = &b->body;
    const char *space = build_string(b, doc, jdoc_get(doc, termination, "namespace"));
    const char *indicator = build_string(b, doc, jdoc_get(doc, termination, "indicator"));
    uint64_t code;
    if (!space || !jdoc_u64(doc, jdoc_get(doc, termination, "code"), &code))
        return indicator;
    return build_format(b, "%s %llu%s%s", space, (unsigned long long)code, indicator ? " " : "",
                        indicator ? indicator : "");
}

static void read_info(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    struct report_info *info = &b->report->info;
    const struct {
        const char **field;
        const char *key;
    } fields[] = {
        {&info->process, "procName"}, {&info->path, "procPath"},     {&info->pid, "pid"},
        {&info->arch, "cpuType"},     {&info->device, "modelCode"},  {&info->incident, "incident"},
        {&info->date, "captureTime"}, {&info->bug_type, "bug_type"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *text = build_string(b, doc, jdoc_get(doc, 0, fields[i].key));
        if (text)
            *fields[i].field = text;
    }
    uint32_t bundle = jdoc_get(doc, 0, "bundleInfo"), os = jdoc_get(doc, 0, "osVersion");
    const char *short_version =
        build_string(b, doc, jdoc_get(doc, bundle, "CFBundleShortVersionString"));
    const char *build = build_string(b, doc, jdoc_get(doc, bundle, "CFBundleVersion"));
    const char *identifier = build_string(b, doc, jdoc_get(doc, bundle, "CFBundleIdentifier"));
    const char *train = build_string(b, doc, jdoc_get(doc, os, "train"));
    const char *os_build = build_string(b, doc, jdoc_get(doc, os, "build"));
    info->version = short_version ? short_version : info->version;
    info->build = build ? build : info->build;
    info->bundle = identifier ? identifier : info->bundle;
    if (train)
        info->os = os_build && *os_build ? build_format(b, "%s (%s)", train, os_build) : train;
    uint32_t exception = jdoc_get(doc, 0, "exception");
    info->exception = exception_text(b, exception);
    info->reason = build_string(b, doc, jdoc_get(doc, exception, "subtype"));
    info->termination = termination_text(b, jdoc_get(doc, 0, "termination"));
    b->pointer_auth = info->arch && strncmp(info->arch, "ARM", 3) == 0;
}

void read_ips(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    read_info(b);
    uint32_t images = jdoc_get(doc, 0, "usedImages");
    for (uint32_t i = jdoc_first(doc, images); i != JNONE; i = jdoc_after(doc, images, i))
        read_image(b, i);
    for (uint32_t i = jdoc_first(doc, 0); i != JNONE; i = jdoc_after(doc, 0, i)) {
        uint32_t value = i + 1;
        if (jdoc_key_is(doc, i, "lastExceptionBacktrace"))
            read_exception_backtrace(b, value);
        if (!jdoc_key_is(doc, i, "threads") || !jdoc_is(doc, value, JARRAY))
            continue;
        for (uint32_t t = jdoc_first(doc, value); t != JNONE; t = jdoc_after(doc, value, t))
            read_thread(b, t);
    }
}
