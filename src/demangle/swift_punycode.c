/*
 * Punycode (RFC 3492) as Swift uses it: "_" is the delimiter, "A" to "J" are the digits 26 to 35,
 * and ASCII characters that may not stand in a symbol are encoded as U+D800 and up.
 */
#include "demangle/swift_words.h"

#include <string.h>

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 128 };
enum { MAX_POINTS = 512 }; /* insertion is quadratic */

static int digit(char c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= 'A' && c <= 'J' ? c - 'A' + 26 : -1;
}

static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
    delta /= first ? DAMP : 2;
    delta += delta / points;
    uint32_t k = 0;
    for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
        delta /= BASE - T_MIN;
    return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

/* Reads a variable-length integer and adds it to *sum. */
static bool add_delta(const char **at, const char *end, uint32_t bias, uint32_t *sum)
{
    uint64_t weight = 1, total = *sum;
    for (uint32_t k = BASE;; k += BASE) {
        int value = *at < end ? digit(*(*at)++) : -1;
        if (value < 0)
            return false;
        total += (uint64_t)value * weight;
        uint32_t threshold = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
        if ((uint32_t)value < threshold)
            break;
        weight *= BASE - threshold;
        if (total > UINT32_MAX || weight > UINT32_MAX)
            return false;
    }
    *sum = (uint32_t)total;
    return total <= UINT32_MAX;
}

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

static const char *to_utf8(struct swift_arena *arena, const uint32_t *points, uint32_t count,
                           size_t *length)
{
    char *text = swift_take(arena, 4 * (size_t)count);
    if (text == NULL)
        return NULL;
    *length = 0;
    for (uint32_t i = 0; i < count; i++) {
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
    uint32_t points[MAX_POINTS], count = 0;
    const char *at = text, *end = text + *length, *delimiter = end;
    while (delimiter > text && delimiter[-1] != '_')
        delimiter--;
    if (delimiter > text) { /* the ASCII characters come first */
        if (delimiter - text > MAX_POINTS)
            return NULL;
        for (; at < delimiter - 1; at++) {
            if ((unsigned char)*at >= 0x80)
                return NULL;
            points[count++] = (uint32_t)*at;
        }
        at = delimiter;
    }
    uint32_t point = FIRST, i = 0, bias = BIAS;
    while (at < end) {
        uint32_t before = i;
        if (count == MAX_POINTS || !add_delta(&at, end, bias, &i))
            return NULL;
        count++;
        bias = adapt(i - before, count, before == 0);
        if (i / count > 0x10ffff - point)
            return NULL;
        point += i / count;
        i %= count;
        memmove(points + i + 1, points + i, (count - 1 - i) * sizeof(points[0]));
        points[i++] = point;
    }
    return to_utf8(arena, points, count, length);
}
