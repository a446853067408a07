#include "report/text.h"

struct cursor cursor_over(struct span text, size_t begin, size_t end)
{
    if (end > text.size)
        end = text.size;
    return (struct cursor){text.data, begin < end ? begin : end, end};
}

bool cursor_take(struct cursor *c, char byte)
{
    if (c->pos >= c->end || c->data[c->pos] != (uint8_t)byte)
        return false;
    c->pos++;
    return true;
}

bool cursor_starts(const struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    return cursor_left(c) >= length && memcmp(c->data + c->pos, word, length) == 0;
}

bool cursor_word(struct cursor *c, const char *word)
{
    if (!cursor_starts(c, word))
        return false;
    c->pos += strlen(word);
    return true;
}

void cursor_space(struct cursor *c)
{
    while (cursor_peek(c) == ' ' || cursor_peek(c) == '\t')
        c->pos++;
}

void cursor_skip(struct cursor *c, const char *set)
{
    while (cursor_left(c) && cursor_peek(c) && strchr(set, cursor_peek(c)))
        c->pos++;
}

bool cursor_hex(struct cursor *c, uint64_t *value)
{
    uint64_t sum = 0;
    size_t pos = c->pos;
    int digit;
    while (pos < c->end && (digit = hex_digit(c->data[pos])) >= 0) {
        if (sum >> 60)
            return false;
        sum = sum << 4 | (uint64_t)digit;
        pos++;
    }
    if (pos == c->pos)
        return false;
    c->pos = pos;
    *value = sum;
    return true;
}

bool cursor_address(struct cursor *c, uint64_t *value)
{
    struct cursor digits = *c;
    if (!cursor_word(&digits, "0x") && !cursor_word(&digits, "0X"))
        return false;
    if (!cursor_hex(&digits, value))
        return false;
    c->pos = digits.pos;
    return true;
}

bool cursor_number(struct cursor *c, uint64_t *value)
{
    if (cursor_address(c, value))
        return true;
    uint64_t sum = 0;
    size_t pos = c->pos;
    while (pos < c->end && c->data[pos] >= '0' && c->data[pos] <= '9') {
        if (__builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(c->data[pos] - '0'), &sum))
            return false;
        pos++;
    }
    if (pos == c->pos)
        return false;
    c->pos = pos;
    *value = sum;
    return true;
}

size_t cursor_find(const struct cursor *c, const char *word)
{
    if (cursor_left(c) == 0)
        return SIZE_MAX;
    const uint8_t *at = memmem(c->data + c->pos, cursor_left(c), word, strlen(word));
    return at ? (size_t)(at - c->data) : SIZE_MAX;
}

size_t cursor_rfind(const struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = c->end; at >= length && at - length >= c->pos; at--) {
        if (memcmp(c->data + at - length, word, length) == 0)
            return at - length;
    }
    return SIZE_MAX;
}

struct cursor cursor_trim(struct cursor c)
{
    cursor_space(&c);
    while (c.end > c.pos && (c.data[c.end - 1] == ' ' || c.data[c.end - 1] == '\t'))
        c.end--;
    return c;
}

bool cursor_line(struct cursor *c, struct cursor *line)
{
    if (cursor_left(c) == 0)
        return false;
    *line = *c;
    const uint8_t *newline = memchr(c->data + c->pos, '\n', cursor_left(c));
    line->end = newline ? (size_t)(newline - c->data) : c->end;
    c->pos = newline ? line->end + 1 : c->end;
    if (line->end > line->pos && c->data[line->end - 1] == '\r')
        line->end--;
    return true;
}
