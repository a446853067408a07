/*
 * The order of versions (versions.h) in the table `version`: numbered, line, sort_key and
 * prerelease follow from what stands beside them, and whoever changes that writes them anew.
 *
 * date_ms is when a version came out: what somebody set (released_ms), else the day by which a
 * tenth of what is known of it had come. One early machine, or one that sends late, moves no date.
 */
#ifndef COLLECTOR_VERSION_STORE_H
#define COLLECTOR_VERSION_STORE_H

#include "collector/collector.h"
#include "collector/db.h"

/* Rows of before this order get theirs. When the server starts. */
fw_error version_store_start(struct collector *c, struct fw_failure *why);

struct version_change {  /* what somebody sets; INT64_MIN: stays as it is */
    int64_t released_ms; /* 0: found out */
    int64_t prerelease;  /* 0, 1; -1: by its text */
};
/* Of all versions that `label` names. FW_ERR_NOT_FOUND: none is of the project. In the caller's
 * transaction. */
fw_error version_store_set(struct db_conn *conn, int64_t project, const char *label,
                           const struct version_change *change, struct fw_failure *why);

struct version_before {
    char label[520];
    bool prerelease; /* there is no release before it */
};
/* What the version that `label` names is to be compared with: the last release before it, of its
 * line and with another text; without one the last version. label[0] is 0: there is none. */
fw_error version_store_before(struct db_conn *conn, int64_t project, const char *label,
                              struct version_before *before, struct fw_failure *why);

#endif
