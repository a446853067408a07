#include "report/v5.h"
#include "base/failure.h"

#include "report/write.h"

#include <stdio.h>

struct job { /* its frames number its own images */
    struct report_build *b;
    uint32_t first_image, image_count;
};

static void read_image(struct report_build *b, uint32_t pair)
{
    const struct jdoc *doc = &b->body;
    uint32_t id = jdoc_at(doc, pair, 1);
    struct report_image image = {
        .name = build_string(b, doc, jdoc_at(doc, pair, 0)),
        .breakpad = build_string(b, doc, id),
    };
    if (jdoc_is(doc, id, JSTRING)) { /* 32 digits and an age */
        size_t begin = doc->nodes[id].begin + 1, end = doc->nodes[id].end - 1;
        if (end - begin >= 32)
            build_id(&image, cursor_over(doc->text, begin, begin + 32));
    }
    build_image(b, &image);
}

static void read_frame(struct job *job, uint32_t pair)
{
    struct report_build *b = job->b;
    const struct jdoc *doc = &b->body;
    struct report_frame *frame = build_frame(b);
    if (!frame)
        return;
    uint64_t image;
    frame->kind = REPORT_EXACT;
    frame->node = pair;
    frame->span = (struct report_span){doc->nodes[pair].begin, doc->nodes[pair].end};
    if (jdoc_u64(doc, jdoc_at(doc, pair, 0), &image) && image < job->image_count)
        frame->image = job->first_image + (uint32_t)image;
    frame->has_offset = jdoc_u64(doc, jdoc_at(doc, pair, 1), &frame->offset);
}

static void read_job(struct report_build *b, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    struct job job = {.b = b, .first_image = (uint32_t)b->report->image_count};
    uint32_t map = jdoc_get(doc, node, "memoryMap"), stacks = jdoc_get(doc, node, "stacks");
    for (uint32_t i = jdoc_first(doc, map); i != JNONE; i = jdoc_after(doc, map, i))
        read_image(b, i);
    job.image_count = (uint32_t)b->report->image_count - job.first_image;
    for (uint32_t s = jdoc_first(doc, stacks); s != JNONE; s = jdoc_after(doc, stacks, s)) {
        build_thread(b, REPORT_STACK);
        for (uint32_t i = jdoc_first(doc, s); i != JNONE; i = jdoc_after(doc, s, i))
            read_frame(&job, i);
    }
    b->group++;
}

void read_v5(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    uint32_t jobs = jdoc_get(doc, 0, "jobs");
    if (jobs == JNONE) {
        read_job(b, 0);
        return;
    }
    if (jdoc_is(doc, jobs, JARRAY))
        for (uint32_t i = jdoc_first(doc, jobs); i != JNONE; i = jdoc_after(doc, jobs, i))
            read_job(b, i);
}

static fw_error check_job(const struct jdoc *doc, uint32_t job, struct fw_failure *why)
{
    uint32_t map = jdoc_get(doc, job, "memoryMap"), stacks = jdoc_get(doc, job, "stacks");
    if (!jdoc_is(doc, map, JARRAY) || !jdoc_is(doc, stacks, JARRAY))
        return failure_say(why, FW_ERR_CORRUPT, 0, "a job lacks memoryMap or stacks");
    size_t images = 0;
    for (uint32_t i = jdoc_first(doc, map); i != JNONE; i = jdoc_after(doc, map, i), images++)
        if (!jdoc_is(doc, jdoc_at(doc, i, 0), JSTRING) ||
            !jdoc_is(doc, jdoc_at(doc, i, 1), JSTRING))
            return failure_say(why, FW_ERR_CORRUPT, 0, "entry %zu of memoryMap is not [name, id]",
                               images);
    for (uint32_t s = jdoc_first(doc, stacks); s != JNONE; s = jdoc_after(doc, stacks, s)) {
        if (!jdoc_is(doc, s, JARRAY))
            return failure_say(why, FW_ERR_CORRUPT, 0, "a stack at byte %zu is not an array",
                               doc->nodes[s].begin);
        for (uint32_t i = jdoc_first(doc, s); i != JNONE; i = jdoc_after(doc, s, i)) {
            uint64_t image, offset;
            if (!jdoc_u64(doc, jdoc_at(doc, i, 0), &image) ||
                !jdoc_u64(doc, jdoc_at(doc, i, 1), &offset) ||
                (image >= images && image != UINT64_MAX))
                return failure_say(why, FW_ERR_CORRUPT, 0,
                                   "the frame at byte %zu is not [module, offset]",
                                   doc->nodes[i].begin);
        }
    }
    return FW_OK;
}

fw_error v5_check(const struct report *r, struct fw_failure *why)
{
    if (r->kind != REPORT_V5)
        return failure_say(why, FW_ERR_FORMAT, 0, "not a symbolication request");
    if (!r->complete)
        return failure_say(why, FW_ERR_CORRUPT, 0, "%s", r->note);
    const struct jdoc *doc = &r->build->body;
    uint32_t jobs = jdoc_get(doc, 0, "jobs");
    if (jobs == JNONE)
        return check_job(doc, 0, why);
    if (!jdoc_is(doc, jobs, JARRAY))
        return failure_say(why, FW_ERR_CORRUPT, 0, "jobs is not an array");
    fw_error error = FW_OK;
    for (uint32_t i = jdoc_first(doc, jobs); i != JNONE && !error; i = jdoc_after(doc, jobs, i))
        error = check_job(doc, i, why);
    return error;
}

static void out_source(struct report_bytes *out, const struct report_name *name)
{
    if (name->file) {
        out_text(out, ",\"file\":");
        out_json(out, name->file);
    }
    if (name->line)
        out_format(out, ",\"line\":%u", name->line);
}

static void out_functions(struct report_bytes *out, const struct frame_names *f)
{
    const struct report_name *outer = outer_name(f);
    out_text(out, ",\"function\":");
    out_json(out, name_shown(outer));
    if (outer->has_offset)
        out_format(out, ",\"function_offset\":\"0x%llx\"", (unsigned long long)outer->offset);
    if (outer->size)
        out_format(out, ",\"function_size\":\"0x%llx\"", (unsigned long long)outer->size);
    out_source(out, outer);
    if (f->count < 2)
        return;
    out_text(out, ",\"inlines\":[");
    for (size_t i = 0; i + 1 < f->count; i++) {
        out_format(out, "%s{\"function\":", i ? "," : "");
        out_json(out, name_shown(&f->names[i]));
        out_source(out, &f->names[i]);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void out_frame(struct report_bytes *out, const struct report *r, const struct frame_names *f,
                      uint32_t number)
{
    const struct report_frame *frame = f->frame;
    out_format(out, "%s{\"frame\":%u,\"module_offset\":\"0x%llx\",\"module\":", number ? "," : "",
               number, (unsigned long long)frame->offset);
    out_json(out, frame->image == REPORT_NONE ? "<unknown>" : r->images[frame->image].name);
    if (f->count)
        out_functions(out, f);
    out_text(out, "}");
}

static void out_found(struct report_bytes *out, const struct report *r, uint32_t group,
                      v5_find find, void *context, size_t *image)
{
    bool first = true;
    out_text(out, "],\"found_modules\":{");
    for (; *image < r->image_count && r->images[*image].group == group; ++*image) {
        const struct report_image *each = &r->images[*image];
        enum v5_found found = find ? find(context, r, (uint32_t)*image) : V5_NOT_ASKED;
        struct report_bytes key = {0};
        out_format(&key, "%s/%s", each->name, each->breakpad ? each->breakpad : "");
        out_text(out, first ? "" : ",");
        if (key.data)
            out_json(out, key.data);
        out->failed |= key.failed;
        report_bytes_free(&key);
        out_text(out, found == V5_FOUND ? ":true" : found == V5_NOT_FOUND ? ":false" : ":null");
        first = false;
    }
    out_text(out, "}}");
}

static uint32_t job_count(const struct report *r)
{
    return r->build->group;
}

fw_error v5_write_answer(const struct report *r, report_resolve resolve, v5_find find,
                         void *context, struct report_bytes *out)
{
    size_t image = 0, thread = 0;
    out_text(out, "{\"results\":[");
    for (uint32_t group = 0; group < job_count(r); group++) {
        out_text(out, group ? ",{\"stacks\":[" : "{\"stacks\":[");
        bool first = true;
        for (; thread < r->thread_count && r->threads[thread].group == group; thread++) {
            const struct report_thread *stack = &r->threads[thread];
            out_text(out, first ? "[" : ",[");
            first = false;
            for (uint32_t i = 0; i < stack->frame_count; i++) {
                struct frame_names f = frame_names(r, resolve, context, stack->first_frame + i);
                out_frame(out, r, &f, i);
            }
            out_text(out, "]");
        }
        out_found(out, r, group, find, context, &image);
    }
    out_text(out, "]}");
    return out->failed ? FW_ERR_MEMORY : FW_OK;
}
