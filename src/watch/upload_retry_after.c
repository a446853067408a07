/* The header Retry-After (RFC 9110, 10.2.3) for transports that hand it over as text. */
#include "watch/upload_internal.h"

#include <string.h>
#include <time.h>

static uint32_t bounded(int64_t seconds)
{
    return seconds <= 0 ? 0 : seconds > UPLOAD_WAIT_MAX ? UPLOAD_WAIT_MAX : (uint32_t)seconds;
}

/* Does the text have this form: a digit where it has a 0, a letter where it has an a? */
static bool has_form(const char *text, const char *form)
{
    for (; *form; form++, text++) {
        const bool fits = *form == '0'   ? *text >= '0' && *text <= '9'
                          : *form == 'a' ? (*text | 32) >= 'a' && (*text | 32) <= 'z'
                                         : *text == *form;
        if (!fits)
            return false;
    }
    return *text == '\0';
}

static int number(const char *digits, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++)
        value = value * 10 + (digits[i] - '0');
    return value;
}

/* The one form that servers may send today (RFC 9110, 5.6.7); -1: something else. */
static int64_t http_date(const char *text)
{
    enum { DAY = 5, MONTH = 8, YEAR = 12, HOUR = 17, MINUTE = 20, SECOND = 23 };
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (!has_form(text, "aaa, 00 aaa 0000 00:00:00 GMT"))
        return -1;
    int month = 0;
    while (month < 12 && strncmp(&months[month * 3], &text[MONTH], 3) != 0)
        month++;
    struct tm tm = {.tm_mday = number(&text[DAY], 2),
                    .tm_mon = month,
                    .tm_year = number(&text[YEAR], 4) - 1900,
                    .tm_hour = number(&text[HOUR], 2),
                    .tm_min = number(&text[MINUTE], 2),
                    .tm_sec = number(&text[SECOND], 2)};
    if (month == 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_year < 70 || tm.tm_hour > 23 ||
        tm.tm_min > 59 || tm.tm_sec > 60)
        return -1;
    return (int64_t)timegm(&tm);
}

uint32_t upload_retry_after(const char *value, int64_t now_s)
{
    const size_t digits = strspn(value, "0123456789");
    if (digits && !value[digits]) {
        int64_t seconds = 0;
        for (size_t i = 0; i < digits && seconds <= UPLOAD_WAIT_MAX; i++)
            seconds = seconds * 10 + (value[i] - '0');
        return bounded(seconds);
    }
    const int64_t date = http_date(value);
    return date < 0 ? 0 : bounded(date - now_s);
}
