/*
 * What the files of intake_ids.h share: intake_ids_stacks.c does stacks, intake_ids.c all other
 * rows. Nobody else includes it.
 */
#ifndef COLLECTOR_INTAKE_IDS_INNER_H
#define COLLECTOR_INTAKE_IDS_INNER_H

#include "collector/intake_ids.h"

enum { DAY_MS = 86400 * 1000 };

struct ids_want { /* a row that is asked for */
    struct span key;
    struct intake_report *report;
    void *item; /* what gets the number */
    int kind;   /* of terms */
    const char *text;
};

struct ids_filling {
    struct intake_ids *ids;
    struct db_conn *conn;
    struct arena *arena;
    struct fw_failure *why;
    struct ids_want *wants;
    size_t count, capacity;
};

/* Adds a want whose key is a number and two texts or bytes. */
fw_error intake_ids_want(struct ids_filling *f, struct ids_want w, int64_t number, struct span a,
                         struct span b);
/* In the order of their keys: intake_ids.h says why. */
void intake_ids_sort(struct ids_filling *f);
/* The number in the first row of an INSERT ... RETURNING or SELECT; 0: there was none. */
fw_error intake_ids_number(struct ids_filling *f, int64_t *number, const char *sql,
                           const struct db_value *values, size_t count);
/* The image that stands for all beyond a project's limit. */
fw_error intake_ids_other_image(struct ids_filling *f, const struct ids_want *w, int64_t *id);

/* ---- intake_ids_stacks.c ---- */

/* Stacks get their `row`, reports their `group`. Images have theirs already. */
fw_error intake_ids_fill_stacks(struct ids_filling *f, struct intake_report **reports,
                                size_t count);

#endif
