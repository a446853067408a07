/* The transaction that makes rows of reports: intake_write.c. */
#ifndef COLLECTOR_INTAKE_WRITE_H
#define COLLECTOR_INTAKE_WRITE_H

#include "collector/collector.h"
#include "collector/intake_ids.h"
#include "collector/intake_sums.h"

struct intake_writer { /* one worker's */
    struct collector *c;
    struct intake_ids ids;
    struct intake_sums sums;
    struct arena arena; /* of one batch */
    int64_t held_ms;    /* how long the last transaction took */
};

/* All rows and sums of `reports`, which the caller has by `lease_ms`, and their bodies are theirs:
 * in one transaction or not at all. FW_ERR_NOT_FOUND: the lease was lost, somebody else has them.
 */
fw_error intake_write(struct intake_writer *writer, struct intake_report **reports, size_t count,
                      int64_t lease_ms, struct fw_failure *why);

#endif
