/*
 * A new blob store for each test: files in a temporary folder, or a prefix of the S3-compatible
 * server that FW_S3_URL names (s3.py starts one and runs the test).
 */
#ifndef TESTS_COLLECTOR_BLOBS_SUPPORT_H
#define TESTS_COLLECTOR_BLOBS_SUPPORT_H

#include "collector/blobs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

extern struct fw_failure why;
extern char folder[64], cache[96], url[512]; /* of this test */
extern const char *s3;                       /* the server's URL; NULL: files */
extern struct blobs *blobs;

/* Runs and says what failed. */
#define FINE(call) fine((call), #call, __FILE__, __LINE__)
void fine(fw_error error, const char *what, const char *file, int line);

int set_up(void **state);
int tear_down(void **state);

struct span text(const char *t);
void put(const char *key, const char *bytes);
void holds(const char *key, uint64_t offset, uint64_t size, const char *expected);
fw_error get_error(const char *key, uint64_t offset, uint64_t size);
/* A file of `size` bytes which repeat nowhere near; and whether an open one is such. */
void make_file(const char *path, uint64_t size);
void same_file(int fd, uint64_t size);

#endif
