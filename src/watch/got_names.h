/*
 * The names of functions, found by the text of a symbol: "open", or "open@GLIBC_2.2.5" for one
 * version alone.
 */
#ifndef WATCH_GOT_NAMES_H
#define WATCH_GOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GOT_NAMES_MOST = 264, GOT_NAMES_CELLS = 1024 };

struct got_name {
    const char *text;    /* not terminated: see length */
    size_t length;       /* before the "@" */
    const char *version; /* NULL: any */
};

struct got_names {
    struct got_name name[GOT_NAMES_MOST];
    uint32_t count;
    uint16_t cell[GOT_NAMES_CELLS]; /* number + 1; 0 none */
};

void got_names_init(struct got_names *names, const char *const *texts, uint32_t count);

/* The next number behind `after` (-1 at first) whose text is `symbol`; -1 when there is none more.
 */
int got_names_next(const struct got_names *names, const char *symbol, int after);

#endif
