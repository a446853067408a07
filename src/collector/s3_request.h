/*
 * One request to an S3-compatible server, signed (AWS Signature Version 4, by libcurl), tried again
 * while that may help. Thread-safe; connections are kept and shared.
 *
 * Every request ends: an attempt when nothing moves for `timeout` seconds, all attempts together
 * when that long has gone by before one starts.
 */
#ifndef COLLECTOR_S3_REQUEST_H
#define COLLECTOR_S3_REQUEST_H

#include "base/reader.h"
#include "framewalk/error.h"

struct s3;

/* "s3://BUCKET/PREFIX?endpoint=URL&region=R&timeout=SECONDS": all behind the bucket may be missing.
 * Keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN of the environment. */
fw_error s3_open(const char *url, struct s3 **s3, struct fw_failure *why);
void s3_close(struct s3 *s3); /* NULL is fine */
/* The prefix of all keys: "" or with a slash behind. */
const char *s3_prefix(const struct s3 *s3);

struct s3_request {
    const char *method;
    const char *key;   /* behind the prefix; NULL: the bucket */
    const char *query; /* its parts sorted and escaped; NULL: none */
    /* What is sent: `body`, or `body_size` bytes of the file `body_fd` from `body_offset`. */
    struct span body;
    int body_fd; /* -1: none */
    uint64_t body_offset, body_size;
    bool ranged; /* only range_size bytes from range_offset; 0: the rest */
    uint64_t range_offset, range_size;
    int to_fd;            /* the answer goes to this file from its start; -1: to memory */
    uint64_t answer_most; /* bytes of the answer in memory that are taken */
};
struct s3_answer {
    uint8_t *data; /* malloc'ed, NUL behind; NULL when there is none */
    size_t size;
    uint64_t length; /* Content-Length, or of a range's whole object; UINT64_MAX: not told */
    char etag[128];
};

/* FW_OK: 2xx. Errors as blobs.h says. `answer` is to be freed with s3_answer_free always. */
fw_error s3_send(struct s3 *s3, const struct s3_request *request, struct s3_answer *answer,
                 struct fw_failure *why);
void s3_answer_free(struct s3_answer *answer);
/* Appends "name=value" to a query, escaped, "&" between. False: no room. */
bool s3_query_add(char *query, size_t size, const char *name, const char *value);

#endif
