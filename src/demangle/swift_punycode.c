/*
 * Identifiers beyond ASCII: Punycode with "_" as the delimiter and "A" to "J" as the digits 26 to
 * 35; ASCII characters that may not stand in a symbol are encoded as U+D800 and up.
 */
#include "demangle/punycode.h"
#include "demangle/swift_words.h"

enum { MAX_POINTS = 512 }; /* insertion is quadratic */

static size_t encode_utf8(uint32_t point, char *out)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; --i > 0; point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(lead[length] | point);
    return length;
}

static const char *to_utf8(struct swift_arena *arena, const uint32_t *points, size_t count,
                           size_t *length)
{
    char *text = swift_take(arena, 4 * (size_t)count);
    if (text == NULL)
        return NULL;
    *length = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t point = points[i];
        if (point >= 0xd800 && point < 0xd880)
            point -= 0xd800;
        if ((point >= 0xd800 && point < 0xe000) || point > 0x10ffff || point == 0)
            return NULL;
        *length += encode_utf8(point, text + *length);
    }
    return text;
}

const char *swift_punycode(struct swift_arena *arena, const char *text, size_t *length)
{
    uint32_t points[MAX_POINTS];
    const char *end = text + *length, *digits = end;
    while (digits > text && digits[-1] != '_')
        digits--;
    size_t ascii = digits > text ? (size_t)(digits - text) - 1 : 0, count;
    for (size_t i = 0; i < ascii; i++)
        if ((unsigned char)text[i] >= 0x80)
            return NULL;
    if (!punycode_decode(text, ascii, digits, (size_t)(end - digits), 'A', points, MAX_POINTS,
                         &count))
        return NULL;
    return to_utf8(arena, points, count, length);
}
