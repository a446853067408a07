/*
 * Text on a terminal or in a file: colours only where they are wanted, and nothing that came from
 * the target program (names of threads, files, functions) reaches the terminal as a control
 * sequence.
 */
#ifndef CLI_STYLE_H
#define CLI_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum style_when { STYLE_AUTO = 0, STYLE_ALWAYS, STYLE_NEVER };

enum style_kind {
    STYLE_PLAIN = 0,
    STYLE_DIM,     /* secondary: images, offsets, addresses */
    STYLE_STRONG,  /* headings */
    STYLE_ACTIVE,  /* a thread that is running */
    STYLE_WARNING, /* something is missing here */
};

struct style {
    FILE *to;
    bool color;
};

/* Whether to colour: for STYLE_AUTO when `to` is a terminal that can, and NO_COLOR is unset or
 * empty. */
bool style_wanted(enum style_when when, FILE *to);

/* printf in a style. */
void style_print(struct style *style, enum style_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and the end of the line. */
void style_line(struct style *style, enum style_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Copies `text` for display: control characters and bytes that are not UTF-8 become \xNN. Returns
 * the columns it takes (characters; wide ones count as one). `to` is terminated, and cut at `size`.
 */
size_t style_clean(const char *text, char *to, size_t size);

#endif
