/* `framewalk serve --check`: looks at all that is stored, and changes nothing. */
#ifndef COLLECTOR_SERVE_CHECK_H
#define COLLECTOR_SERVE_CHECK_H

#include "collector/collector.h"

enum serve_check_exit {
    SERVE_CHECK_WHOLE = 0,
    SERVE_CHECK_DAMAGED = 1, /* something is damaged or missing */
    SERVE_CHECK_FAILED = 3,  /* not everything could be looked at */
};

/* What is wrong goes to standard output, a line each; progress to standard error. Returns the exit
 * status. A server may run meanwhile. */
int serve_check(const struct collector_options *options);

#endif
