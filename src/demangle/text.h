/*
 * Text that is written into a buffer of the caller and ends there, however long it would have
 * become. What does not fit is dropped and `full` is set; writers may look at it to stop early.
 */
#ifndef DEMANGLE_TEXT_H
#define DEMANGLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
    char *start;
    size_t used, size; /* without the terminator, which is written by text_end */
    bool full;         /* something was dropped */
};

static inline void text_add(struct text *text, const char *piece, size_t length)
{
    size_t room = text->size - text->used;
    if (length > room) {
        length = room;
        text->full = true;
    }
    if (length > 0) /* then `piece` may be NULL */
        memcpy(text->start + text->used, piece, length);
    text->used += length;
}

static inline void text_char(struct text *text, char c)
{
    if (text->used == text->size)
        text->full = true;
    else
        text->start[text->used++] = c;
}

static inline void text_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

static inline void text_number(struct text *text, unsigned long long number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    text_add(text, digits + at, sizeof digits - at);
}

static inline char text_last(const struct text *text)
{
    return text->used ? text->start[text->used - 1] : '\0';
}

#endif
