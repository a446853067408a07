/*
 * Legacy names of Rust: _ZN, components with their lengths, E. The last component is a hash; what
 * is no letter is written as $LT$, $u20$ and the like, :: inside of a component as two dots.
 */
#include "demangle/rust.h"

#include <stdint.h>

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool rust_character(struct text *text, unsigned long code)
{
    char bytes[4];
    if (code < 0x80) {
        text_char(text, (char)code);
        return true;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (char)(heads[length] | code);
    text_add(text, bytes, length);
    return true;
}

/* The character that `length` letters between dollars mean; 0: none. */
static unsigned long escaped(const char *word, size_t length)
{
    static const struct {
        const char *word;
        char means;
    } words[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
                 {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0)
            return (unsigned char)words[i].means;
    if (length < 2 || length > 7 || word[0] != 'u')
        return 0;
    unsigned long code = 0;
    for (size_t i = 1; i < length; i++) {
        if (!is_hex(word[i]))
            return 0;
        code = code << 4 | (unsigned long)(word[i] <= '9' ? word[i] - '0' : word[i] - 'a' + 10);
    }
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    return control || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : code;
}

/* $WORD$ at the front: its length with the dollars, and what it means. 0: none. */
static size_t escape_at(const char *at, const char *end, unsigned long *code)
{
    if (at == end || *at != '$')
        return 0;
    const char *close = memchr(at + 1, '$', (size_t)(end - at - 1));
    if (!close || !(*code = escaped(at + 1, (size_t)(close - at - 1))))
        return 0;
    return (size_t)(close - at) + 1;
}

static void component(struct text *text, const char *at, const char *end)
{
    if (end - at >= 2 && at[0] == '_' && at[1] == '$')
        at++;
    while (at < end) {
        unsigned long code = 0;
        size_t length = escape_at(at, end, &code);
        if (length) {
            rust_character(text, code);
            at += length;
        } else if (*at == '$') {
            break; /* an unknown one: the rest is shown as it is */
        } else if (*at == '.') {
            bool two = at + 1 < end && at[1] == '.';
            text_string(text, two ? "::" : ".");
            at += two ? 2 : 1;
        } else {
            const char *from = at;
            while (at < end && *at != '.' && *at != '$')
                at++;
            text_add(text, from, (size_t)(at - from));
        }
    }
    text_add(text, at, (size_t)(end - at));
}

static bool is_hash(const char *at, const char *end)
{
    if (at == end || *at++ != 'h')
        return false;
    while (at < end && (is_hex(*at) || (*at >= 'A' && *at <= 'F')))
        at++;
    return at == end;
}

struct components {
    size_t count, end; /* of the whole: behind E */
    bool escapes;      /* of those that only Rust writes */
    bool hash;         /* the last is one, of the usual length */
};

static bool next(const char **at, const char *end, const char **from, const char **to)
{
    size_t length = 0;
    const char *p = *at;
    if (p == end || *p < '0' || *p > '9')
        return false;
    for (; p < end && *p >= '0' && *p <= '9' && length <= DEMANGLE_MAX_INPUT; p++)
        length = length * 10 + (size_t)(*p - '0');
    if (length > (size_t)(end - p))
        return false;
    *from = p;
    *at = *to = p + length;
    return true;
}

static bool examine(const char *name, size_t length, struct components *found)
{
    const char *at = name, *end = name + length, *from, *to;
    *found = (struct components){0};
    while (at < end && *at != 'E') {
        if (!next(&at, end, &from, &to))
            return false;
        found->count++;
        found->hash = to - from == 17 && is_hash(from, to);
        for (const char *p = from; p < to && !found->escapes; p++) {
            unsigned long code;
            found->escapes = escape_at(p, to, &code) > 0;
        }
    }
    found->end = (size_t)(at - name) + 1;
    return at < end && found->count > 0;
}

static bool legacy(const char *name, size_t length, const struct demangle_options *options,
                   struct text *text, size_t *used)
{
    struct components found;
    if (!examine(name, length, &found) ||
        !(found.hash || found.escapes || options->language == DEMANGLE_RUST))
        return false;
    const char *at = name, *from, *to;
    for (size_t i = 0; i < found.count && next(&at, name + length, &from, &to); i++) {
        if (!options->hashes && i > 0 && i + 1 == found.count && is_hash(from, to))
            break;
        if (i > 0)
            text_string(text, "::");
        component(text, from, to);
    }
    *used = found.end;
    return true;
}

/* Where ".llvm.HASH" begins, which the compiler appends; `length` when it does not. */
static size_t without_llvm(const char *name, size_t length)
{
    static const char word[] = ".llvm.";
    const char *end = name + length, *at = memmem(name, length, word, sizeof word - 1);
    if (!at)
        return length;
    const char *p = at + sizeof word - 1;
    while (p < end && ((*p >= '0' && *p <= '9') || *p == '@' || (*p >= 'A' && *p <= 'F')))
        p++;
    return p == end ? (size_t)(at - name) : length;
}

/* Most names that look like legacy ones are C++'s: a quick look tells. */
static bool may_be_legacy(const char *name, size_t length)
{
    return memchr(name, '$', length) || memmem(name, length, "17h", 3);
}

static bool is_ascii(const char *name, size_t length)
{
    unsigned char all = 0;
    for (size_t i = 0; i < length; i++)
        all |= (unsigned char)name[i];
    return all < 0x80;
}

bool rust_decode(const char *name, size_t length, const struct demangle_options *options,
                 struct text *text)
{
    bool forced = options->language == DEMANGLE_RUST, understood = false;
    size_t at = 0, used = 0;
    while (at < 2 && at < length && name[at] == '_')
        at++;
    if (at == 0 && !forced)
        return false;
    if (length - at > 2 && name[at] == 'Z' && name[at + 1] == 'N') {
        at += 2;
        if (!forced && !may_be_legacy(name + at, length - at))
            return false;
        length = at + without_llvm(name + at, length - at);
        understood = is_ascii(name, length) && legacy(name + at, length - at, options, text, &used);
    } else if (length - at > 1 && name[at] == 'R' && is_upper(name[at + 1])) {
        at += 1;
        length = at + without_llvm(name + at, length - at);
        understood =
            is_ascii(name, length) && rust_v0(name + at, length - at, options, text, &used);
    }
    at += used;
    if (!understood || (at < length && name[at] != '.' && name[at] != '@'))
        return false;
    if (options->style != DEMANGLE_SIMPLIFIED || (at < length && name[at] == '@'))
        text_add(text, name + at, length - at);
    return true;
}
