/* Identifiers: see swift_words.h, and "Identifiers" in docs/ABI/Mangling.rst of Swift. */
#include "demangle/swift_words.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static void learn(struct swift_words *words, const char *text, size_t length)
{
    if (length >= 2 && words->count < SWIFT_MAX_WORDS) {
        words->all[words->count].text = text;
        words->all[words->count++].length = (uint32_t)length;
    }
}

/* A word starts at a letter and ends before "_" and before a capital that follows no capital. */
static void learn_words(struct swift_words *words, const char *text, size_t length)
{
    const char *start = NULL, *end = text + length;
    for (const char *c = text; c < end; c++) {
        bool ends = *c == '_' || (is_upper(*c) && !is_upper(c[-(c > text)]));
        if (start != NULL && ends) {
            learn(words, start, (size_t)(c - start));
            start = NULL;
        }
        if (start == NULL && !is_digit(*c) && *c != '_')
            start = c;
    }
    if (start != NULL)
        learn(words, start, (size_t)(end - start));
}

/* A length and that many bytes. */
static const char *read_run(const char **at, const char *end, bool punycode, size_t *length)
{
    const char *c = *at;
    size_t run = 0;
    if (c >= end || !is_digit(*c))
        return NULL;
    for (; c < end && is_digit(*c); c++) {
        run = run * 10 + (size_t)(*c - '0');
        if (run > (size_t)(end - *at))
            return NULL;
    }
    if (punycode && c < end && *c == '_')
        c++;
    if (run == 0 || run > (size_t)(end - c))
        return NULL;
    *at = c + run;
    *length = run;
    return c;
}

/* Pieces of a text that grows in the arena. */
struct text {
    char *bytes;
    size_t used, room;
};

static bool append(struct swift_arena *arena, struct text *text, const char *piece, size_t length)
{
    if (length > text->room - text->used) {
        size_t room = 2 * text->room + length + 32;
        char *bytes = swift_take(arena, room);
        if (bytes == NULL)
            return false;
        if (text->used != 0)
            memcpy(bytes, text->bytes, text->used);
        text->bytes = bytes;
        text->room = room;
    }
    memcpy(text->bytes + text->used, piece, length);
    text->used += length;
    return true;
}

/* After the "0" that announces words: word letters, the last one a capital, and runs between. */
static struct swift_node *read_with_words(struct swift_arena *arena, struct swift_words *words,
                                          const char **at, const char *end)
{
    struct text text = {0};
    bool more = true;
    while (more) {
        while (more && *at < end && (is_lower(**at) || is_upper(**at))) {
            char c = *(*at)++;
            more = is_lower(c);
            unsigned number = (unsigned)(c - (more ? 'a' : 'A'));
            if (number >= words->count ||
                !append(arena, &text, words->all[number].text, words->all[number].length))
                return NULL;
        }
        if (*at < end && **at == '0') {
            (*at)++;
            break;
        }
        size_t length;
        const char *run = read_run(at, end, false, &length);
        if (run == NULL || !append(arena, &text, run, length))
            return NULL;
        learn_words(words, run, length);
    }
    return text.used != 0 ? swift_new_text(arena, SW_IDENTIFIER, text.bytes, text.used) : NULL;
}

struct swift_node *swift_read_identifier(struct swift_arena *arena, struct swift_words *words,
                                         const char **at, const char *end)
{
    bool punycode = end - *at >= 2 && (*at)[0] == '0' && (*at)[1] == '0';
    if (punycode)
        *at += 2;
    else if (*at < end && **at == '0') {
        (*at)++;
        return read_with_words(arena, words, at, end);
    }
    size_t length;
    const char *run = read_run(at, end, punycode, &length);
    if (run == NULL)
        return NULL;
    if (punycode)
        run = swift_punycode(arena, run, &length);
    else
        learn_words(words, run, length);
    return run != NULL && length != 0 ? swift_new_text(arena, SW_IDENTIFIER, run, length) : NULL;
}
