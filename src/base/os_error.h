/* errno as text, without the static buffer of strerror(). */
#ifndef BASE_OS_ERROR_H
#define BASE_OS_ERROR_H

#include <stddef.h>
#include <string.h>

/* strerror_r comes in two kinds: glibc's returns the text, that of POSIX.1-2008 fills the buffer.
 */
static inline const char *os_error_text(int number, char *text, size_t size)
{
#ifdef __GLIBC__
    return strerror_r(number, text, size);
#else
    return strerror_r(number, text, size) == 0 ? text : "unknown error";
#endif
}

#endif
