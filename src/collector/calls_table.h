/*
 * Who called which watched function: the rows of table `call`, with their callers named, as one row
 * for each API and caller.
 *
 * A caller is the function in which the call stands (an inlined one too), or the image alone where
 * no name is known; so it is the same one in all builds. At most CALLS_ROWS rows, the ones with the
 * most calls. A table belongs to the thread of its request.
 */
#ifndef COLLECTOR_CALLS_TABLE_H
#define COLLECTOR_CALLS_TABLE_H

#include "collector/api_frames.h"

enum { CALLS_CELLS = 200000, CALLS_ROWS = 5000, CALLS_VERSIONS = 10000 };

struct calls_version {
    int64_t id, first_ms;
    const char *version, *build;
};

struct calls_count {  /* of one row */
    uint32_t version; /* index in versions */
    int64_t count;
};

struct calls_row {
    const char *api, *function, *image, *file; /* all but api: NULL unknown */
    uint32_t line;
    int64_t count, stacks, first_ms, last_ms;
    uint32_t first_version;       /* index in versions; UINT32_MAX: unknown */
    const struct calls_count *by; /* versions in which it was seen, in the order of versions */
    uint32_t by_count;
    int64_t rule; /* of the allow list; 0: none allows it */
};

struct calls_table {
    struct calls_version *versions; /* oldest first */
    size_t version_count;
    struct calls_row *rows; /* by API, then the most calls first */
    size_t row_count;
    bool truncated;
    struct arena arena;
    struct api_frames *frames;
};

/* Of the calls that v's filter lets through; first versions are of all. v->error says what failed.
 */
void calls_table_read(struct api_view *v, struct calls_table *table);
void calls_table_free(struct calls_table *table);
/* Calls of a row in the versions that `version` names ("2.1", or "2.1 (7)"). */
int64_t calls_in(const struct calls_table *table, const struct calls_row *row, const char *version);
/* Appends a row as an object, which stays open. */
void calls_row_open(struct report_bytes *out, const struct calls_table *table,
                    const struct calls_row *row);

/* Whether `text` fits a pattern, in which * stands for any text and ? for one character. */
bool calls_fits(const char *pattern, const char *text);

#endif
