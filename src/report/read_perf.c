/*
 * perf script. A line of an event, then its call chain, innermost first:
 *
 *     a.out 4242 100.1:     250000 cycles:
 *     	    55d0c1a2b3 [unknown] (/bin/a.out)
 *     	    7f12345678 __libc_start_main+0x80 (/usr/lib/libc.so.6+0x27a80)
 *
 * Frames say no load address; lines of PERF_RECORD_MMAP (--show-mmap-events) do, and so do offsets
 * (-F +dsoff). Chains unwound by perf carry addresses that are already moved back; to move them
 * once more still hits the same call, since a call is longer than that.
 */
#include "report/apple_text.h"

struct perf_line {
    uint64_t address;
    struct cursor symbol, dso; /* without brackets */
    bool inlined;
    size_t head_end;
};

static bool read_head(struct cursor line, struct perf_line *p)
{
    if (cursor_peek(&line) != ' ' && cursor_peek(&line) != '\t')
        return false;
    cursor_space(&line);
    size_t begin = line.pos;
    if (!cursor_hex(&line, &p->address) || line.pos - begin < 4 || cursor_peek(&line) != ' ')
        return false;
    p->head_end = line.pos;
    line = cursor_trim(line);
    if (line.end == line.pos || line.data[line.end - 1] != ')')
        return false;
    size_t open = cursor_rfind(&line, " (");
    if (open == SIZE_MAX)
        return false;
    p->symbol = p->dso = line;
    p->symbol.end = open;
    p->dso.pos = open + 2;
    p->dso.end--;
    p->inlined = cursor_left(&p->dso) == strlen("inlined") && cursor_starts(&p->dso, "inlined");
    return true;
}

bool text_is_perf(struct cursor line)
{
    struct perf_line p;
    return cursor_find(&line, "PERF_RECORD_") != SIZE_MAX || read_head(line, &p);
}

static void read_symbol(struct report_build *b, struct report_frame *frame,
                        const struct perf_line *p)
{
    struct cursor name = p->symbol, offset = p->symbol;
    if (cursor_starts(&name, "[unknown]") || cursor_left(&name) == 0)
        return;
    struct report_name *known = build_known(b, frame);
    if (!known)
        return;
    size_t plus = cursor_rfind(&name, "+0x");
    if (plus != SIZE_MAX) {
        offset.pos = plus + 1;
        known->has_offset = cursor_address(&offset, &known->offset) && cursor_left(&offset) == 0;
        if (known->has_offset)
            name.end = plus;
    }
    known->function = build_text(b, name);
    known->flags = p->inlined ? REPORT_INLINED : 0;
}

static void read_dso(struct report_build *b, struct report_frame *frame, struct cursor dso)
{
    if (cursor_starts(&dso, "[unknown]"))
        return;
    struct report_image image = {0};
    struct cursor offset = dso;
    size_t plus = cursor_rfind(&dso, "+0x");
    uint64_t value;
    if (plus != SIZE_MAX) {
        offset.pos = plus + 1;
        if (cursor_address(&offset, &value) && cursor_left(&offset) == 0) {
            frame->has_offset = true;
            frame->offset = value;
            frame->space = REPORT_LINKED;
            dso.end = plus;
        }
    }
    image.path = build_text(b, dso);
    build_name_of_path(&image);
    frame->image = build_hint(b, &image);
}

/* `PERF_RECORD_MMAP2 1/1: [0x400000(0x1000) @ 0x2000 fd:01 1 2]: r-xp /bin/a.out`: where the
 * file's first byte would stand. */
static void read_mapping(struct report_build *b, struct cursor line)
{
    size_t at = cursor_find(&line, "[0x");
    uint64_t start, size, file_offset;
    if (at == SIZE_MAX)
        return;
    line.pos = at + 1;
    if (!cursor_address(&line, &start) || !cursor_take(&line, '(') ||
        !cursor_address(&line, &size) || !cursor_word(&line, ") @ ") ||
        !cursor_number(&line, &file_offset) || file_offset > start)
        return;
    struct report_image image = {.load = start - file_offset, .has_load = true};
    if (__builtin_add_overflow(size, file_offset, &image.size))
        return;
    struct cursor id = line;
    if (cursor_take(&id, ' ') && cursor_take(&id, '<')) {
        size_t close = cursor_find(&id, ">");
        id.end = close == SIZE_MAX ? id.end : close;
        build_id(&image, id);
    }
    size_t slash = cursor_find(&line, " /");
    if (slash == SIZE_MAX)
        return;
    line.pos = slash + 1;
    image.path = build_text(b, line);
    build_name_of_path(&image);
    build_intern(b, &image);
}

static void read_event(struct report_build *b, struct cursor line)
{
    struct report_thread *thread = build_thread(b, REPORT_STACK);
    struct cursor name = cursor_trim(line), id;
    size_t end = name.pos; /* the name may hold blanks; the thread's number does not */
    while (end < name.end && !(name.data[end] == ' ' && end + 1 < name.end &&
                               name.data[end + 1] >= '0' && name.data[end + 1] <= '9'))
        end++;
    id = name;
    name.end = end;
    id.pos = end < id.end ? end + 1 : id.end;
    size_t blank = cursor_find(&id, " ");
    id.end = blank == SIZE_MAX ? id.end : blank;
    thread->name = build_text(b, cursor_trim(name));
    thread->id = cursor_left(&id) ? build_text(b, id) : NULL;
}

/* `  file.c:7` under a frame: the source of its last function (-F +srcline). */
static bool read_source(struct report_build *b, struct cursor line)
{
    struct report *r = b->report;
    if (!cursor_starts(&line, "  ") || r->thread_count == 0 ||
        r->threads[r->thread_count - 1].frame_count == 0)
        return false;
    struct report_frame *frame = &r->frames[r->frame_count - 1];
    frame->span.end = line.end;
    if (frame->name_count)
        apple_source(b, &r->names[frame->first_name + frame->name_count - 1], cursor_trim(line));
    return true;
}

static bool is_event(struct cursor line)
{
    return cursor_left(&line) && cursor_peek(&line) != '#' && cursor_find(&line, ": ") != SIZE_MAX;
}

void read_perf(struct report_build *b)
{
    struct cursor text = cursor_over(b->report->text, b->begin, b->report->text.size), line;
    struct report_frame *open = NULL; /* only inlined functions of it were met */
    bool in_chain = false;
    while (!b->error && cursor_line(&text, &line)) {
        struct perf_line p;
        if (read_head(line, &p)) {
            if (!in_chain)
                build_thread(b, REPORT_STACK);
            in_chain = true;
            bool same = open && open->address == p.address;
            struct report_frame *frame = same ? open : build_frame(b);
            if (!frame)
                return;
            frame->address = p.address;
            frame->has_address = true;
            frame->span.begin = same ? frame->span.begin : line.pos;
            frame->span.end = line.end;
            frame->item = (struct report_span){line.pos, p.head_end};
            read_symbol(b, frame, &p);
            if (!p.inlined)
                read_dso(b, frame, p.dso);
            open = p.inlined ? frame : NULL;
            continue;
        }
        if (in_chain && read_source(b, line))
            continue;
        open = NULL;
        if (cursor_left(&line) == 0) {
            in_chain = false;
        } else if (cursor_find(&line, "PERF_RECORD_MMAP") != SIZE_MAX) {
            read_mapping(b, line);
        } else if (cursor_peek(&line) != ' ' && is_event(line)) {
            read_event(b, line);
            in_chain = true;
        }
    }
}
