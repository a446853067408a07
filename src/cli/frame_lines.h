/*
 * Lines, inlined functions and tail calls of a dump's frames.
 *
 * Read once, after the capture, for all stacks together: no thread is stopped any more, and each
 * debug file is asked once. What a frame means depends on its address and on that of its caller
 * (tail calls), on nothing else; so each pair is asked once however many stacks have it.
 */
#ifndef CLI_FRAME_LINES_H
#define CLI_FRAME_LINES_H

#include "cli/dump.h"
#include "cli/progress.h"
#include "framewalk/symbolicate.h"

struct frame_lines;

/* NULL when out of memory. What cannot be read is left out. */
struct frame_lines *frame_lines_read(const struct dump *dump, const struct dump_options *options,
                                     struct progress *progress);
void frame_lines_free(struct frame_lines *lines);

/* What is known of frame `at` of a stack of this dump, as fw_symbolicate_stack says it; NULL:
 * nothing. `lines` may be NULL. */
const struct fw_resolved *frame_lines_at(const struct frame_lines *lines,
                                         const struct dump_stack *stack, uint32_t at);

/* What the debug information of the i-th file that was asked names and was not found; "": nothing.
 */
size_t frame_lines_source_count(const struct frame_lines *lines);
const char *frame_lines_missing(const struct frame_lines *lines, size_t i);

/* For people: what gives the lines of an image (fw_symbol.image), or why there are none; NULL when
 * that was never asked. */
const char *frame_lines_story(const struct frame_lines *lines, const char *image);

#endif
