#include "demangle/punycode.h"

#include <string.h>

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 128 };
enum { LAST_POINT = 0x10ffff };

static int digit(char c, char ten)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= ten && c < ten + 10 ? c - ten + 26 : -1;
}

/* RFC 3492 chapter 6.1. */
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
static bool add_delta(const char **at, const char *end, char ten, uint32_t bias, uint32_t *sum)
{
    uint64_t weight = 1, total = *sum;
    for (uint32_t k = BASE;; k += BASE) {
        int value = *at < end ? digit(*(*at)++, ten) : -1;
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

bool punycode_decode(const char *ascii, size_t ascii_length, const char *digits, size_t length,
                     char ten, uint32_t *points, size_t capacity, size_t *count)
{
    if (ascii_length > capacity)
        return false;
    for (size_t k = 0; k < ascii_length; k++)
        points[k] = (unsigned char)ascii[k];
    uint32_t n = (uint32_t)ascii_length, point = FIRST, i = 0, bias = BIAS;
    for (const char *at = digits, *end = digits + length; at < end;) {
        uint32_t before = i;
        if (n == capacity || !add_delta(&at, end, ten, bias, &i))
            return false;
        n++;
        bias = adapt(i - before, n, before == 0);
        if (i / n > LAST_POINT - point)
            return false;
        point += i / n;
        i %= n;
        memmove(points + i + 1, points + i, (n - 1 - i) * sizeof(points[0]));
        points[i++] = point;
    }
    *count = n;
    return true;
}
