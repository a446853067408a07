/*
 * A model of Foundation's loading of URLs, as a dylib of the Mach-O host: the classes that
 * upload_session_darwin.m uses, and a server that is a function of the test. Its order of calls is
 * that of the documentation of NSURLSessionDataDelegate, from a thread of the session's own.
 */
#ifndef MACHHOST_MODELS_FOUNDATION_H
#define MACHHOST_MODELS_FOUNDATION_H

#include <stdbool.h>
#include <stddef.h>

struct model_exchange {
    /* What was asked, and how. */
    const char *url, *method;
    const void *body;
    size_t body_size;
    const char *names[16], *values[16]; /* of headers; NULL behind the last one */
    bool cellular, expensive, constrained, cookies;
    int tls;
    double silent_seconds, most_seconds;
    /* What the server answers. */
    long status;
    const char *retry_after; /* NULL: not said */
    const char *answer;      /* sent `times` times */
    int times;
    long error; /* of NSURLErrorDomain, in place of an answer; 0: none */
    bool redirects, redirect_followed;
    bool stuck; /* until it is cancelled */
};
extern void (*model_server)(struct model_exchange *exchange);
extern bool model_low_power;
extern int model_sessions; /* that were not invalidated */
extern _Atomic bool model_is_stuck;

#endif
