/* Filling in what a failed call says: struct fw_failure of <framewalk/error.h>. */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include "framewalk/error.h"

/* Fills `why`, which may be NULL, and returns `code`. `os_error` is errno of the failed system
 * call, 0 for none. */
fw_error failure_say(struct fw_failure *why, fw_error code, int os_error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline fw_error failure_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

#endif
