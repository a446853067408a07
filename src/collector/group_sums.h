/*
 * The sums of groups: group_day, group_term, group_install, and those in hang_group itself.
 *
 * Whatever brings reports into a group or takes them out of it adds or subtracts them here, in the
 * same transaction, so the sums are what the reports add up to at any moment, and no group has to
 * be summed anew, however large it is. What cannot be subtracted (the longest, the first, the last
 * of a group and of its days) is right again when the group is settled (groups.h); who takes
 * reports out marks it as stale. The last day of an installation is looked up at once.
 */
#ifndef COLLECTOR_GROUP_SUMS_H
#define COLLECTOR_GROUP_SUMS_H

#include "collector/db.h"

/* Columns of `report` that group_sums_read reads, in this order. */
#define GROUP_SUMS_COLUMNS                                                                         \
    "group_id, day, version, os, device, install, duration_ns, ending, started_ms"
enum { GROUP_SUMS_COLUMN_COUNT = 9 };

struct group_report {                 /* what of a report is summed */
    int64_t group;                    /* 0: in no group, and in no sum */
    int64_t day, version, os, device; /* os, device: 0 when not known */
    int64_t duration_ns, started_ms;
    bool killed, has_install;
    uint8_t install[16], install_size;
};
/* From column `at` on. */
struct group_report group_report_of(const struct db_rows *rows, int at);

struct group_sum;
struct group_sums { /* all zero: empty */
    struct group_sum *sums;
    size_t count, capacity;
    int64_t *resolved; /* after group_sums_write: groups that were written and are resolved */
    size_t resolved_count, resolved_capacity;
    bool failed; /* no memory while rows were read */
};

/* sign: 1 it comes, -1 it goes. FW_ERR_MEMORY. */
fw_error group_sums_add(struct group_sums *sums, const struct group_report *report, int sign);
/* In the caller's transaction, in the order of the keys. Empties `sums` but for `resolved`. */
fw_error group_sums_write(struct group_sums *sums, struct db_conn *conn, struct fw_failure *why);
void group_sums_free(struct group_sums *sums);

#endif
