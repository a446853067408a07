/*
 * Uploads of debug files: tus 1.0 (core, creation, termination), and the job that converts what
 * came.
 *
 * A part is a file of this server until it is whole or its connection broke; then it becomes a
 * blob, and only then `received` grows, in the transaction that names the blob. So any server goes
 * on where another stopped, and an upload's offset is never more than what is stored.
 */
#ifndef COLLECTOR_UPLOADS_H
#define COLLECTOR_UPLOADS_H

#include "collector/collector.h"
#include "collector/http.h"
#include "collector/jobs.h"

enum upload_state { UPLOAD_SENDING, UPLOAD_QUEUED, UPLOAD_CONVERTED, UPLOAD_REJECTED };
enum {
    UPLOAD_ID_DIGITS = 32,
    UPLOAD_PART_BYTES = 64 << 20, /* that one request may send */
};

extern const struct http_routes routes_uploads;
extern const struct job_kind job_convert; /* upload_job.c; subject: the upload's id */
extern const struct job_kind job_uploads; /* upload_sweep.c: what nobody finishes or names */

/* The folder of files in the making below DATA; made when it is not there. False: message. */
bool upload_work_folder(const struct collector *c, char *path, size_t size, struct fw_failure *why);
/* Whether `bytes` more fit and leave the reserve free. */
bool upload_has_room(struct collector *c, uint64_t bytes);

#endif
