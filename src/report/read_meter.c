/*
 * What ChimeHQ's Meter keeps of an Objective-C exception: lines of a digit and a JSON object.
 * 1 the exception, 2 a frame's address, 3 the image of one, in the order of the frames.
 */
#include "report/lines.h"

bool text_is_meter(struct cursor line)
{
    return cursor_word(&line, "1 {\"type\"") || cursor_word(&line, "2 {\"pc\"");
}

static void read_line(struct report_build *b, struct cursor line, const struct jdoc *doc)
{
    if (line.data[line.pos] == '2') {
        struct report_frame *frame = build_frame(b);
        if (!frame)
            return;
        frame->has_address = jdoc_u64(doc, jdoc_get(doc, 0, "pc"), &frame->address);
        frame->kind = REPORT_RETURN;
        frame->span = (struct report_span){line.pos, line.end};
        uint32_t pc = jdoc_get(doc, 0, "pc"), old = jdoc_get(doc, 0, "frame");
        if (old != JNONE) {
            frame->item = (struct report_span){doc->nodes[old].begin, doc->nodes[old].end};
            frame->node = LINES_MARKED;
        } else if (pc != JNONE) {
            frame->item = (struct report_span){doc->nodes[pc].end, doc->nodes[0].end};
        }
    } else if (line.data[line.pos] == '3') {
        struct report_image image = {.path = build_string(b, doc, jdoc_get(doc, 0, "path"))};
        image.has_load = jdoc_u64(doc, jdoc_get(doc, 0, "address"), &image.load);
        uint32_t uuid = jdoc_get(doc, 0, "uuid");
        if (jdoc_is(doc, uuid, JSTRING))
            build_id(&image,
                     cursor_over(doc->text, doc->nodes[uuid].begin + 1, doc->nodes[uuid].end - 1));
        build_name_of_path(&image);
        build_intern(b, &image);
    }
}

void read_meter(struct report_build *b)
{
    struct cursor text = cursor_over(b->report->text, b->begin, b->report->text.size), line;
    build_thread(b, REPORT_STACK)->exception = true;
    while (!b->error && cursor_line(&text, &line)) {
        if (cursor_left(&line) < 3 || line.data[line.pos + 1] != ' ')
            continue;
        struct jdoc doc;
        struct span piece = {line.data, line.end};
        fw_error error = jdoc_scan(&doc, piece, line.pos + 2);
        if (error == FW_ERR_MEMORY)
            b->error = error;
        if (error)
            continue;
        read_line(b, line, &doc);
        jdoc_free(&doc);
    }
}
