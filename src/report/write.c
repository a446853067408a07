#include "report/write.h"

#include "base/array.h"
#include "report/lines.h"

struct report_bytes *edit_begin(struct writer *w)
{
    w->open = w->pool.size;
    return &w->pool;
}

void edit_end(struct writer *w, size_t begin, size_t end)
{
    if (!array_room(&w->edits, &w->edit_capacity, w->edit_count, sizeof *w->edits)) {
        w->failed = true;
        return;
    }
    w->edits[w->edit_count] =
        (struct edit){begin, end, w->open, w->pool.size - w->open, w->edit_count};
    w->edit_count++;
}

const char *name_shown(const struct report_name *name)
{
    return name->function ? name->function : "???";
}

const char *name_mark(const struct report_name *name)
{
    return name->flags & REPORT_TAIL_CALL ? "[tail call] "
           : name->flags & REPORT_INLINED ? "[inlined] "
                                          : "";
}

const struct report_name *outer_name(const struct frame_names *f)
{
    return &f->names[f->count - 1];
}

void out_apple_name(struct report_bytes *out, const struct frame_names *f, size_t i)
{
    const struct report_name *name = &f->names[i], *outer = outer_name(f);
    out_format(out, "%s%s", name_mark(name), name_shown(name));
    if (outer->has_offset && !(name->flags & REPORT_TAIL_CALL))
        out_format(out, " + %llu", (unsigned long long)outer->offset);
    if (name->file && name->line)
        out_format(out, " (%s:%u)", name->file, name->line);
    else if (name->file)
        out_format(out, " (%s)", name->file);
}

/* Of a tree that has its inlined functions already, these stay. */
static size_t resolve_frame(const struct report *r, report_resolve resolve, void *context,
                            uint32_t number, const struct report_name **names)
{
    const struct report_frame *frame = &r->frames[number];
    bool tree_text = r->kind == REPORT_SAMPLE || r->kind == REPORT_SPINDUMP;
    if (!resolve || (tree_text && frame->node == LINES_MARKED))
        return 0;
    return resolve(context, r, number, names);
}

struct frame_names frame_names(const struct report *r, report_resolve resolve, void *context,
                               uint32_t number)
{
    const struct report_frame *frame = &r->frames[number];
    struct frame_names f = {.number = number, .frame = frame};
    f.count = resolve_frame(r, resolve, context, number, &f.names);
    if (f.count == 0 && frame->name_count) {
        f.names = &r->names[frame->first_name];
        f.count = frame->name_count;
    }
    return f;
}

static int compare_edits(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_edits(struct writer *w)
{
    for (size_t i = 1; i < w->edit_count; i++) {
        if (w->edits[i].begin >= w->edits[i - 1].begin)
            continue;
        qsort(w->edits, w->edit_count, sizeof *w->edits, compare_edits);
        return;
    }
}

/* An edit that would reach back into what is already written is left out. */
static void apply(struct writer *w, struct report_bytes *out)
{
    size_t done = 0;
    sort_edits(w);
    for (size_t i = 0; i < w->edit_count; i++) {
        const struct edit *edit = &w->edits[i];
        if (edit->begin < done)
            continue;
        out_input(out, w->report, done, edit->begin);
        out_bytes(out, w->pool.data + edit->text, edit->size);
        done = edit->end;
    }
    out_input(out, w->report, done, w->report->text.size);
}

static void (*const writers[])(struct writer *w, const struct frame_names *f) = {
    [REPORT_IPS] = write_ips_frame,
    [REPORT_STACKSHOT] = write_stackshot_frame,
    [REPORT_CRASH] = write_numbered_frame,
    [REPORT_METRICKIT] = write_member_frame,
    [REPORT_SAMPLE] = write_tree_frame,
    [REPORT_SPINDUMP] = write_tree_frame,
    [REPORT_KSCRASH] = write_member_frame,
    [REPORT_METER] = write_meter_frame,
    [REPORT_DUMP] = write_member_frame,
    [REPORT_SANITIZER] = write_numbered_frame,
    [REPORT_PERF] = write_perf_frame,
    [REPORT_LIST] = write_list_frame,
    [REPORT_V5] = NULL,
    [REPORT_FRAMEWALK] = NULL, /* its names are written in other forms only */
};

fw_error report_write(const struct report *r, report_resolve resolve, void *context,
                      struct report_bytes *out)
{
    struct writer w = {.report = r, .resolve = resolve, .context = context};
    if (r->kind == REPORT_SAMPLE || r->kind == REPORT_SPINDUMP)
        w.extra = calloc(r->frame_count + 1, sizeof *w.extra);
    w.failed = (r->kind == REPORT_SAMPLE || r->kind == REPORT_SPINDUMP) && !w.extra;
    bool also_unnamed = w.extra || r->kind == REPORT_CRASH || r->kind == REPORT_SANITIZER;
    for (size_t i = 0; resolve && writers[r->kind] && i < r->frame_count && !w.failed; i++) {
        struct frame_names f = {.number = (uint32_t)i, .frame = &r->frames[i]};
        f.count = resolve_frame(r, resolve, context, (uint32_t)i, &f.names);
        if (f.count || also_unnamed)
            writers[r->kind](&w, &f);
    }
    if (!w.failed && !w.pool.failed)
        apply(&w, out);
    bool failed = w.failed || w.pool.failed || out->failed;
    report_bytes_free(&w.pool);
    free(w.edits);
    free(w.extra);
    return failed ? FW_ERR_MEMORY : FW_OK;
}
