/*
 * Lines of addresses, one a line: `0xADDR`, `IMAGE+0xOFF`, `IMAGE 0xADDR`, and as glibc's
 * backtrace_symbols writes them, `IMAGE(+0xOFF) [0xADDR]`. What follows the address is kept.
 * Nothing says that an address was returned to, so each is looked up as it is.
 */
#include "report/build.h"

struct list_line {
    struct cursor image; /* empty: none */
    uint64_t value;
    bool is_offset;
    size_t end; /* behind what was recognised */
};

static bool ends(const struct cursor *c)
{
    uint8_t next = cursor_peek(c);
    return cursor_left(c) == 0 || next == ' ' || next == '\t' || next == ',' || next == ')';
}

/* The image is all before the first `0x`, without what joins the two. */
static bool read_line(struct cursor line, struct list_line *l)
{
    struct cursor c = cursor_trim(line), image = c;
    size_t at = cursor_find(&c, "0x");
    if (at == SIZE_MAX)
        return false;
    image.end = at;
    c.pos = at;
    if (!cursor_address(&c, &l->value) || !ends(&c))
        return false;
    char joint = at > image.pos ? (char)image.data[at - 1] : 0;
    l->is_offset = joint == '+';
    if (joint == '+')
        image.end--;
    else if (joint && joint != ' ' && joint != '\t')
        return false;
    bool bracket = l->is_offset && image.end > image.pos && image.data[image.end - 1] == '(';
    if (bracket) {
        image.end--;
        if (!cursor_take(&c, ')'))
            return false;
    }
    l->image = cursor_trim(image);
    struct cursor words = l->image;
    if ((l->is_offset && cursor_left(&words) == 0) || cursor_find(&words, " ") != SIZE_MAX ||
        cursor_find(&words, "\t") != SIZE_MAX)
        return false;
    if (l->is_offset && bracket) {
        struct cursor rest = c;
        uint64_t ignored;
        cursor_space(&rest);
        if (cursor_take(&rest, '[') && cursor_address(&rest, &ignored) && cursor_take(&rest, ']'))
            c = rest;
    }
    l->end = c.pos;
    return true;
}

bool text_is_list(struct cursor line)
{
    struct list_line l;
    return read_line(line, &l);
}

void read_list(struct report_build *b)
{
    struct cursor text = cursor_over(b->report->text, b->begin, b->report->text.size), line;
    while (!b->error && cursor_line(&text, &line)) {
        struct list_line l;
        if (!read_line(line, &l))
            continue;
        struct report_frame *frame = build_frame(b);
        if (!frame)
            return;
        frame->kind = REPORT_EXACT;
        frame->span = (struct report_span){line.pos, line.end};
        frame->item = (struct report_span){line.pos, l.end};
        frame->has_offset = l.is_offset;
        frame->has_address = !l.is_offset;
        *(l.is_offset ? &frame->offset : &frame->address) = l.value;
        if (!cursor_left(&l.image))
            continue;
        struct report_image image = {.path = build_text(b, l.image)};
        build_name_of_path(&image);
        frame->image = build_intern(b, &image);
    }
}
