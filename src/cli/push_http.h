/* Requests to a collector beside those that send Framewalk's reports: one at a time, answers as
 * JSON. */
#ifndef CLI_PUSH_HTTP_H
#define CLI_PUSH_HTTP_H

#include "report/out.h"

#include <jansson.h>

struct upload_settings;
struct push_http;

struct push_request {
    const char *method, *path;  /* below the collector's URL: "/api/v1/..." */
    const char *const *headers; /* NULL-terminated; NULL: none */
    struct span body;
    /* Now and then: how much of the body was sent. May be NULL. */
    void (*sent)(void *context, uint64_t bytes);
    void *context;
};
struct push_answer {
    long status;          /* 0: none, `message` says why */
    json_t *json;         /* NULL: none; the caller's */
    uint32_t retry_after; /* seconds; 0: not said */
    char message[200];    /* for people: what the collector says, or why there is no answer */
};

struct push_http *push_http_open(const struct upload_settings *settings, struct fw_failure *why);
void push_http_close(struct push_http *http); /* NULL is fine */
void push_http_send(struct push_http *http, const struct push_request *request,
                    struct push_answer *answer);

/* Parts of paths. A project is "/api/v1/projects/NAME"; NULL is the one that is always there. */
void push_http_escape(struct report_bytes *out, const char *text, size_t size);
void push_http_project(struct report_bytes *out, const char *project);

#endif
