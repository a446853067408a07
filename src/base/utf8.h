/* UTF-8 (RFC 3629): what of a foreign string is text. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `text`; 0 when there is none: the end, an overlong form, a surrogate,
 * or a byte that belongs nowhere. */
size_t utf8_length(const char *text);

/* Whether the character at `text` acts on a terminal instead of being shown: C0, DEL, C1, and the
 * marks that turn the direction of text around. */
bool utf8_is_control(const char *text);

/* Copies `text`, every byte that is no character replaced by U+FFFD; cut at `size`. */
void utf8_repair(const char *text, char *to, size_t size);

#endif
