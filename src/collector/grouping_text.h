/* What names are made readable with: pieces of the input, and the result as it grows. Only
 * grouping_*.c include this. */
#ifndef COLLECTOR_GROUPING_TEXT_H
#define COLLECTOR_GROUPING_TEXT_H

#include "collector/grouping_inner.h"

struct words { /* a piece of the input */
    const char *at, *end;
};

struct name { /* the result as it grows */
    char text[GROUP_NAME_MAX + 1];
    size_t size;
    size_t start;   /* where the name begins, after a return type */
    bool arguments; /* an argument list was seen: what stood before a space was the return type */
};

/* Of the result. What does not fit is left out. */
void name_put(struct name *name, const char *text, size_t size);
void name_put_text(struct name *name, const char *text);
bool name_ends_with(const struct name *name, const char *text); /* from name->start on */

/* Of a piece. */
size_t words_left(const struct words *w);
bool words_at(const struct words *w, const char *text);
bool words_skip(struct words *w, const char *text); /* false: it does not begin so */
void words_trim(struct words *w);                   /* spaces at both ends */
const char *words_last_of(const struct words *w, char c);
/* Of the bytes from `at` to `end`. */
const char *words_find(const char *at, const char *end, const char *text);
bool words_all_digits(const char *at, const char *end);
bool words_all_hex(const char *at, const char *end);
bool words_is_one_of(const char *at, const char *end, const char *const *words, size_t count);
/* Where the bracket that `at` stands on is closed; NULL: nowhere. An arrow closes nothing. */
const char *words_closing(const char *at, const char *end);
/* May stand in an identifier. */
bool words_is_letter(char c);

/* grouping_marks.c: takes the marks of clones, hashes and versions from the end of a name. */
void name_cut_marks(struct words *w);
/* grouping_scan.c: puts a name of C++, Rust or Swift, what a compiler put in front taken off. */
void name_scan(struct name *name, struct words w);

#endif
