/*
 * One request over libcurl (7.85 or later).
 *
 * Certificates are verified, TLS is 1.2 or later, redirects are not followed, and only https is
 * spoken, or http where the settings let it. Proxies are as libcurl finds them, but for the machine
 * itself, which needs none. An answer's body is read up to UPLOAD_ANSWER_MAX and no further.
 *
 * A request ends by itself: 20 seconds to connect, a minute without a byte, five minutes in all;
 * and at once when another thread calls upload_client_abort.
 */
#include "watch/upload_curl.h"

#include "watch/upload_internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_SECONDS = 20, SILENT_SECONDS = 60, MOST_SECONDS = 300, POLL_MS = 1000 };

struct upload_client {
    const struct upload_curl *curl;
    const struct upload_settings *settings;
    CURLM *multi;
    CURL *easy;
    atomic_bool aborted;
};

/* The answer as it comes. */
struct answer {
    char *bytes;
    size_t size, room;
    bool too_long;
};

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct answer *a = context;
    size_t more = size * count;
    if (more > UPLOAD_ANSWER_MAX - a->size) {
        a->too_long = true;
        return 0;
    }
    if (a->size + more > a->room) {
        size_t room = a->room ? a->room : 4096;
        while (room < a->size + more)
            room *= 2;
        char *larger = realloc(a->bytes, room);
        if (!larger)
            return 0;
        a->bytes = larger;
        a->room = room;
    }
    memcpy(a->bytes + a->size, bytes, more);
    a->size += more;
    return more;
}

bool upload_curl_secure(const struct upload_curl *curl, CURL *easy, const struct upload_settings *s)
{
    bool plain = s->options.plain_http || s->loopback;
    bool good =
        curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, plain ? "http,https" : "https") ==
            CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    if (good && s->options.ca_file)
        good = curl->easy_setopt(easy, CURLOPT_CAINFO, s->options.ca_file) == CURLE_OK &&
               curl->easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK;
    if (good && s->loopback)
        good = curl->easy_setopt(easy, CURLOPT_NOPROXY, "*") == CURLE_OK;
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    return good;
}

/* False when this libcurl does not know something that must hold. */
static bool set_fixed(const struct upload_client *c)
{
    const struct upload_curl *curl = c->curl;
    bool good = upload_curl_secure(curl, c->easy, c->settings) &&
                curl->easy_setopt(c->easy, CURLOPT_URL, c->settings->target) == CURLE_OK &&
                curl->easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, take_bytes) == CURLE_OK;
    curl->easy_setopt(c->easy, CURLOPT_TIMEOUT, (long)MOST_SECONDS);
#if LIBCURL_VERSION_NUM >= 0x075700
    curl->easy_setopt(c->easy, CURLOPT_QUICK_EXIT, 1L); /* giving up waits for no name server */
#endif
    return good;
}

struct upload_client *upload_client_open(const struct upload_settings *settings,
                                         struct fw_failure *why)
{
    const struct upload_curl *curl = upload_curl();
    struct upload_client *c = calloc(1, sizeof *c);
    if (c && curl) {
        *c = (struct upload_client){.curl = curl, .settings = settings};
        c->multi = curl->multi_init();
        c->easy = curl->easy_init();
    }
    if (!curl || !c || !c->multi || !c->easy || !set_fixed(c)) {
        upload_client_close(c);
        failure_say(why, FW_ERR_UNSUPPORTED, 0,
                    "libcurl 7.85 or later with https is not there, or out of memory");
        return NULL;
    }
    return c;
}

/* Runs the transfer to its end; CURLE_ABORTED_BY_CALLBACK when it was aborted. */
static CURLcode run(struct upload_client *c)
{
    const struct upload_curl *curl = c->curl;
    CURLcode result = CURLE_FAILED_INIT;
    if (curl->multi_add_handle(c->multi, c->easy) != CURLM_OK)
        return result;
    int running = 1;
    while (running && !atomic_load(&c->aborted)) {
        if (curl->multi_perform(c->multi, &running) != CURLM_OK)
            break;
        if (running && curl->multi_poll(c->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
            break;
    }
    if (atomic_load(&c->aborted))
        result = CURLE_ABORTED_BY_CALLBACK;
    CURLMsg *message;
    int left;
    while ((message = curl->multi_info_read(c->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    }
    curl->multi_remove_handle(c->multi, c->easy);
    return result;
}

/* A connection that breaks may raise SIGPIPE, which must not reach the program. */
static void hold_pipe_signal(sigset_t *before, bool *was_pending)
{
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, before);
    sigpending(&pending);
    *was_pending = sigismember(&pending, SIGPIPE) == 1;
}

static void release_pipe_signal(const sigset_t *before, bool was_pending)
{
    sigset_t pipe, pending;
    int number;
    sigpending(&pending);
    if (!was_pending && sigismember(&pending, SIGPIPE) == 1) {
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        sigwait(&pipe, &number);
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static struct curl_slist *make_headers(const struct upload_curl *curl, const char *const *headers)
{
    /* No "Expect: 100-continue", which costs a round trip, and fails with some proxies. */
    struct curl_slist *list = curl->slist_append(NULL, "Expect:");
    for (; list && *headers; headers++) {
        struct curl_slist *longer = curl->slist_append(list, *headers);
        if (!longer)
            curl->slist_free_all(list);
        list = longer;
    }
    return list;
}

/* What the answer says, or why there is none. */
static void conclude(struct upload_client *c, CURLcode code, struct answer *answer,
                     const char *detail, struct fw_upload_response *response)
{
    long status = 0;
    curl_off_t after = 0;
    c->curl->easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    c->curl->easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &after);
    if (code == CURLE_OK && status > 0) {
        response->status = (uint32_t)status;
        response->retry_after = after > UPLOAD_WAIT_MAX ? UPLOAD_WAIT_MAX
                                : after > 0             ? (uint32_t)after
                                                        : 0;
        response->body = answer->bytes;
        response->body_size = answer->size;
        return;
    }
    free(answer->bytes);
    if (answer->too_long)
        detail = "the answer is longer than any collector's";
    else if (code == CURLE_ABORTED_BY_CALLBACK)
        detail = "given up";
    else if (!*detail)
        detail = c->curl->easy_strerror(code);
    snprintf(response->message, sizeof response->message, "%s", detail);
}

void upload_client_send(struct upload_client *c, const struct fw_upload_request *request,
                        struct fw_upload_response *response)
{
    const struct upload_curl *curl = c->curl;
    struct answer answer = {0};
    char detail[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = make_headers(curl, request->headers);
    if (!headers) {
        snprintf(response->message, sizeof response->message, "out of memory");
        return;
    }
    curl->easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
    curl->easy_setopt(c->easy, CURLOPT_POST, 1L);
    curl->easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    curl->easy_setopt(c->easy, CURLOPT_POSTFIELDS, request->body);
    curl->easy_setopt(c->easy, CURLOPT_WRITEDATA, &answer);
    curl->easy_setopt(c->easy, CURLOPT_ERRORBUFFER, detail);
    sigset_t before;
    bool was_pending;
    hold_pipe_signal(&before, &was_pending);
    CURLcode code = run(c);
    release_pipe_signal(&before, was_pending);
    conclude(c, code, &answer, detail, response);
    curl->easy_setopt(c->easy, CURLOPT_ERRORBUFFER, NULL);
    curl->easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
    curl->slist_free_all(headers);
}

void upload_client_abort(struct upload_client *c)
{
    atomic_store(&c->aborted, true);
    c->curl->multi_wakeup(c->multi);
}

void upload_client_close(struct upload_client *c)
{
    if (!c)
        return;
    if (c->easy)
        c->curl->easy_cleanup(c->easy);
    if (c->multi)
        c->curl->multi_cleanup(c->multi);
    free(c);
}
