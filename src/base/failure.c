#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

fw_error failure_say(struct fw_failure *why, fw_error code, int os_error, const char *format, ...)
{
    if (!why)
        return code;
    *why = (struct fw_failure){.code = code, .os_error = os_error};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->message, sizeof why->message, format, arguments);
    va_end(arguments);
    return code;
}
