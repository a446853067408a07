/* UTF-8 decoding by the table of RFC 3629, section 4. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_length(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    unsigned low = 0x80, high = 0xbf; /* what the second byte may be */
    size_t length = 0;

    if (byte[0] == 0)
        return 0;
    if (byte[0] < 0x80)
        return 1;
    if (byte[0] >= 0xc2 && byte[0] <= 0xdf)
        length = 2;
    else if (byte[0] >= 0xe0 && byte[0] <= 0xef)
        length = 3;
    else if (byte[0] >= 0xf0 && byte[0] <= 0xf4)
        length = 4;
    else
        return 0;
    switch (byte[0]) {
    case 0xe0: low = 0xa0; break;  /* overlong */
    case 0xed: high = 0x9f; break; /* surrogates */
    case 0xf0: low = 0x90; break;  /* overlong */
    case 0xf4: high = 0x8f; break; /* past U+10FFFF */
    default: break;
    }
    for (size_t i = 1; i < length; i++) { /* the terminator fails the comparison */
        if (byte[i] < low || byte[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

bool utf8_is_control(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (byte[0] < 0x20 || byte[0] == 0x7f)
        return true;
    if (byte[0] == 0xc2 && byte[1] < 0xa0) /* U+0080..U+009F */
        return true;
    if (byte[0] == 0xe2 && byte[1] == 0x80) /* U+200E, U+200F, U+2028..U+202E */
        return byte[2] == 0x8e || byte[2] == 0x8f || (byte[2] >= 0xa8 && byte[2] <= 0xae);
    if (byte[0] == 0xe2 && byte[1] == 0x81) /* U+2066..U+2069 */
        return byte[2] >= 0xa6 && byte[2] <= 0xa9;
    return false;
}

void utf8_repair(const char *text, char *to, size_t size)
{
    size_t used = 0;
    while (*text != '\0') {
        size_t length = utf8_length(text), take = length > 0 ? length : 3;
        if (used + take >= size)
            break;
        memcpy(to + used, length > 0 ? text : "\xef\xbf\xbd", take);
        used += take;
        text += length > 0 ? length : 1;
    }
    to[used] = '\0';
}
