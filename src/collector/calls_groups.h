/*
 * Groups of watched functions on the page: what Apple requires a reason for or guards with a
 * permission (watch/privacy.h), by the list that the library watches them by.
 *
 * A function of C may be called the same elsewhere ("stat"), so such names are of a group only in a
 * project that has reports of Apple's systems. Names of Objective-C methods always are.
 */
#ifndef COLLECTOR_CALLS_GROUPS_H
#define COLLECTOR_CALLS_GROUPS_H

#include "collector/calls_table.h"

enum { CALLS_GROUPS_MAX = 64 };

struct calls_groups {
    bool apple; /* the project has reports of Apple's systems */
    int chosen; /* the number of the query's "group"; -1: it names none */
};

/* False: replied; the query's "group" is none. */
bool calls_groups_begin(struct api_view *v, struct calls_groups *groups);
/* Whether a row's function is in the group that the query names, or it names none. */
bool calls_groups_chosen(const struct calls_groups *groups, const char *api);
/* "privacy": the list's version and the groups that the table's functions are of. Rows are by
 * function. */
void calls_groups_write(struct report_bytes *out, const struct calls_groups *groups,
                        const struct calls_table *table);
/* "file-timestamp: 0A2A.1 3B52.1; ...", for CSV; malloc'ed, empty for none. NULL: out of memory. */
char *calls_groups_text(const struct calls_groups *groups, const char *api);

#endif
