/*
 * Text for people, in parts: the head and the order of things (to_text.c), trees of weighted stacks
 * (to_text_tree.c), threads and single stacks (to_text_stack.c), calls (to_text_calls.c).
 *
 * Lines are made for 100 columns; only what cannot be cut without loss is longer. All foreign text
 * goes through out_clean. No colours.
 */
#ifndef REPORT_TO_TEXT_H
#define REPORT_TO_TEXT_H

#include "report/profile.h"
#include "report/words.h"

enum {
    TEXT_COLUMNS = 100,
    TEXT_NAME_COLUMNS = 40,  /* of a stack; longer names push what follows, alone */
    TEXT_IMAGE_COLUMNS = 24, /* the same for images */
    TEXT_LONGEST_NAME = 240, /* what is longer is cut */
    TEXT_WORD = 80           /* names of programs, threads, keys */
};

struct text_writer {
    struct report_bytes *out;
    struct profile *p;
};

/* A series as a call tree, each function with its share. */
fw_error text_tree(struct text_writer *w, const struct profile_series *series);

/* The way through the tree that is followed when the heavier one is taken each time: how much ends
 * there, and of the samples of this kind one of the stack with the largest weight. */
fw_error text_heaviest(struct text_writer *w, const struct profile_series *series,
                       const struct profile_sample **sample, uint64_t *weight);

/* The frames of a thread, innermost first, and why they end. */
void text_stack(struct text_writer *w, const struct report_thread *thread);
/* `name  (image)  file:line` of the innermost function at a location. */
void text_place(struct text_writer *w, const struct profile_location *l);
/* `file:line`, the file's beginning cut away when it is long; nothing when it is unknown. */
void text_source(struct text_writer *w, const char *file, uint32_t line);
/* All threads but number `left_out`, those with the same stack as one. */
fw_error text_threads(struct text_writer *w, uint32_t left_out);

fw_error text_calls(struct text_writer *w);

#endif
