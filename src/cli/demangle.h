/* `framewalk demangle`: names of C++, Rust and Swift in running text, or one by one. */
#ifndef CLI_DEMANGLE_H
#define CLI_DEMANGLE_H

#include "demangle/demangle.h"

#include <stdio.h>

int demangle_main(int argc, char **argv);
void demangle_usage(FILE *to);

/*
 * Text that passes by, its names replaced. A name is a run of letters, digits, _ $ and dots that
 * the options' languages know; all else goes through byte by byte, NUL and what is not UTF-8 too.
 * A run longer than DEMANGLE_MAX_INPUT is no name, so that memory is bounded on any input.
 */
enum { DEMANGLE_SHOWN_SIZE = 1 << 20 };

struct demangle_filter {
    struct demangle_options options;
    bool off;              /* names stay as they are */
    bool strip_underscore; /* one, before names are looked at */
    FILE *out;
    size_t length;                    /* of the run so far, while it may be a name */
    bool passing;                     /* in a run that is none */
    char run[DEMANGLE_MAX_INPUT + 1]; /* with room for a terminator */
    char shown[DEMANGLE_SHOWN_SIZE];
};

void demangle_filter_text(struct demangle_filter *filter, const char *bytes, size_t count);
/* No more text comes. */
void demangle_filter_end(struct demangle_filter *filter);
/* The name as it is to be shown. */
const char *demangle_filter_name(struct demangle_filter *filter, const char *name);

#endif
