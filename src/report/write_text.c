/* Names into text: everything before a line's function stays, a function more is a line more. */
#include "report/lines.h"
#include "report/write.h"

/* The line end that follows `pos`, or \n where the input ends. */
static void out_line_end(struct report_bytes *out, const struct report *r, size_t pos)
{
    size_t end = pos;
    while (end < r->text.size && r->text.data[end] == '\r')
        end++;
    if (end < r->text.size && r->text.data[end] == '\n')
        out_input(out, r, pos, end + 1);
    else
        out_text(out, "\n");
}

/* ---- numbered lines: .crash and sanitizers ---- */

struct number_field {
    size_t begin, digits, end; /* begin: of the number; digits: of its digits; end: behind blanks */
    int64_t value;
};

static struct number_field number_field(const struct report *r, size_t begin)
{
    struct cursor c = cursor_over(r->text, begin, r->text.size);
    struct number_field field = {.begin = begin};
    uint64_t value = 0;
    cursor_take(&c, '#');
    field.digits = c.pos;
    cursor_number(&c, &value);
    cursor_space(&c);
    field.end = c.pos;
    field.value = value > INT32_MAX ? INT32_MAX : (int64_t)value;
    return field;
}

/* As wide as before where blanks allow it: Apple's columns are fixed, a sanitizer's are not. */
static void out_number(struct report_bytes *out, const struct report *r, struct number_field field,
                       int64_t value)
{
    size_t before = out->size;
    out_input(out, r, field.begin, field.digits);
    out_format(out, "%lld", (long long)(value < 0 ? 0 : value));
    size_t width = r->kind == REPORT_CRASH ? field.end - field.begin : 0;
    size_t used = out->size - before;
    out_repeat(out, ' ', width > used + 1 ? width - used : 1);
}

/* The lines of a frame without new names get new numbers only. */
static void renumber(struct writer *w, const struct report_frame *frame)
{
    const struct report *r = w->report;
    struct cursor lines = cursor_over(r->text, frame->span.begin, frame->span.end), line;
    while (cursor_line(&lines, &line)) {
        cursor_skip(&line, " \t>");
        struct number_field field = number_field(r, line.pos);
        struct report_bytes *out = edit_begin(w);
        out_number(out, r, field, field.value + w->shift);
        edit_end(w, field.begin, field.end);
    }
}

static void out_sanitizer_name(struct report_bytes *out, const struct report_name *name)
{
    bool tail = name->flags & REPORT_TAIL_CALL; /* its runtime does not mark what is inlined */
    out_format(out, "in %s%s", tail ? name_mark(name) : "", name_shown(name));
    if (name->file)
        out_format(out, " %s", name->file);
    if (name->file && name->line)
        out_format(out, ":%u", name->line);
    if (name->file && name->line && name->column)
        out_format(out, ":%u", name->column);
}

/* `(image+0x12) (BuildId: ...)` stays where no source says more. */
static void out_module(struct report_bytes *out, const struct report *r,
                       const struct report_frame *frame)
{
    struct cursor rest = cursor_over(r->text, frame->item.end, frame->span.end);
    size_t open = cursor_find(&rest, " (");
    if (open != SIZE_MAX)
        out_input(out, r, open, rest.end);
}

/* Between address and function: as it was, one blank when nothing was. */
static void out_gap(struct report_bytes *out, const struct report *r,
                    const struct report_frame *frame)
{
    struct cursor gap = cursor_over(r->text, frame->item.end, frame->span.end);
    size_t begin = gap.pos;
    cursor_space(&gap);
    if (gap.pos > begin && r->kind == REPORT_CRASH)
        out_input(out, r, begin, gap.pos);
    else
        out_text(out, " ");
}

/* A list of bare addresses becomes lines as other threads have them. */
static void write_bare(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    const struct report_frame *frame = f->frame;
    bool first = f->number == r->threads[frame->thread].first_frame;
    const struct report_image *image =
        frame->image == REPORT_NONE ? NULL : &r->images[frame->image];
    if (first)
        w->bare = (struct bare_list){w->edit_count, false};
    w->bare.named |= f->count > 0;
    struct report_bytes *out = edit_begin(w);
    int64_t number = (int64_t)(f->number - r->threads[frame->thread].first_frame) + w->shift;
    size_t lines = f->count ? f->count : 1;
    for (size_t i = 0; i < lines; i++) {
        if (i > 0 || !first)
            out_line_end(out, r, r->text.size);
        out_format(out, "%-4lld%-30s\t0x%016llx ", (long long)number + (long long)i,
                   image ? image->name : "???", (unsigned long long)frame->address);
        if (f->count)
            out_apple_name(out, f, i);
        else if (image && frame->has_offset)
            out_format(out, "0x%llx + %llu", (unsigned long long)image->load,
                       (unsigned long long)frame->offset);
    }
    w->shift += (int64_t)lines - 1;
    edit_end(w, frame->span.begin, frame->span.end);
    const struct report_thread *thread = &r->threads[frame->thread];
    if (f->number == thread->first_frame + thread->frame_count - 1 && !w->bare.named)
        w->edit_count = w->bare.first_edit; /* nothing gained: it stays a list */
}

void write_numbered_frame(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    const struct report_frame *frame = f->frame;
    if (f->number == 0 || frame->thread != w->thread)
        w->shift = 0;
    w->thread = frame->thread;
    if (frame->node == LINES_BARE) {
        write_bare(w, f);
        return;
    }
    if (f->count == 0) {
        if (w->shift)
            renumber(w, frame);
        return;
    }
    struct number_field field = number_field(r, frame->item.begin);
    int64_t old_lines = frame->name_count ? frame->name_count : 1;
    int64_t number = field.value - (old_lines - 1) + w->shift;
    size_t line_begin = frame->item.begin;
    while (line_begin > frame->span.begin && r->text.data[line_begin - 1] != '\n')
        line_begin--;
    struct report_bytes *out = edit_begin(w);
    for (size_t i = 0; i < f->count; i++) {
        if (i > 0)
            out_line_end(out, r, frame->span.end);
        out_input(out, r, line_begin, frame->item.begin);
        out_number(out, r, field, number + (int64_t)i);
        out_input(out, r, field.end, frame->item.end);
        out_gap(out, r, frame);
        if (r->kind == REPORT_CRASH) {
            out_apple_name(out, f, i);
        } else {
            out_sanitizer_name(out, &f->names[i]);
            if (!f->names[i].file)
                out_module(out, r, frame);
        }
    }
    w->shift += (int64_t)f->count - old_lines;
    edit_end(w, frame->span.begin, frame->span.end);
}

/* ---- trees: sample and spindump ---- */

/* What a line of sample(1) has behind the function: the image, and from the bracket on. */
static void out_sample(struct report_bytes *out, const struct report *r,
                       const struct frame_names *f, size_t i)
{
    const struct report_name *name = &f->names[i], *outer = outer_name(f);
    struct cursor body = cursor_over(r->text, f->frame->item.begin, f->frame->item.end);
    size_t bracket = cursor_rfind(&body, "[0x"), in = cursor_find(&body, "  (in ");
    struct cursor image = body, tail = body;
    out_format(out, "%s%s", name_mark(name), name_shown(name));
    if (in != SIZE_MAX) {
        image.pos = in;
        size_t close = cursor_find(&image, ")");
        image.end = close == SIZE_MAX ? image.end : close + 1;
        out_input(out, r, image.pos, image.end);
    }
    if (bracket == SIZE_MAX)
        return;
    tail.pos = bracket;
    size_t close = cursor_find(&tail, "]");
    tail.end = close == SIZE_MAX ? tail.end : close + 1;
    bool several = cursor_find(&tail, ",") != SIZE_MAX;
    if (outer->has_offset && !(name->flags & REPORT_TAIL_CALL))
        out_format(out, " + %llu%s", (unsigned long long)outer->offset, several ? ",..." : "");
    out_text(out, "  ");
    out_input(out, r, tail.pos, tail.end);
    if (name->file && name->line)
        out_format(out, "  %s:%u", name->file, name->line);
    else if (name->file)
        out_format(out, "  %s", name->file);
}

/* spindump: `name + 12 (file.c:7 in Image + 3340)`, and what followed. */
static void out_spindump(struct report_bytes *out, const struct report *r,
                         const struct frame_names *f, size_t i)
{
    const struct report_name *name = &f->names[i], *outer = outer_name(f);
    struct cursor body = cursor_over(r->text, f->frame->item.begin, f->frame->item.end);
    size_t open = cursor_rfind(&body, " (");
    out_format(out, "%s%s", name_mark(name), name_shown(name));
    if (outer->has_offset && !(name->flags & REPORT_TAIL_CALL))
        out_format(out, " + %llu", (unsigned long long)outer->offset);
    if (open != SIZE_MAX) {
        struct cursor place = body;
        place.pos = open + 2;
        size_t in = cursor_rfind(&place, " in ");
        place.pos = in == SIZE_MAX ? place.pos : in + 4;
        out_text(out, " (");
        if (name->file && name->line)
            out_format(out, "%s:%u in ", name->file, name->line);
        else if (name->file)
            out_format(out, "%s in ", name->file);
        out_input(out, r, place.pos, place.end);
    }
    out_input(out, r, f->frame->item.end, f->frame->span.end);
}

/* Where the count begins, before which deeper lines get blanks. */
static size_t count_begin(const struct report *r, const struct report_frame *frame)
{
    size_t pos = frame->item.begin;
    while (pos > frame->span.begin && r->text.data[pos - 1] == ' ')
        pos--;
    while (pos > frame->span.begin && r->text.data[pos - 1] >= '0' && r->text.data[pos - 1] <= '9')
        pos--;
    if (pos > frame->span.begin && r->text.data[pos - 1] == '*')
        pos--;
    return pos;
}

/* A line of a list has no place for more than the function itself. */
static void write_repeated(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    if (f->count == 0)
        return;
    struct report_name function = *outer_name(f);
    function.file = NULL;
    struct frame_names alone = {f->number, f->frame, &function, 1};
    struct report_bytes *out = edit_begin(w);
    out_sample(out, r, &alone, 0);
    edit_end(w, f->frame->item.begin, f->frame->item.end);
}

/* The caller's line first: a function inlined into it stands one level deeper, with all that the
 * frame called below it. */
void write_tree_frame(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    const struct report_frame *frame = f->frame;
    uint32_t outer = 0;
    if (r->threads[frame->thread].order == REPORT_STACK) {
        write_repeated(w, f);
        return;
    }
    if (frame->parent != REPORT_NONE)
        outer = w->extra[frame->parent];
    w->extra[f->number] = outer + (f->count > 1 ? (uint32_t)f->count - 1 : 0);
    if (f->count == 0 && outer == 0)
        return;
    size_t count = count_begin(r, frame);
    struct report_bytes *out = edit_begin(w);
    if (f->count == 0) {
        out_repeat(out, ' ', (size_t)outer * 2);
        edit_end(w, count, count);
        return;
    }
    for (size_t i = f->count; i-- > 0;) {
        size_t level = outer + (f->count - 1 - i);
        if (i + 1 < f->count)
            out_line_end(out, r, frame->span.end);
        out_input(out, r, frame->span.begin, count);
        out_repeat(out, ' ', level * 2);
        out_input(out, r, count, frame->item.begin);
        if (r->kind == REPORT_SAMPLE)
            out_sample(out, r, f, i);
        else
            out_spindump(out, r, f, i);
    }
    edit_end(w, frame->span.begin, frame->span.end);
}

/* ---- perf script and lists ---- */

void write_perf_frame(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    const struct report_frame *frame = f->frame;
    struct cursor lines = cursor_over(r->text, frame->item.end, frame->span.end);
    struct cursor rest = lines; /* of the frame's own line: its source may follow */
    cursor_line(&lines, &rest);
    size_t dso = cursor_rfind(&rest, " (");
    struct report_bytes *out = edit_begin(w);
    for (size_t i = 0; i < f->count; i++) {
        const struct report_name *name = &f->names[i];
        bool outer = i + 1 == f->count;
        if (i > 0)
            out_line_end(out, r, frame->span.end);
        out_input(out, r, frame->item.begin, frame->item.end);
        out_format(out, " %s", name_shown(name));
        if (outer && name->has_offset)
            out_format(out, "+0x%llx", (unsigned long long)name->offset);
        if (!outer)
            out_text(out, name->flags & REPORT_TAIL_CALL ? " (tail call)" : " (inlined)");
        else if (dso != SIZE_MAX)
            out_input(out, r, dso, rest.end);
        if (!name->file)
            continue;
        out_line_end(out, r, frame->span.end);
        out_format(out, "  %s:%u", name->file, name->line);
    }
    edit_end(w, frame->span.begin, frame->span.end);
}

/* As atos: `name (in Image) (file.c:7)`, behind the address; one line each. */
void write_list_frame(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    const struct report_frame *frame = f->frame;
    struct report_bytes *out = edit_begin(w);
    for (size_t i = 0; i < f->count; i++) {
        const struct report_name *name = &f->names[i], *outer = outer_name(f);
        if (i > 0)
            out_line_end(out, r, frame->span.end);
        if (i > 0)
            out_input(out, r, frame->item.begin, frame->item.end);
        out_format(out, " %s%s", name_mark(name), name_shown(name));
        if (frame->image != REPORT_NONE)
            out_format(out, " (in %s)", r->images[frame->image].name);
        if (name->file && name->line)
            out_format(out, " (%s:%u)", name->file, name->line);
        else if (outer->has_offset)
            out_format(out, " + %llu", (unsigned long long)outer->offset);
        out_input(out, r, frame->item.end, frame->span.end);
    }
    edit_end(w, frame->item.end, frame->span.end);
}
