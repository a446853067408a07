/* Groups as JSON: the object GROUP that lists, the overview and the view of one group share. */
#ifndef COLLECTOR_API_GROUPS_H
#define COLLECTOR_API_GROUPS_H

#include "collector/api_json.h"

enum { API_GROUPS_NEW = 10, API_GROUP_WORDS = 8 };

struct api_group_query { /* which groups, in which order; ranks fall */
    const char *key;     /* of the list in the answer */
    const char *new_key; /* of a second list: the first API_GROUPS_NEW of those that were not there
                            before the filter's days; NULL: none */
    int status;          /* as in hang_group; -1: all but merged ones */
    int section;         /* enum group_section; -1: all */
    int sort;            /* enum api_group_sort */
    const char *like[API_GROUP_WORDS]; /* patterns that must all be found; "": found everywhere */
    struct api_cursor after;
};
enum api_group_sort {
    SORT_BLOCKED,
    SORT_REPORTS,
    SORT_INSTALLS,
    SORT_LAST,
    SORT_FIRST,
    SORT_LONGEST
};

struct api_group_page { /* what api_groups says of the list */
    bool more;
    int64_t rank, id; /* of the last one */
    int64_t total;    /* groups in all; 0 when the page is empty */
};
/* Appends one array of GROUPs, or two. */
void api_groups(struct api_view *v, const struct api_group_query *query,
                struct api_group_page *page);
/* Appends the members of one GROUP to the object that is open. False: there is none. */
bool api_group_members(struct api_view *v, int64_t group);

/* Appends the array `key`: name, reports, blocked time of each row, which is ended. */
void api_shares(struct api_view *v, const char *key, struct db_rows *rows);

#endif
