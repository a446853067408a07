/*
 * http_get by libcurl's easy interface (libcurl 7.85 or later, of which the interface is stable).
 *
 * Only what libcurl documents as thread-safe is used: its global state is made once, each request
 * has a handle of its own, and no signals are used for timeouts.
 */
#include "symbolicate/http.h"

#include "symbolicate/curl_library.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CONNECT_SECONDS = 20, REDIRECTS = 5, SLOW_BYTES = 100 << 10 };

static struct {
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *handle);
    CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
    void (*easy_cleanup)(CURL *handle);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *line);
    void (*slist_free_all)(struct curl_slist *list);
    bool usable;
} curl;

static void load_curl(void)
{
    const struct curl_function functions[] = {
        {"curl_easy_init", &curl.easy_init},       {"curl_easy_setopt", &curl.easy_setopt},
        {"curl_easy_perform", &curl.easy_perform}, {"curl_easy_getinfo", &curl.easy_getinfo},
        {"curl_easy_cleanup", &curl.easy_cleanup}, {"curl_easy_strerror", &curl.easy_strerror},
        {"curl_slist_append", &curl.slist_append}, {"curl_slist_free_all", &curl.slist_free_all},
    };
    curl.usable = curl_library_load(functions, sizeof functions / sizeof functions[0]);
}

struct transfer {
    const struct http_request *request;
    int fd;
    uint64_t written;
    bool too_large, unwritten;
};

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    size_t left = size * count;
    if (left > t->request->size_limit - t->written) {
        t->too_large = true;
        return 0;
    }
    while (left) {
        ssize_t n = write(t->fd, bytes, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            t->unwritten = true;
            return 0;
        }
        bytes += n;
        left -= (size_t)n;
        t->written += (uint64_t)n;
    }
    return size * count;
}

static int tell_progress(void *context, curl_off_t total, curl_off_t done, curl_off_t up_total,
                         curl_off_t up_done)
{
    const struct transfer *t = context;
    (void)up_total;
    (void)up_done;
    if (t->request->progress && done > 0)
        t->request->progress(t->request->context, "Downloading", (uint64_t)done,
                             total > 0 ? (uint64_t)total : 0);
    return 0;
}

/* False when this libcurl does not know something that must hold. */
static bool set_options(CURL *handle, const struct http_request *request, struct transfer *transfer)
{
    bool good = curl.easy_setopt(handle, CURLOPT_URL, request->url) == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes) == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_WRITEDATA, transfer) == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_FAILONERROR, 1L) == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_MAXREDIRS, (long)REDIRECTS) == CURLE_OK &&
                curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    curl.easy_setopt(handle, CURLOPT_USERAGENT, "framewalk");
    curl.easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, tell_progress);
    curl.easy_setopt(handle, CURLOPT_XFERINFODATA, transfer);
    curl.easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    long connect = CONNECT_SECONDS;
    if (request->timeout > 0) {
        curl.easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, request->timeout);
        curl.easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES / request->timeout);
        connect = request->timeout < connect ? request->timeout : connect;
    }
    curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, connect);
    if (request->total_timeout > 0)
        curl.easy_setopt(handle, CURLOPT_TIMEOUT, request->total_timeout);
    return good;
}

static enum http_result perform(CURL *handle, const struct transfer *transfer, char outcome[128],
                                long *status)
{
    CURLcode code = curl.easy_perform(handle);
    curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, status);
    if (code == CURLE_OK && *status == 200)
        return HTTP_OK;
    if (transfer->too_large) {
        snprintf(outcome, 128, "larger than allowed");
        return HTTP_TOO_LARGE;
    }
    if (transfer->unwritten) {
        snprintf(outcome, 128, "cannot be written");
        return HTTP_UNWRITTEN;
    }
    if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR) {
        snprintf(outcome, 128, "HTTP %ld", *status);
        return HTTP_STATUS;
    }
    snprintf(outcome, 128, "%s", curl.easy_strerror(code));
    return HTTP_FAILED;
}

enum http_result http_get(const struct http_request *request, int fd, char outcome[128],
                          long *status)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_curl);
    *status = 0;
    CURL *handle = curl.usable ? curl.easy_init() : NULL;
    struct transfer transfer = {.request = request, .fd = fd};
    if (!handle || !set_options(handle, request, &transfer)) {
        if (handle)
            curl.easy_cleanup(handle);
        snprintf(outcome, 128, "libcurl 7.85 or later is not there");
        return HTTP_NO_LIBRARY;
    }
    struct curl_slist *headers = request->header ? curl.slist_append(NULL, request->header) : NULL;
    if (headers)
        curl.easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    enum http_result result = perform(handle, &transfer, outcome, status);
    curl.easy_cleanup(handle);
    curl.slist_free_all(headers);
    return result;
}
