/*
 * A length of time for people. It is rounded in one way everywhere, to the nearest, so that no two
 * outputs show different numbers for one hang; web/src/format.ts does the same for the page.
 */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

enum { DURATION_TEXT = 32 };

/* `ns` in units of `unit_ns`, a half upwards. */
static inline uint64_t duration_in(uint64_t ns, uint64_t unit_ns)
{
    return ns / unit_ns + (ns % unit_ns >= unit_ns - unit_ns / 2);
}

static inline uint64_t duration_ms(uint64_t ns)
{
    return duration_in(ns, 1000000);
}

/* "634 ms", "1.63 s", "3 min 05 s", "2.1 h", "3.4 days". */
static inline void duration_text(char text[DURATION_TEXT], uint64_t ns)
{
    const uint64_t second = 1000000000;
    const uint64_t s = duration_in(ns, second), hundredths = duration_in(ns, second / 100);
    if (duration_ms(ns) < 1000)
        snprintf(text, DURATION_TEXT, "%" PRIu64 " ms", duration_ms(ns));
    else if (hundredths < 12000)
        snprintf(text, DURATION_TEXT, "%" PRIu64 ".%02" PRIu64 " s", hundredths / 100,
                 hundredths % 100);
    else if (s < 7200)
        snprintf(text, DURATION_TEXT, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
    else if (s < UINT64_C(48) * 3600)
        snprintf(text, DURATION_TEXT, "%.1f h", (double)s / 3600);
    else
        snprintf(text, DURATION_TEXT, "%.1f days", (double)s / 86400);
}

#endif
