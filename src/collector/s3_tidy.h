/* Uploads of several parts that a server which was killed has left in a bucket. */
#ifndef COLLECTOR_S3_TIDY_H
#define COLLECTOR_S3_TIDY_H

#include "collector/s3_request.h"

/* Aborts those below our prefix that were begun before `before_ms`. What fails is left for the next
 * time. Returns how many were aborted. */
size_t s3_tidy(struct s3 *s3, uint64_t before_ms);

#endif
