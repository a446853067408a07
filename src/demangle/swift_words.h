/*
 * Identifiers of the Swift mangling: with a length before them, made of words of earlier
 * identifiers, or in the project's form of Punycode (RFC 3492).
 */
#ifndef DEMANGLE_SWIFT_WORDS_H
#define DEMANGLE_SWIFT_WORDS_H

#include "demangle/swift_node.h"

enum { SWIFT_MAX_WORDS = 26 };

struct swift_words {
    struct {
        const char *text;
        uint32_t length;
    } all[SWIFT_MAX_WORDS];
    unsigned count;
};

/* Reads an identifier at *at, which is moved behind it, and learns its words. NULL: malformed. */
struct swift_node *swift_read_identifier(struct swift_arena *arena, struct swift_words *words,
                                         const char **at, const char *end);

/* Decodes Punycode to UTF-8 in the arena; *length is that of the encoded, then of the decoded
 * text. NULL: malformed. */
const char *swift_punycode(struct swift_arena *arena, const char *text, size_t *length);

#endif
