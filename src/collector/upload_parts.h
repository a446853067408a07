/* The parts of an upload, one behind the other. */
#ifndef COLLECTOR_UPLOAD_PARTS_H
#define COLLECTOR_UPLOAD_PARTS_H

#include "collector/jobs.h"

/* Writes all `size` bytes of the upload to `to`, and gives their SHA-256. FW_ERR_CORRUPT: parts are
 * missing or shorter than they were. `job` is told that it goes on. */
fw_error upload_put_together(struct collector *c, const struct job *job, const char *id,
                             uint64_t size, int to, uint8_t sha256[32], struct fw_failure *why);

#endif
