/*
 * What the files s3_*.c share; nobody else includes it.
 *
 *     s3_settings.c   the server and its secrets, out of a URL and the environment
 *     s3_request.c    a request: what is signed, how often it is tried
 *     s3_attempt.c    one attempt, by libcurl
 */
#ifndef COLLECTOR_S3_INNER_H
#define COLLECTOR_S3_INNER_H

#include "collector/s3_request.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { S3_IDLE_MOST = 16 }; /* connections that are kept */

struct s3 {
    char *base;   /* URL of the bucket and the prefix, without a slash behind */
    char *bucket; /* URL of the bucket */
    char prefix[300];
    char sign[96];         /* how to sign: CURLOPT_AWS_SIGV4 */
    char *credentials;     /* "id:secret" */
    char *token;           /* a header line; NULL: none */
    long timeout;          /* seconds */
    atomic_bool away;      /* the last request got no answer */
    atomic_bool trying;    /* and one is on its way to see whether that has changed */
    pthread_mutex_t mutex; /* of the idle handles */
    CURL *idle[S3_IDLE_MOST];
    unsigned idle_count;
};

/* The bytes that are sent: how many, and those from `at` on (as of pread). */
uint64_t s3_body_size(const struct s3_request *r);
ssize_t s3_body_read(const struct s3_request *r, uint64_t at, void *to, size_t size);

/* Sends the request once. `answer` is empty; what came is in it whatever happened. *again: another
 * attempt may help. */
fw_error s3_attempt(struct s3 *s3, const struct s3_request *request, const char *url,
                    struct curl_slist *headers, struct s3_answer *answer, bool *again,
                    struct fw_failure *why);

#endif
