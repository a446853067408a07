#include "collector/grouping_text.h"

#include <ctype.h>
#include <string.h>

void name_put(struct name *name, const char *text, size_t size)
{
    if (size > GROUP_NAME_MAX - name->size)
        size = GROUP_NAME_MAX - name->size;
    memcpy(name->text + name->size, text, size);
    name->size += size;
}

void name_put_text(struct name *name, const char *text)
{
    name_put(name, text, strlen(text));
}

bool name_ends_with(const struct name *name, const char *text)
{
    size_t size = strlen(text);
    return name->size >= name->start + size &&
           memcmp(name->text + name->size - size, text, size) == 0;
}

size_t words_left(const struct words *w)
{
    return (size_t)(w->end - w->at);
}

bool words_at(const struct words *w, const char *text)
{
    size_t size = strlen(text);
    return words_left(w) >= size && memcmp(w->at, text, size) == 0;
}

bool words_skip(struct words *w, const char *text)
{
    if (!words_at(w, text))
        return false;
    w->at += strlen(text);
    return true;
}

bool words_is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

const char *words_find(const char *at, const char *end, const char *text)
{
    return memmem(at, (size_t)(end - at), text, strlen(text));
}

const char *words_closing(const char *at, const char *end)
{
    char open = *at, close = open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
    size_t depth = 0;
    for (; at < end; at++) {
        if (*at == open)
            depth++;
        else if (*at == close && !(close == '>' && at[-1] == '-') && --depth == 0)
            return at;
    }
    return NULL;
}

bool words_all_digits(const char *at, const char *end)
{
    for (; at < end; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return true;
}

bool words_all_hex(const char *at, const char *end)
{
    for (; at < end; at++)
        if (!isxdigit((unsigned char)*at))
            return false;
    return true;
}

bool words_is_one_of(const char *at, const char *end, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((size_t)(end - at) == strlen(words[i]) && memcmp(at, words[i], (size_t)(end - at)) == 0)
            return true;
    return false;
}

const char *words_last_of(const struct words *w, char c)
{
    for (const char *at = w->end; at > w->at; at--)
        if (at[-1] == c)
            return at - 1;
    return NULL;
}

void words_trim(struct words *w)
{
    while (w->at < w->end && isspace((unsigned char)*w->at))
        w->at++;
    while (w->end > w->at && isspace((unsigned char)w->end[-1]))
        w->end--;
}
