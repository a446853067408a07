/*
 * Groups that somebody resolved: in which version they are fixed, when a report opens them again,
 * and the history of a group.
 *
 * A group is fixed *in* a version: reports of it, and of later ones by the order of versions
 * (versions.h), open the group; older ones, which come in for weeks, do not. The version need not
 * have come out. Fixed *after* a version: only what is later opens it.
 */
#ifndef COLLECTOR_GROUPS_FIXED_H
#define COLLECTOR_GROUPS_FIXED_H

#include "collector/db.h"

struct group_seen { /* a version of which a group has a report */
    const char *version, *build;
    int64_t date_ms; /* version.date_ms */
};

struct group_fixed { /* columns of hang_group */
    char version[256], build[256];
    bool after;
    int64_t date_ms; /* when that version came out; INT64_MAX: not yet */
};
/* The columns of a group with alias h, and what reads them from column `at` on. */
#define GROUP_FIXED_COLUMNS                                                                        \
    "h.fixed_version, h.fixed_build, h.fixed_after, (SELECT MIN(f.date_ms) FROM version f"         \
    " WHERE f.project = h.project AND f.version = h.fixed_version"                                 \
    " AND (h.fixed_build = '' OR f.build = h.fixed_build))"
enum { GROUP_FIXED_COLUMN_COUNT = 4 };
void group_fixed_read(const struct db_rows *rows, int at, struct group_fixed *fixed);

/* Whether a report of this version opens the group again. */
bool group_fixed_is_back(const struct group_fixed *fixed, const struct group_seen *seen);

/* The group is open again because of such a report; in the caller's transaction. */
fw_error group_reopen(struct db_conn *conn, int64_t group, const struct group_seen *seen,
                      int64_t now_ms, struct fw_failure *why);

/* A line of the group's history. `who` "": the server itself. */
fw_error group_event_add(struct db_conn *conn, int64_t project, int64_t group, int64_t now_ms,
                         const char *who, const char *action, const char *detail,
                         struct fw_failure *why);

#endif
