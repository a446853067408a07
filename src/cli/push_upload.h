/* One debug file to the collector, by the upload protocol of docs/upload.md. */
#ifndef CLI_PUSH_UPLOAD_H
#define CLI_PUSH_UPLOAD_H

#include "cli/push_debug.h"
#include "cli/push_http.h"

#include <time.h>

/* Sends found.files[index], the `number`th of `of`. Its fate is PUSH_SENT, or PUSH_FAILED: then its
 * message, or *answer, says why. */
void push_upload_send(struct push_debug *d, struct push_http *http, size_t index, size_t number,
                      size_t of, struct push_answer *answer);
struct push_wait {  /* for the collector's conversions, of all files together */
    unsigned limit; /* seconds without news */
    time_t since;   /* the last news, by the monotonic clock; 0: none yet */
    char heard[80]; /* what the last answer told */
    bool over;
};
/* Until the collector is done with it, or --wait-limit is over (wait->over). */
void push_upload_wait(struct push_debug *d, struct push_http *http, struct push_wait *wait,
                      struct push_file *file);
/* What to do about an answer, in parentheses; "" when there is nothing to say. */
const char *push_upload_next_step(const struct push_answer *answer);

#endif
