/* What Apple's text reports share: header lines, symbols with offsets, sources, trees by column. */
#ifndef REPORT_APPLE_TEXT_H
#define REPORT_APPLE_TEXT_H

#include "report/build.h"

/* Takes from `Key:  value` what is known into the report's info; the first of a key counts. */
void apple_header(struct report_build *b, struct cursor line);
/* Takes `[inlined] ` or `[tail call] `: the flag of a name, 0. */
uint8_t apple_mark(struct cursor *c);
/* `name + 12`, `[inlined] name`: becomes what is known of the frame. NULL: nothing is (`???`, an
 * address). */
struct report_name *apple_symbol(struct report_build *b, struct report_frame *frame,
                                 struct cursor symbol);
/* `file.c:12` or `file.swift:12,3` into `name`; anything else is left alone. */
void apple_source(struct report_build *b, struct report_name *name, struct cursor source);

struct tree_level {
    size_t column;
    uint32_t frame;
};
struct tree_place { /* the frames that are open while a tree is read line by line */
    struct tree_level *levels;
    size_t depth, capacity;
};
/* The last frame of the report stands at `column`: its parent is the last one left of it. When it
 * is marked as a function of its parent, both are LINES_MARKED. */
void tree_put(struct report_build *b, struct tree_place *place, size_t column,
              struct report_frame *frame);

#endif
