/* log.h. */
#include "collector/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* "fwk_", "fwt_" or "fws_" and digits is a secret wherever it stands (a path that was mistyped, a
 * label): its digits at `c`, 0 when it is none. */
static size_t secret_digits(const char *c)
{
    if (c[0] != 'f' || c[1] != 'w' || !c[2] || !strchr("kts", c[2]) || c[3] != '_')
        return 0;
    return strspn(c + 4, "0123456789abcdefABCDEF");
}

void log_line(const char *format, ...)
{
    char text[LOG_LINE / 2], line[LOG_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ ", &parts);
    for (const char *c = text; *c && n + 8 < sizeof line;) {
        size_t length = utf8_length(c), digits = secret_digits(c);
        if (digits) {
            memcpy(line + n, c, 4);
            line[n + 4] = '*';
            n += 5;
            c += 4 + digits;
            continue;
        }
        if (!length || utf8_is_control(c)) {
            line[n++] = '?';
            c += length ? length : 1;
        } else {
            memcpy(line + n, c, length);
            n += length;
            c += length;
        }
    }
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* nobody reads it: nothing else can be told */
}
