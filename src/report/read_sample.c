/*
 * Text of sample(1). Under `Call graph:` every line is a count behind an indentation of blanks and
 * `+ ! : |`, and what it counts; deeper lines were called by the one above them.
 *
 *     1571 Thread_2155218   DispatchQueue_1: com.apple.main-thread  (serial)
 *     + 1571 main  (in App) + 12  [0x104a500c0]  main.c:7
 *     +   1571 ???  (in App)  load address 0x104a50000 + 0x86d2c  [0x104ad6d2c]
 */
#include "report/apple_text.h"

#include <stdlib.h>

static void read_thread(struct report_build *b, struct cursor body)
{
    struct report_thread *thread = build_thread(b, REPORT_CALLERS);
    struct cursor rest = body;
    cursor_word(&rest, "Thread_");
    struct cursor id = rest;
    while (cursor_left(&rest) && cursor_peek(&rest) != ' ' && cursor_peek(&rest) != ':')
        rest.pos++;
    id.end = rest.pos;
    thread->id = build_text(b, id);
    cursor_take(&rest, ':');
    rest = cursor_trim(rest);
    size_t queue = cursor_find(&rest, "DispatchQueue_");
    struct cursor name = rest;
    if (queue != SIZE_MAX) {
        name.end = queue;
        rest.pos = queue;
        size_t colon = cursor_find(&rest, ": ");
        rest.pos = colon == SIZE_MAX ? rest.pos : colon + 2;
        size_t serial = cursor_rfind(&rest, "  (");
        rest.end = serial == SIZE_MAX ? rest.end : serial;
        thread->queue = build_text(b, rest);
    }
    name = cursor_trim(name);
    thread->name = cursor_left(&name) ? build_text(b, name) : NULL;
}

/* `name  (in Image) + 12` or `???  (in Image)  load address 0x1000 + 0x234`. */
static void read_body(struct report_build *b, struct report_frame *frame, struct cursor body)
{
    size_t in = cursor_find(&body, "  (in ");
    struct cursor name = body, image = body;
    struct report_image hint = {0};
    uint64_t offset = 0;
    bool has_offset = false;
    if (in != SIZE_MAX) {
        name.end = in;
        image.pos = in + strlen("  (in ");
        size_t close = cursor_find(&image, ")");
        struct cursor rest = image;
        image.end = close == SIZE_MAX ? image.end : close;
        rest.pos = close == SIZE_MAX ? rest.end : close + 1;
        hint.name = build_text(b, image);
        cursor_space(&rest);
        if (cursor_word(&rest, "load address "))
            hint.has_load = cursor_address(&rest, &hint.load);
        else if (cursor_word(&rest, "+ "))
            has_offset = cursor_number(&rest, &offset);
        frame->image = build_hint(b, &hint);
    }
    name = cursor_trim(name);
    uint8_t flags = apple_mark(&name);
    if (cursor_starts(&name, "???") || cursor_left(&name) == 0)
        return;
    struct report_name *known = build_known(b, frame);
    if (!known)
        return;
    known->function = build_text(b, name);
    known->has_offset = has_offset;
    known->offset = offset;
    known->flags = flags;
}

static struct report_frame *read_frame(struct report_build *b, struct cursor line,
                                       struct cursor body)
{
    struct report_frame *frame = build_frame(b);
    if (!frame)
        return NULL;
    frame->span = (struct report_span){line.pos, line.end};
    frame->item = (struct report_span){body.pos, body.end};
    size_t bracket = cursor_rfind(&body, "[0x");
    if (bracket == SIZE_MAX) {
        read_body(b, frame, body);
        return frame;
    }
    struct cursor address = body, rest = body;
    address.pos = bracket + 1;
    frame->has_address = cursor_address(&address, &frame->address);
    rest.pos = address.pos;
    size_t close = cursor_find(&rest, "]");
    rest.pos = close == SIZE_MAX ? rest.end : close + 1;
    body.end = bracket;
    read_body(b, frame, cursor_trim(body));
    if (frame->name_count)
        apple_source(b, &b->report->names[frame->first_name], cursor_trim(rest));
    return frame;
}

static void read_call_graph(struct report_build *b, struct cursor *text)
{
    struct tree_place place = {0};
    struct cursor line;
    for (struct cursor ahead = *text; !b->error && cursor_line(&ahead, &line); *text = ahead) {
        struct cursor body = line;
        cursor_skip(&body, " +!:|*");
        size_t column = body.pos - line.pos;
        uint64_t count;
        if (!cursor_number(&body, &count) || !cursor_take(&body, ' ')) {
            if (cursor_left(&line) == 0 || cursor_starts(&line, "Total number"))
                break;
            continue;
        }
        if (cursor_starts(&body, "Thread_")) {
            read_thread(b, body);
            place.depth = 0;
            continue;
        }
        struct report_frame *frame = read_frame(b, line, body);
        if (!frame)
            break;
        frame->samples = count;
        tree_put(b, &place, column, frame);
    }
    free(place.levels);
}

/*
 * A list below the call graph repeats some of its frames, with a count before or behind:
 *
 *     Sort by top of stack, same collapsed (when >= 5):
 *         ???  (in App)  load address 0x104a50000 + 0x86d2c  [0x104ad6d2c]        57
 */
static void read_repeated(struct report_build *b, struct cursor *text, struct cursor title)
{
    struct cursor line;
    struct report_thread *thread = build_thread(b, REPORT_STACK);
    bool top = cursor_starts(&title, "Sort by top");
    thread->name = build_text(b, title);
    thread->repeats = true;
    for (struct cursor ahead = *text; !b->error && cursor_line(&ahead, &line); *text = ahead) {
        struct cursor body = line, rest;
        uint64_t count;
        cursor_space(&body);
        if (cursor_left(&body) == 0 || body.pos == line.pos)
            break;
        if (cursor_number(&body, &count))
            cursor_space(&body);
        size_t bracket = cursor_rfind(&body, "[0x");
        if (bracket == SIZE_MAX)
            continue;
        rest = body;
        rest.pos = bracket;
        size_t close = cursor_find(&rest, "]");
        body.end = close == SIZE_MAX ? body.end : close + 1;
        struct report_frame *frame = read_frame(b, line, body);
        if (!frame)
            break;
        frame->kind = top ? REPORT_EXACT : REPORT_RETURN;
    }
}

void read_sample(struct report_build *b)
{
    struct cursor text = cursor_over(b->report->text, b->begin, b->report->text.size), line;
    while (!b->error && cursor_line(&text, &line)) {
        if (cursor_starts(&line, "Call graph:"))
            read_call_graph(b, &text);
        else if (cursor_starts(&line, "Total number in stack") ||
                 cursor_starts(&line, "Sort by top of stack"))
            read_repeated(b, &text, line);
        else if (cursor_starts(&line, "Binary Images:"))
            read_binary_images(b, &text);
        else
            apple_header(b, line);
    }
}
