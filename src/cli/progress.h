/*
 * Progress of a job, for somebody who waits at a terminal: one line on standard error that appears
 * when the job takes longer than half a second and is gone when it ends.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool wanted;   /* standard error is a terminal */
    bool shown;    /* a line is there to be erased */
    uint64_t next; /* when the line may change, ns of CLOCK_MONOTONIC */
};

void progress_begin(struct progress *progress);
void progress_show(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *progress);

#endif
