/* Bytes as text: two lower-case hexadecimal digits each. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * size digits and a NUL, and returns where the NUL is. */
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

#endif
