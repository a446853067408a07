/*
 * Texts with one numbered line for each function: .crash and sanitizer reports. A frame with
 * inlined functions has several lines, and the lines behind it count on.
 */
#ifndef REPORT_LINES_H
#define REPORT_LINES_H

#include "report/build.h"

struct numbered_line {
    struct report_span line; /* without its end */
    size_t number;           /* where the number begins */
    size_t head_end;         /* behind the address */
    uint64_t address;
};

enum {                 /* `node` of a frame, JNONE otherwise */
       LINES_BARE = 0, /* it is only an address in a list of such */
       LINES_MARKED    /* inlined functions are marked as such: in a tree, it and its inner frame */
};

/* Appends the frame of a line. frame->item is then from its number to the end of its address. */
struct report_frame *lines_frame(struct report_build *b, const struct numbered_line *n);
/* The last frame, whose function is known now, joins the one before it when both are functions of
 * one frame. `frame` may be gone after that. */
void lines_join(struct report_build *b, struct report_frame *frame);

#endif
