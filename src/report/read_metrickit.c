/*
 * MetricKit: MXDiagnosticPayload, one diagnostic, or a bare MXCallStackTree; also the logs of the
 * App Store Connect API. Frames nest in each other.
 *
 * `offsetIntoBinaryTextSegment` is what it says, except for crashes of iOS 14, 15 and macOS 12,
 * where it is the load address. Load addresses are aligned to pages, and never small.
 */
#include "report/build.h"

#include "base/array.h"

enum { PAGE = 4096 };

struct place { /* one level of the walk through a tree */
    uint32_t array, next;
    uint32_t parent; /* frame */
};

struct trees {
    struct report_build *b;
    struct place *stack;
    size_t depth, capacity;
    bool crash, load_addresses;
    const char *arch;
};

static bool old_system(const char *os)
{
    static const char *const prefixes[] = {"iPhone OS 14", "iPhone OS 15", "iOS 14", "iOS 15",
                                           "macOS 12"};
    for (size_t i = 0; os && i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(os, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void locate(struct trees *t, struct report_frame *frame, uint32_t node)
{
    struct report_build *b = t->b;
    const struct jdoc *doc = &b->body;
    struct report_image image = {.arch = t->arch};
    image.name = build_string(b, doc, jdoc_get(doc, node, "binaryName"));
    uint32_t uuid = jdoc_get(doc, node, "binaryUUID");
    if (jdoc_is(doc, uuid, JSTRING))
        build_id(&image,
                 cursor_over(doc->text, doc->nodes[uuid].begin + 1, doc->nodes[uuid].end - 1));
    uint64_t offset;
    frame->has_address = jdoc_u64(doc, jdoc_get(doc, node, "address"), &frame->address);
    if (jdoc_u64(doc, jdoc_get(doc, node, "offsetIntoBinaryTextSegment"), &offset)) {
        bool is_load = offset % PAGE == 0 && offset >= PAGE && frame->has_address &&
                       offset <= frame->address &&
                       (t->load_addresses || offset >= UINT64_C(1) << 32);
        frame->has_offset = true;
        frame->offset = is_load ? frame->address - offset : offset;
        image.has_load = frame->has_address && frame->address >= frame->offset;
        image.load = image.has_load ? frame->address - frame->offset : 0;
    }
    if (image.name || image.id_size)
        frame->image = build_intern(b, &image);
}

static bool push(struct trees *t, uint32_t array, uint32_t parent)
{
    if (!array_room(&t->stack, &t->capacity, t->depth, sizeof *t->stack)) {
        t->b->error = FW_ERR_MEMORY;
        return false;
    }
    t->stack[t->depth++] = (struct place){array, jdoc_first(&t->b->body, array), parent};
    return true;
}

/* All frames below `roots`, parents before children. */
static void read_tree(struct trees *t, uint32_t roots)
{
    struct report_build *b = t->b;
    const struct jdoc *doc = &b->body;
    t->depth = 0;
    if (!push(t, roots, REPORT_NONE))
        return;
    while (t->depth > 0) {
        struct place *place = &t->stack[t->depth - 1];
        uint32_t node = place->next;
        if (node == JNONE) {
            t->depth--;
            continue;
        }
        place->next = jdoc_after(doc, place->array, node);
        if (!jdoc_is(doc, node, JOBJECT))
            continue;
        struct report_frame *frame = build_frame(b);
        if (!frame)
            return;
        uint32_t number = (uint32_t)b->report->frame_count - 1;
        frame->parent = place->parent;
        frame->node = node;
        frame->span = (struct report_span){doc->nodes[node].begin, doc->nodes[node].end};
        jdoc_u64(doc, jdoc_get(doc, node, "sampleCount"), &frame->samples);
        locate(t, frame, node);
        build_symbol(b, frame, node);
        if (!push(t, jdoc_get(doc, node, "subFrames"), number))
            return;
    }
}

static bool is_outermost(const struct report *r, const struct report_frame *frame)
{
    const char *name = frame->image == REPORT_NONE ? "" : r->images[frame->image].name;
    return strcmp(name, "dyld") == 0 || strcmp(name, "libdyld.dylib") == 0 ||
           strcmp(name, "libsystem_pthread.dylib") == 0;
}

/*
 * Which way a tree nests is documented nowhere. Crashes nest callers inside callees. Else: an
 * outermost library at the root or at the end of the first branch decides; then a branch does,
 * because stacks that are merged branch towards the callee.
 */
static enum report_order find_order(const struct trees *t, const struct report_thread *thread)
{
    const struct report *r = t->b->report;
    if (t->crash || thread->frame_count == 0)
        return REPORT_CALLEES;
    const struct report_frame *frames = &r->frames[thread->first_frame];
    if (is_outermost(r, &frames[0]) && thread->frame_count > 1)
        return REPORT_CALLERS;
    uint32_t last = 0; /* of the first branch */
    bool branches = false;
    for (uint32_t i = 1; i < thread->frame_count; i++) {
        if (frames[i].parent == thread->first_frame + last && last == i - 1)
            last = i;
        else if (frames[i].parent != REPORT_NONE)
            branches = true;
    }
    if (is_outermost(r, &frames[last]))
        return REPORT_CALLEES;
    return branches ? REPORT_CALLERS : REPORT_CALLEES;
}

/* One stack that is spelled as a list: several roots without anything inside. */
static bool is_flat(const struct report *r, const struct report_thread *thread)
{
    for (uint32_t i = 0; i < thread->frame_count; i++)
        if (r->frames[thread->first_frame + i].parent != REPORT_NONE)
            return false;
    return thread->frame_count > 1;
}

static void read_call_stack_tree(struct trees *t, uint32_t tree)
{
    struct report_build *b = t->b;
    const struct jdoc *doc = &b->body;
    struct report *r = b->report;
    uint32_t stacks = jdoc_get(doc, tree, "callStacks");
    bool per_thread = !jdoc_is(doc, jdoc_get(doc, tree, "callStackPerThread"), JFALSE);
    if (!jdoc_is(doc, stacks, JARRAY))
        return;
    for (uint32_t i = jdoc_first(doc, stacks); i != JNONE; i = jdoc_after(doc, stacks, i)) {
        struct report_thread *thread = build_thread(b, REPORT_CALLEES);
        thread->crashed = jdoc_is(doc, jdoc_get(doc, i, "threadAttributed"), JTRUE);
        read_tree(t, jdoc_get(doc, i, "callStackRootFrames"));
        if (b->error)
            return;
        thread = &r->threads[r->thread_count - 1];
        thread->order =
            per_thread && is_flat(r, thread) ? REPORT_STACK : (uint8_t)find_order(t, thread);
    }
}

static void read_meta(struct trees *t, uint32_t meta)
{
    struct report_build *b = t->b;
    const struct jdoc *doc = &b->body;
    struct report_info *info = &b->report->info;
    const char *os = build_string(b, doc, jdoc_get(doc, meta, "osVersion"));
    t->arch = build_string(b, doc, jdoc_get(doc, meta, "platformArchitecture"));
    t->load_addresses = t->crash && old_system(os);
    b->pointer_auth |= t->arch && strncmp(t->arch, "arm64", 5) == 0;
    if (!os || info->os)
        return;
    info->os = os;
    info->arch = t->arch;
    info->device = build_string(b, doc, jdoc_get(doc, meta, "deviceType"));
    info->version = build_string(b, doc, jdoc_get(doc, meta, "appVersion"));
    info->build = build_string(b, doc, jdoc_get(doc, meta, "appBuildVersion"));
    info->bundle = build_string(b, doc, jdoc_get(doc, meta, "bundleIdentifier"));
    info->pid = build_string(b, doc, jdoc_get(doc, meta, "pid"));
    info->termination = build_string(b, doc, jdoc_get(doc, meta, "terminationReason"));
    info->reason = build_string(b, doc, jdoc_get(doc, meta, "hangDuration"));
    info->exception = build_string(b, doc, jdoc_get(doc, meta, "exceptionType"));
}

static void read_diagnostic(struct trees *t, uint32_t node)
{
    const struct jdoc *doc = &t->b->body;
    uint32_t tree = jdoc_get(doc, node, "callStackTree");
    read_meta(t, jdoc_get(doc, node, "diagnosticMetaData"));
    if (jdoc_is(doc, tree, JARRAY)) /* App Store Connect */
        for (uint32_t i = jdoc_first(doc, tree); i != JNONE; i = jdoc_after(doc, tree, i))
            read_call_stack_tree(t, i);
    else
        read_call_stack_tree(t, tree);
    t->b->group++;
}

static void read_payload(struct trees *t, uint32_t node)
{
    const struct jdoc *doc = &t->b->body;
    if (!jdoc_is(doc, node, JOBJECT))
        return;
    if (jdoc_get(doc, node, "callStacks") != JNONE) {
        read_call_stack_tree(t, node);
        return;
    }
    if (jdoc_get(doc, node, "callStackTree") != JNONE) {
        read_diagnostic(t, node);
        return;
    }
    for (uint32_t i = jdoc_first(doc, node); i != JNONE; i = jdoc_after(doc, node, i)) {
        uint32_t list = i + 1;
        t->crash = jdoc_key_is(doc, i, "crashDiagnostics");
        if (!jdoc_is(doc, list, JARRAY))
            continue;
        bool products = jdoc_key_is(doc, i, "productData");
        for (uint32_t d = jdoc_first(doc, list); d != JNONE; d = jdoc_after(doc, list, d)) {
            uint32_t logs = products ? jdoc_get(doc, d, "diagnosticLogs") : JNONE;
            if (!products)
                read_diagnostic(t, d);
            for (uint32_t l = jdoc_first(doc, logs); l != JNONE; l = jdoc_after(doc, logs, l))
                read_diagnostic(t, l);
        }
    }
}

void read_metrickit(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    struct trees t = {.b = b};
    b->report->info.date = build_string(b, doc, jdoc_get(doc, 0, "timeStampEnd"));
    if (jdoc_is(doc, 0, JARRAY))
        for (uint32_t i = jdoc_first(doc, 0); i != JNONE; i = jdoc_after(doc, 0, i))
            read_payload(&t, i);
    else
        read_payload(&t, 0);
    free(t.stack);
}
