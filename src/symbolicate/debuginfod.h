/*
 * A client of debuginfod servers (elfutils, debuginfod(8) "WEBAPI"): GET URL/buildid/HEX/debuginfo.
 *
 * Files are kept where elfutils' own client keeps them, so that both share what was fetched. A file
 * appears in the cache whole or not at all, and only when its build id is the one that was asked
 * for. Only http and https are spoken, redirects included.
 *
 * Environment, as of elfutils' client:
 *     DEBUGINFOD_URLS        servers, separated by spaces; nothing is done without
 *     DEBUGINFOD_CACHE_PATH  else ~/.debuginfod_client_cache if it exists, else
 *                            $XDG_CACHE_HOME/debuginfod_client, else ~/.cache/debuginfod_client
 *     DEBUGINFOD_TIMEOUT     seconds in which 100 KB must come; 90 when unset
 *     DEBUGINFOD_MAXTIME     seconds for one file altogether
 *     DEBUGINFOD_MAXSIZE     bytes that a file may have
 * That no server has a file is remembered for CACHE/cache_miss_s seconds (600).
 */
#ifndef SYMBOLICATE_DEBUGINFOD_H
#define SYMBOLICATE_DEBUGINFOD_H

#include "base/reader.h"

struct debuginfod_request {
    struct span id;
    const char *hex;  /* the same in hexadecimal */
    const char *kind; /* "debuginfo" or "executable" */
    /* Told of every URL and cached file that was looked at and how that ended; not of success. */
    void (*tell)(void *context, const char *place, const char *outcome);
    void *tell_context;
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total); /* or NULL */
    void *context;
};

/* The path of the file in the cache, fetched now unless it was there; malloc'ed. NULL when there is
 * none. Thread-safe. */
char *debuginfod_fetch(const struct debuginfod_request *request);

#endif
