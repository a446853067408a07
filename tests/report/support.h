/* What tests of reports share: files, and names that follow from the offset alone. */
#ifndef TESTS_REPORT_SUPPORT_H
#define TESTS_REPORT_SUPPORT_H

#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Malloc'ed bytes of a file; data is NULL when it is not there. */
struct span load_file(const char *folder, const char *name);
/* Of our own data: fails the test when it is not there. */
struct span load_own(const char *name);
/* Reads; fails the test on an error. */
struct report *read_span(struct span text);
struct report *read_text(const char *text);

/*
 * Names for the image App (or whose id begins with 82d1) by the offset: 0x1000 main, 0x2000 outer
 * with an inlined function, 0x3000 caller with a tail call, others none.
 */
size_t test_names(void *context, const struct report *report, uint32_t frame,
                  const struct report_name **names);

#endif
