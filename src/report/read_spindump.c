/*
 * Text of spindump(8), also of hang and cpu_resource reports. Under a thread every line is a count
 * behind an indentation, `*` before it for the kernel, and what it counts:
 *
 *     49  static App.main() + 63 (SwiftUI + 6122591) [0x7ff9102c7c5f] 1-49
 *     49  body + 12 (View.swift:31,1 in App + 3340) [0x100000d0c] 1-49
 *
 * Offsets into images are decimal. Binary images follow the threads of their process.
 */
#include "report/apple_text.h"

#include <stdlib.h>

static void read_thread(struct report_build *b, struct cursor line, const char *process)
{
    struct report_thread *thread = build_thread(b, REPORT_CALLERS);
    thread->process = process;
    cursor_space(&line);
    cursor_word(&line, "Thread ");
    struct cursor id = line;
    while (cursor_left(&line) && cursor_peek(&line) != ' ')
        line.pos++;
    id.end = line.pos;
    thread->id = build_text(b, id);
    static const struct {
        const char *word;
        bool queue;
    } quoted[] = {{"DispatchQueue \"", true}, {"Thread name \"", false}};
    for (size_t i = 0; i < sizeof quoted / sizeof *quoted; i++) {
        struct cursor text = line;
        size_t at = cursor_find(&text, quoted[i].word);
        if (at == SIZE_MAX)
            continue;
        text.pos = at + strlen(quoted[i].word);
        size_t end = cursor_find(&text, "\"");
        text.end = end == SIZE_MAX ? text.end : end;
        *(quoted[i].queue ? &thread->queue : &thread->name) = build_text(b, text);
    }
}

/* `(file:line,column in Image + 12)` or `(Image + 12)`, brackets included. */
static void read_place(struct report_build *b, struct report_frame *frame,
                       struct report_name *known, struct cursor c)
{
    cursor_take(&c, '(');
    if (c.end > c.pos && c.data[c.end - 1] == ')')
        c.end--;
    size_t in = cursor_rfind(&c, " in ");
    if (in != SIZE_MAX) {
        struct cursor source = c;
        source.end = in;
        if (known)
            apple_source(b, known, source);
        c.pos = in + 4;
    }
    size_t plus = cursor_rfind(&c, " + ");
    if (plus == SIZE_MAX)
        return;
    struct cursor offset = c, name = c;
    offset.pos = plus + 3;
    name.end = plus;
    uint64_t value;
    struct report_image hint = {.name = build_text(b, name)};
    if (cursor_number(&offset, &value) && frame->has_address && value <= frame->address) {
        hint.has_load = true;
        hint.load = frame->address - value;
    }
    frame->image = build_hint(b, &hint);
}

static struct report_frame *read_frame(struct report_build *b, struct cursor line,
                                       struct cursor body)
{
    size_t bracket = cursor_rfind(&body, " [0x");
    struct report_frame *frame = bracket == SIZE_MAX ? NULL : build_frame(b);
    if (!frame)
        return NULL;
    frame->span = (struct report_span){line.pos, line.end};
    frame->item = (struct report_span){body.pos, bracket};
    struct cursor address = body;
    address.pos = bracket + 2;
    frame->has_address = cursor_address(&address, &frame->address);
    body.end = bracket;
    size_t open = cursor_rfind(&body, " (");
    struct cursor name = body, place = body;
    name.end = open == SIZE_MAX ? name.end : open;
    place.pos = open == SIZE_MAX ? place.end : open + 1;
    struct report_name *known = apple_symbol(b, frame, cursor_trim(name));
    read_place(b, frame, known, place);
    return frame;
}

static bool is_thread(struct cursor line)
{
    cursor_space(&line);
    return cursor_starts(&line, "Thread ");
}

static bool is_images(struct cursor line)
{
    cursor_space(&line);
    return cursor_starts(&line, "Binary Images:");
}

void read_spindump(struct report_build *b)
{
    struct cursor text = cursor_over(b->report->text, b->begin, b->report->text.size), line;
    const char *process = NULL;
    bool in_thread = false;
    struct tree_place place = {0};
    while (!b->error && cursor_line(&text, &line)) {
        struct cursor body = line;
        uint64_t count;
        if (cursor_starts(&line, "Process:")) {
            body.pos += strlen("Process:");
            process = build_text(b, cursor_trim(body));
            in_thread = false;
            b->group++;
        } else if (cursor_peek(&line) == ' ' && is_thread(line)) {
            read_thread(b, line, process);
            in_thread = true;
            place.depth = 0;
            continue;
        } else if (cursor_starts(&line, "Heaviest stack for")) {
            struct report_thread *thread = build_thread(b, REPORT_CALLERS);
            thread->name = build_text(b, line);
            thread->repeats = in_thread = true;
            place.depth = 0;
            continue;
        } else if (is_images(line)) {
            read_binary_images(b, &text);
            in_thread = false;
            continue;
        }
        apple_header(b, line);
        cursor_space(&body);
        cursor_take(&body, '*');
        size_t column = body.pos - line.pos;
        if (!in_thread || !cursor_number(&body, &count) || !cursor_take(&body, ' '))
            continue;
        cursor_space(&body);
        struct report_frame *frame = read_frame(b, line, body);
        if (!frame)
            continue;
        frame->samples = count;
        tree_put(b, &place, column, frame);
    }
    free(place.levels);
}
