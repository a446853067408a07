/* Framewalk's own reports made by hand: what each writer is tested with. */
#ifndef TESTS_REPORT_WATCH_REPORTS_H
#define TESTS_REPORT_WATCH_REPORTS_H

#include "report/support.h"

/* "main" of the program shop hangs for 1,843.25 ms: three different stacks in five samples, with an
 * inlined function, a frame without a name, a stack of Python beside two samples, and three more
 * threads, two of which stand at the same place. */
const struct report *hang_report(void);
enum { HANG_SAMPLED_NS = 1718249999 }; /* sum of its weights */
enum { HANG_SAMPLED_MS = 1718 };       /* the same, rounded */

/* 1,234 + 12 calls of getaddrinfo from two stacks, 3 of execve without one, none of gethostname. */
const struct report *calls_report(void);
enum { CALLS_COUNTED = 1249 };

/* A hang whose names do what names must not: ends of lines, escape sequences, marks of direction,
 * quotes, `;`, bytes that are no UTF-8; numbers out of range, weights at the end of 64 bits. */
const struct report *hostile_report(void);

#endif
