/*
 * Punycode (RFC 3492), as the names of Rust and Swift have it: both write the digits 26 to 35 in a
 * way of their own, and neither ends what it has in ASCII with a hyphen.
 */
#ifndef DEMANGLE_PUNYCODE_H
#define DEMANGLE_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Puts the characters that `digits` describe among those of `ascii`; digits 26 to 35 begin with the
 * character `ten`. False when that is no Punycode, or more than `capacity` characters come out.
 * What is no character of Unicode's (surrogates) is left to the caller.
 */
bool punycode_decode(const char *ascii, size_t ascii_length, const char *digits, size_t length,
                     char ten, uint32_t *points, size_t capacity, size_t *count);

#endif
