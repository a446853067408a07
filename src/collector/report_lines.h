/*
 * The body of POST /api/v1/reports, taken apart (docs/upload.md, "The request"):
 *
 *     report = id (32 lower-case hexadecimal digits), space, size, line feed, `size` bytes
 *
 * Invariant: what is handed out lies within the body, and when all is taken the sizes sum up to it.
 */
#ifndef COLLECTOR_REPORT_LINES_H
#define COLLECTOR_REPORT_LINES_H

#include "base/reader.h"
#include "framewalk/error.h"

enum {
    REPORT_LINES_MOST = 100,         /* reports in one request */
    REPORT_LINES_LARGEST = 20971520, /* bytes of one, by the protocol */
};

struct report_line {
    uint8_t id[16];
    struct span bytes;
};

/* All reports of `body` into lines[REPORT_LINES_MOST]. FW_ERR_FORMAT: the body is of another form;
 * `why` says what is wrong, `place` where. */
fw_error report_lines_read(struct span body, struct report_line *lines, size_t *count,
                           struct fw_failure *why);

#endif
