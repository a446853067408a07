/* Colours (ECMA-48 SGR; https://no-color.org) and cleaning of foreign text. */
#include "cli/style.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool style_wanted(enum style_when when, FILE *to)
{
    if (when != STYLE_AUTO)
        return when == STYLE_ALWAYS;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return (no == NULL || no[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0 &&
           isatty(fileno(to)) == 1;
}

static void print(struct style *style, enum style_kind kind, const char *format, va_list arguments)
{
    static const char *const start[] = {
        [STYLE_PLAIN] = "",          [STYLE_DIM] = "\033[2m",      [STYLE_STRONG] = "\033[1m",
        [STYLE_ACTIVE] = "\033[32m", [STYLE_WARNING] = "\033[33m",
    };
    bool color = style->color && kind != STYLE_PLAIN;
    if (color)
        fputs(start[kind], style->to);
    vfprintf(style->to, format, arguments);
    if (color)
        fputs("\033[0m", style->to);
}

void style_print(struct style *style, enum style_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(style, kind, format, arguments);
    va_end(arguments);
}

void style_line(struct style *style, enum style_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(style, kind, format, arguments);
    va_end(arguments);
    fputc('\n', style->to);
}

size_t style_clean(const char *text, char *to, size_t size)
{
    static const char hex[] = "0123456789abcdef";
    size_t used = 0, columns = 0;
    for (size_t length; *text != '\0'; text += length) {
        length = utf8_length(text);
        bool shown = length > 0 && !utf8_is_control(text);
        if (length == 0)
            length = 1;
        size_t need = shown ? length : 4 * length;
        if (used + need >= size)
            break;
        if (shown) {
            memcpy(to + used, text, length);
        } else {
            for (size_t i = 0; i < length; i++) {
                unsigned char byte = (unsigned char)text[i];
                char escape[4] = {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
                memcpy(to + used + 4 * i, escape, 4);
            }
        }
        used += need;
        columns += shown ? 1 : need;
    }
    to[used] = '\0';
    return columns;
}
