/*
 * Stacks as text: one line a frame, in the format of Apple's backtrace_symbols and of
 * +[NSThread callStackSymbols], and lines of our own for what they cannot say: frames left out, and
 * why a stack is not whole.
 *
 * Writers of lines follow snprintf: they fill what there is room for and return the whole length.
 */
#ifndef CAPTURE_STACK_TEXT_H
#define CAPTURE_STACK_TEXT_H

#include "framewalk/names.h"

#include <stdio.h>

/* A growing text; terminated as soon as anything was added. */
struct stack_text {
    char *at; /* malloc'ed */
    size_t length, capacity;
    bool failed; /* out of memory: nothing is added any more */
};

void stack_text_add(struct stack_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `index`, image, address, symbol + offset; no newline. `name` is what fw_names_lookup made of
 * `frame`, all zero when it found nothing. */
size_t stack_text_line(char *to, size_t size, uint64_t index, const struct fw_frame *frame,
                       const struct fw_name *name);

/* The same line, marked when the frame is an async one, with a newline. */
void stack_text_frame(struct stack_text *text, uint64_t index, const struct fw_frame *frame,
                      const struct fw_name *name);

/* In place of `count` frames that `why` says of: nothing when there are none. */
void stack_text_gap(struct stack_text *text, uint64_t count, const char *why);

/* Why the stack is not whole, or not there; nothing for one that is whole. */
void stack_text_end(struct stack_text *text, const struct fw_stack *stack);

/* The number of frame `i`, counted from the innermost, those left out of the middle included. */
uint64_t stack_text_index(const struct fw_stack *stack, uint32_t i);

/* "... 12 frames" of these two kinds. */
#define STACK_TEXT_OMITTED "left out"
#define STACK_TEXT_OTHERS  "of other images"

#endif
