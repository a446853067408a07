/*
 * Sanitizer text, symbolized or not:
 *
 *     #0 0x55d0c1 in main /src/a.c:3:5
 *     #1 0x55d0c4  (/bin/a.out+0x1139) (BuildId: 5c6f...)
 *
 * The runtime has already moved every return address back into its call, so that all addresses are
 * to be looked up as they are.
 */
#include "report/apple_text.h"
#include "report/lines.h"

static bool read_head(struct cursor line, struct numbered_line *n)
{
    uint64_t number;
    n->line = (struct report_span){line.pos, line.end};
    cursor_space(&line);
    n->number = line.pos;
    if (!cursor_take(&line, '#') || !cursor_number(&line, &number))
        return false;
    cursor_space(&line);
    if (!cursor_address(&line, &n->address))
        return false;
    n->head_end = line.pos;
    return cursor_left(&line) == 0 || cursor_peek(&line) == ' ';
}

bool text_is_sanitizer(struct cursor line)
{
    struct numbered_line n;
    return read_head(line, &n) || cursor_find(&line, "==ERROR: ") != SIZE_MAX ||
           cursor_find(&line, "WARNING: ThreadSanitizer") != SIZE_MAX;
}

/* `(/bin/a.out+0x1139) (BuildId: 5c6f)` anywhere in the rest of the line. */
static void read_module(struct report_build *b, struct report_frame *frame, struct cursor rest)
{
    size_t plus = cursor_rfind(&rest, "+0x");
    if (plus == SIZE_MAX)
        return;
    struct cursor offset = rest, path = rest, id = rest;
    offset.pos = plus + 1;
    path.end = plus;
    size_t open = cursor_find(&path, " (/");
    if (open == SIZE_MAX)
        open = cursor_rfind(&path, "(");
    else
        open++;
    if (open == SIZE_MAX || !cursor_address(&offset, &frame->offset))
        return;
    path.pos = open + 1;
    struct report_image image = {.path = build_text(b, path)};
    id.pos = offset.pos;
    size_t build_id_at = cursor_find(&id, "(BuildId: ");
    if (build_id_at != SIZE_MAX) {
        id.pos = build_id_at + strlen("(BuildId: ");
        size_t close = cursor_find(&id, ")");
        id.end = close == SIZE_MAX ? id.end : close;
        build_id(&image, id);
    }
    frame->has_offset = true;
    image.has_load = frame->offset <= frame->address;
    image.load = image.has_load ? frame->address - frame->offset : 0;
    build_name_of_path(&image);
    frame->image = build_intern(b, &image);
}

/* `in name /path/file.c:3:5`: the source is the last word, when it has a line. */
static void read_symbol(struct report_build *b, struct report_frame *frame, struct cursor rest)
{
    if (!cursor_word(&rest, "in "))
        return;
    size_t module = cursor_find(&rest, " (/");
    if (module != SIZE_MAX)
        rest.end = module;
    struct cursor name = cursor_trim(rest);
    uint8_t flags = apple_mark(&name);
    struct cursor source = name;
    size_t blank = cursor_rfind(&name, " ");
    struct report_name *known = build_known(b, frame);
    if (!known)
        return;
    known->flags = flags;
    if (blank != SIZE_MAX) {
        source.pos = blank + 1;
        size_t colon = cursor_find(&source, ":");
        uint64_t line, column;
        struct cursor numbers = source;
        numbers.pos = colon == SIZE_MAX ? numbers.end : colon + 1;
        if (cursor_number(&numbers, &line) && line <= UINT32_MAX) {
            struct cursor file = source;
            file.end = colon;
            known->file = build_text(b, file);
            known->line = (uint32_t)line;
            if (cursor_take(&numbers, ':') && cursor_number(&numbers, &column) &&
                column <= UINT32_MAX)
                known->column = (uint32_t)column;
            name.end = blank;
        }
    }
    known->function = build_text(b, cursor_trim(name));
    lines_join(b, frame);
}

void read_sanitizer(struct report_build *b)
{
    struct cursor text = cursor_over(b->report->text, b->begin, b->report->text.size), line;
    bool in_stack = false;
    const char *title = NULL;
    while (!b->error && cursor_line(&text, &line)) {
        struct numbered_line n;
        if (!read_head(line, &n)) {
            in_stack = false;
            struct cursor words = cursor_trim(line);
            if (cursor_left(&words))
                title = build_text(b, words);
            if (!b->report->info.exception && cursor_find(&words, "ERROR: ") != SIZE_MAX)
                b->report->info.exception = title;
            continue;
        }
        if (!in_stack)
            build_thread(b, REPORT_STACK)->name = title;
        in_stack = true;
        struct report_frame *frame = lines_frame(b, &n);
        if (!frame)
            return;
        frame->kind = REPORT_EXACT;
        struct cursor rest = line;
        rest.pos = n.head_end;
        rest = cursor_trim(rest);
        read_module(b, frame, rest);
        read_symbol(b, frame, rest);
    }
}
