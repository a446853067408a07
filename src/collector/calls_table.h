/*
 * Who called which watched function: one row for each API and caller, of all that the filter
 * chooses. Sums are read (calls_sums.h), so what is read grows with callers and not with stacks,
 * builds or reports.
 *
 * A caller is the function in which the call stands (an inlined one too), or the image alone where
 * no name is known; so it is the same one in all builds. In a difference, calls without a name also
 * tell whether they came from new places: places of one build are the same, of another they are
 * not. A table belongs to the thread of its
 * request.
 */
#ifndef COLLECTOR_CALLS_TABLE_H
#define COLLECTOR_CALLS_TABLE_H

#include "collector/api_frames.h"

enum {
    CALLS_PENDING = 200000, /* places that are named for one answer, at most */
    CALLS_ROWS = 5000,      /* of one list */
};

struct calls_row {
    const char *api, *function, *image, *file; /* all but api: NULL unknown */
    uint32_t line;
    int64_t count;               /* in what the table is of */
    int64_t before, after;       /* of a difference */
    int64_t first_day, last_day; /* of these calls */
    const char *first_version;   /* by the order of versions, of all; NULL: not known */
    bool new_place; /* of a difference: without a name, and from a place that the first has not */
    int64_t rule;   /* of the allow list; 0: none allows it */
};

struct calls_table {
    struct calls_row *rows; /* by API, image, function */
    size_t count, capacity;
    bool truncated; /* something is missing, or counts as "(other)" */
    struct arena arena;
    struct api_frames *frames;
};

/* Of the calls that v's filter lets through; v->error says what failed. */
void calls_table_read(struct api_view *v, struct calls_table *table);
/* Of two versions ("2.1": all its builds; "2.1 (7)"), whatever the filter. from NULL: of `to`
 * alone. */
void calls_table_read_two(struct api_view *v, const char *from, const char *to,
                          struct calls_table *table);
void calls_table_free(struct calls_table *table);
/* Appends a row as an object, which stays open. */
void calls_row_open(struct report_bytes *out, const struct calls_row *row);

/* What place a frame is of, as tables know it; both may be NULL. */
void calls_caller(struct api_frames *frames, const struct stack_frame *frame, const char **image,
                  const char **function);

/* Whether `text` fits a pattern, in which * stands for any text and ? for one character. */
bool calls_fits(const char *pattern, const char *text);

#endif
