/*
 * Sums over reports: added up in memory for a batch, then written in the order of their keys, each
 * row once, so that two servers that write the same rows wait in one direction only.
 */
#ifndef COLLECTOR_INTAKE_SUMS_H
#define COLLECTOR_INTAKE_SUMS_H

#include "collector/group_sums.h"
#include "collector/intake_ids.h"

struct intake_sum;
struct intake_sums { /* all zero: empty */
    struct intake_sum *sums;
    size_t count, capacity;
    struct group_sums groups;
};

/* What one report adds. Its rows are known (intake_ids_fill). FW_ERR_MEMORY. */
fw_error intake_sums_add(struct intake_sums *sums, const struct intake_report *report);
/* Sessions and sums of the batch, in the caller's transaction. A resolved group that came back in
 * a version in which it was to be gone is opened again. Empties `sums`. */
fw_error intake_sums_write(struct intake_sums *sums, struct db_conn *conn,
                           struct intake_report **reports, size_t count, uint64_t now_ms,
                           struct fw_failure *why);
void intake_sums_free(struct intake_sums *sums);

#endif
