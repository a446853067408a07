/*
 * Fixtures of the object tests: made at test time from sources in the test with the machine's own
 * tools, in a folder of their own that is removed at the end. A test whose tools are missing says
 * which and is skipped.
 */
#ifndef TESTS_OBJECT_FIXTURE_H
#define TESTS_OBJECT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object/symbols.h"

/* Group set-up and tear-down for cmocka: make and remove the folder. */
int fixture_begin(void **state);
int fixture_end(void **state);

/* Skips the test unless every one of the words in `programs` can be run. */
void fixture_need(const char *programs);
void fixture_write(const char *name, const void *bytes, size_t size);
void fixture_text(const char *name, const char *text);
/* Runs a shell command in the folder. fixture_run fails the test when the command fails. */
__attribute__((format(printf, 1, 2))) void fixture_run(const char *format, ...);
__attribute__((format(printf, 1, 2))) bool fixture_try(const char *format, ...);
/* Its output, to be freed. */
__attribute__((format(printf, 1, 2))) char *fixture_output(const char *format, ...);
/* The path of a file in the folder; valid until the fourth next call. */
const char *fixture_path(const char *name);
struct object *fixture_open(const char *name);
uint8_t *fixture_read(const char *name, size_t *size);
/* Address of a symbol by `nm` (any prefix for cross tools, "" for the machine's own); fails the
 * test when it is missing. */
uint64_t fixture_nm(const char *tools, const char *name, const char *symbol);

/* The tool chains to try: compiler, prefix of its binutils, flags. */
struct fixture_target {
    const char *name, *compiler, *tools, *flags;
    uint16_t machine;
    uint8_t pointer_size;
};
extern const struct fixture_target fixture_targets[];
extern const size_t fixture_target_count;
/* Whether this target's compiler can link a shared library here; prints what it skips. */
bool fixture_target_works(const struct fixture_target *target);

#endif
