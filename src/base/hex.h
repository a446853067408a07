/* Bytes as text, two hexadecimal digits each, and back. Async-signal-safe and thread-safe. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * size lower-case digits and a NUL, and returns where the NUL is. */
static inline char *hex_text(char *text, const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *byte = (const uint8_t *)bytes;
    for (size_t i = 0; i < size; i++) {
        *text++ = digits[byte[i] >> 4];
        *text++ = digits[byte[i] & 15];
    }
    *text = '\0';
    return text;
}

/* What a digit counts; -1: it is none. */
static inline int hex_lower_digit(int c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The same, of upper case too. */
static inline int hex_digit(int c)
{
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : hex_lower_digit(c);
}

#endif
