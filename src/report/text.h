/*
 * Reading lines of text: a cursor that never leaves its piece of the text, and what lines of
 * reports are made of. Nothing is copied or allocated.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/hex.h"
#include "base/reader.h"

struct cursor { /* offsets into the text */
    const uint8_t *data;
    size_t pos, end;
};

struct cursor cursor_over(struct span text, size_t begin, size_t end);
static inline size_t cursor_left(const struct cursor *c)
{
    return c->pos < c->end ? c->end - c->pos : 0;
}
/* The next byte, 0 at the end. */
static inline uint8_t cursor_peek(const struct cursor *c)
{
    return c->pos < c->end ? c->data[c->pos] : 0;
}
bool cursor_take(struct cursor *c, char byte);
/* Takes `word` when it stands here. */
bool cursor_word(struct cursor *c, const char *word);
/* Blanks and tabs. */
void cursor_space(struct cursor *c);
/* Any of the bytes in `set`. */
void cursor_skip(struct cursor *c, const char *set);
/* Decimal, or hexadecimal after 0x; not taken when it does not fit into 64 bits. */
bool cursor_number(struct cursor *c, uint64_t *value);
/* Hexadecimal after 0x only. */
bool cursor_address(struct cursor *c, uint64_t *value);
/* Hexadecimal digits without a prefix, at most 16. */
bool cursor_hex(struct cursor *c, uint64_t *value);
bool cursor_starts(const struct cursor *c, const char *word);
/* Where `word` begins at or after pos; SIZE_MAX: nowhere. The last one for _rfind. */
size_t cursor_find(const struct cursor *c, const char *word);
size_t cursor_rfind(const struct cursor *c, const char *word);
/* Without blanks at either end. */
struct cursor cursor_trim(struct cursor c);

/* The next line of c without its end (\n or \r\n), which is skipped. False: no line is left. */
bool cursor_line(struct cursor *c, struct cursor *line);

#endif
