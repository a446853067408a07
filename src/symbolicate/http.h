/*
 * Fetching one URL into a file, through libcurl, which is loaded when it is first needed: most runs
 * ask no server, and linking it would cost every one of them its start-up.
 */
#ifndef SYMBOLICATE_HTTP_H
#define SYMBOLICATE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

struct http_request {
    const char *url;
    const char *header;  /* one more header line; NULL: none */
    uint64_t size_limit; /* bytes; the transfer ends when more come */
    long timeout;        /* seconds in which 100 KB must come; 0: any time */
    long total_timeout;  /* seconds altogether; 0: any time */
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total); /* or NULL */
    void *context;
};

enum http_result {
    HTTP_OK = 0,
    HTTP_STATUS,    /* the server answered with another status than 200 */
    HTTP_FAILED,    /* no whole answer came */
    HTTP_TOO_LARGE, /* more than size_limit */
    HTTP_UNWRITTEN, /* the file could not be written */
    HTTP_NO_LIBRARY /* libcurl is not installed, or too old */
};

/* Writes the answer's body to `fd`. `outcome` gets a few words for people unless HTTP_OK. */
enum http_result http_get(const struct http_request *request, int fd, char outcome[128],
                          long *status);

#endif
