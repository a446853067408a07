/* The Firefox Profiler's processed profile in two parts: the tables that all threads share
 * (to_firefox_tables.c), and threads and the rest (to_firefox.c). */
#ifndef REPORT_TO_FIREFOX_H
#define REPORT_TO_FIREFOX_H

#include "report/profile.h"

struct frame_row {           /* of the frame table */
    uint32_t location, line; /* line: of the location */
    uint32_t native;         /* row of the table of native symbols; PROFILE_NONE: none */
};

struct native { /* a function of a library */
    uint32_t image, name;
    uint64_t start, size;
};

struct firefox {
    struct profile *p;
    struct report_bytes *out;
    uint32_t *first_row;  /* frame row of each location's outermost line; its inlined ones follow */
    uint32_t *last_stack; /* stack row of each node */
    uint32_t *lib;        /* of each image; PROFILE_NONE: not used */
    uint32_t *source;     /* of each text that is a file; else PROFILE_NONE */
    struct frame_row *rows;
    struct native *natives;
    struct profile_table by_native;
    size_t row_count, stack_count, native_count, lib_count, source_count;
    uint32_t text_hang; /* "Hang" */
    bool symbolicated;
};

/* `"name":[` and a comma before it where one is needed. */
void firefox_column(struct report_bytes *out, const char *name);

/* Makes what the tables are written from; firefox_free in any case. */
fw_error firefox_make(struct firefox *w);
void firefox_free(struct firefox *w);
/* `"shared":{...}` */
void firefox_tables(struct firefox *w);

#endif
