/*
 * Apple .crash text (report versions 11, 12, 104), also as people paste it: indented, quoted with
 * `> `, with \r\n.
 *
 *     0   App                       \t       0x1022364bc 0x102230000 + 25788
 *     1   App                       \t       0x1022364c0 main + 12 (main.m:17)
 *
 * Image names may hold blanks, so a line is cut at its address. Lines of one address with
 * different functions are one frame with inlined functions; a function that repeats begins the
 * next frame, because recursion repeats its address too.
 */
#include "report/apple_text.h"
#include "report/lines.h"

static struct cursor unquote(struct cursor line)
{
    cursor_skip(&line, " \t>");
    return line;
}

/* ` Thread 3 name:  X`, ` Thread 3 Crashed:: name  Dispatch queue: q`, ` Thread 3:`. */
struct heading {
    uint64_t number;
    bool names; /* says only the thread's name; the thread itself follows */
    bool crashed;
    struct cursor name, queue;
};

static bool read_heading(struct cursor line, struct heading *h)
{
    *h = (struct heading){0};
    if (!cursor_word(&line, "Thread ") || !cursor_number(&line, &h->number))
        return false;
    if (cursor_word(&line, " name:")) {
        h->names = true;
    } else if (cursor_word(&line, " Crashed:") || cursor_word(&line, " Highlighted:") ||
               cursor_word(&line, " Attributed:")) {
        h->crashed = true;
        cursor_take(&line, ':');
    } else if (!cursor_word(&line, ":")) {
        return false;
    }
    cursor_take(&line, ':');
    h->queue = h->name = line = cursor_trim(line);
    h->queue.pos = h->queue.end;
    size_t queue = cursor_find(&line, "Dispatch queue: ");
    if (queue != SIZE_MAX) {
        h->name.end = queue;
        h->queue.pos = queue + strlen("Dispatch queue: ");
    }
    h->name = cursor_trim(h->name);
    return true;
}

struct crash_reader {
    struct report_build *b;
    const char *name, *queue; /* said before the thread */
    bool in_thread;
};

static void begin_thread(struct crash_reader *c, const struct heading *h)
{
    struct report_build *b = c->b;
    const char *name = cursor_left(&h->name) ? build_text(b, h->name) : NULL;
    const char *queue = cursor_left(&h->queue) ? build_text(b, h->queue) : NULL;
    if (h->names) {
        c->name = name;
        c->queue = queue;
        c->in_thread = false;
        return;
    }
    struct report_thread *thread = build_thread(b, REPORT_STACK);
    thread->id = build_format(b, "%llu", (unsigned long long)h->number);
    thread->name = name ? name : c->name;
    thread->queue = queue ? queue : c->queue;
    thread->crashed = h->crashed;
    c->name = c->queue = NULL;
    c->in_thread = true;
}

static void read_function(struct report_build *b, struct numbered_line *n, struct cursor image,
                          struct cursor rest)
{
    struct report_image hint = {.name = build_text(b, image)};
    struct cursor base = rest;
    uint64_t offset;
    struct report_frame *frame = lines_frame(b, n);
    if (!frame)
        return;
    if (cursor_address(&base, &hint.load) && cursor_word(&base, " + ") &&
        cursor_number(&base, &offset)) {
        hint.has_load = true;
        frame->image = build_hint(b, &hint);
        return;
    }
    hint.load = 0;
    if (strcmp(hint.name ? hint.name : "", "???") != 0)
        frame->image = build_hint(b, &hint);
    struct cursor source = rest;
    size_t open = cursor_rfind(&rest, " (");
    bool bracketed = open != SIZE_MAX && rest.data[rest.end - 1] == ')';
    if (bracketed) {
        source.pos = open + 2;
        source.end--;
        size_t colon = cursor_rfind(&source, ":");
        bracketed = colon != SIZE_MAX && colon + 1 < source.end && source.data[colon + 1] >= '0' &&
                    source.data[colon + 1] <= '9';
    }
    if (bracketed)
        rest.end = open;
    struct report_name *known = apple_symbol(b, frame, rest);
    if (known && bracketed)
        apple_source(b, known, source);
    if (known)
        lines_join(b, frame);
}

static bool read_frame(struct crash_reader *c, struct cursor whole, struct cursor line)
{
    struct numbered_line n = {.line = {whole.pos, whole.end}, .number = line.pos};
    uint64_t number;
    if (cursor_starts(&line, "0x") || !cursor_number(&line, &number) ||
        (cursor_peek(&line) != ' ' && cursor_peek(&line) != '\t'))
        return false;
    cursor_space(&line);
    struct cursor image = line, search = line;
    for (;;) {
        size_t at = cursor_find(&search, "0x");
        if (at == SIZE_MAX)
            return false;
        search.pos = at;
        bool apart = at > line.pos && (line.data[at - 1] == ' ' || line.data[at - 1] == '\t');
        if (apart && cursor_address(&search, &n.address) &&
            (cursor_left(&search) == 0 || cursor_peek(&search) == ' '))
            break;
        search.pos = at + 2;
    }
    image.end = search.pos;
    while (image.end > image.pos && image.data[image.end - 1] != ' ' &&
           image.data[image.end - 1] != '\t')
        image.end--;
    n.head_end = search.pos;
    read_function(c->b, &n, cursor_trim(image), cursor_trim(search));
    return true;
}

/* `(0x18a98520c 0x1022364bc ...)`: only addresses, of an exception. */
static void read_bare(struct report_build *b, struct cursor line)
{
    struct cursor before = line;
    cursor_take(&line, '(');
    for (;;) {
        cursor_space(&line);
        uint64_t address;
        if (!cursor_address(&line, &address))
            break;
        struct report_frame *frame = build_frame(b);
        if (!frame)
            return;
        frame->has_address = true;
        frame->address = address;
        frame->kind = REPORT_RETURN;
        cursor_take(&line, ')');
        frame->span = (struct report_span){before.pos, line.pos};
        frame->node = LINES_BARE;
        before = line;
    }
}

static void read_line(struct crash_reader *c, struct cursor whole, struct cursor *text)
{
    struct report_build *b = c->b;
    struct cursor line = unquote(whole);
    struct heading heading;
    if (read_heading(line, &heading)) {
        begin_thread(c, &heading);
    } else if (cursor_starts(&line, "Last Exception Backtrace:") ||
               cursor_starts(&line, "Application Specific Backtrace")) {
        build_thread(b, REPORT_STACK)->exception = true;
        c->in_thread = true;
    } else if (c->in_thread && cursor_starts(&line, "(0x")) {
        read_bare(b, line);
    } else if (c->in_thread && read_frame(c, whole, line)) {
        struct report *r = b->report;
        if (!b->error && r->threads[r->thread_count - 1].exception)
            r->frames[r->frame_count - 1].kind = REPORT_RETURN;
    } else if (cursor_starts(&line, "Binary Images:")) {
        read_binary_images(b, text);
        c->in_thread = false;
    } else if (cursor_left(&line) == 0) {
        c->in_thread = false;
    } else {
        apple_header(b, line);
    }
}

void read_crash(struct report_build *b)
{
    struct cursor text = cursor_over(b->report->text, b->begin, b->report->text.size), line;
    struct crash_reader c = {.b = b};
    while (!b->error && cursor_line(&text, &line))
        read_line(&c, line, &text);
}
