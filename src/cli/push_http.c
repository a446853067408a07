/* libcurl as upload_curl.c uses it: certificates are checked, nothing is followed, answers are
 * bounded. What comes from the collector is hostile. */
#include "cli/push_http.h"

#include "base/failure.h"
#include "watch/upload_curl.h"
#include "watch/upload_internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { ANSWER_MAX = 8 << 20, POLL_MS = 200, PATH_ROOM = 256 };

struct push_http {
    const struct upload_curl *curl;
    const struct upload_settings *settings;
    CURLM *multi;
    CURL *easy;
};

struct answer_bytes {
    char *text;
    size_t size;
};

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
    struct answer_bytes *a = context;
    size_t more = size * count;
    char *longer = more <= ANSWER_MAX - a->size ? realloc(a->text, a->size + more + 1) : NULL;
    if (!longer)
        return 0;
    a->text = longer;
    memcpy(a->text + a->size, bytes, more);
    a->size += more;
    a->text[a->size] = 0;
    return more;
}

struct push_http *push_http_open(const struct upload_settings *settings, struct fw_failure *why)
{
    const struct upload_curl *curl = upload_curl();
    struct push_http *h = calloc(1, sizeof *h);
    if (h && curl) {
        *h = (struct push_http){.curl = curl, .settings = settings};
        h->multi = curl->multi_init();
        h->easy = curl->easy_init();
    }
    signal(SIGPIPE, SIG_IGN); /* of connections that break */
    if (h && h->multi && h->easy && upload_curl_secure(curl, h->easy, settings) &&
        curl->easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, take) == CURLE_OK)
        return h;
    push_http_close(h);
    failure_say(why, FW_ERR_UNSUPPORTED, 0,
                "libcurl 7.85 or later with https is not there, or out of memory");
    return NULL;
}

void push_http_close(struct push_http *h)
{
    if (!h)
        return;
    if (h->easy)
        h->curl->easy_cleanup(h->easy);
    if (h->multi)
        h->curl->multi_cleanup(h->multi);
    free(h);
}

static CURLcode run(struct push_http *h, const struct push_request *request)
{
    const struct upload_curl *curl = h->curl;
    CURLcode result = CURLE_FAILED_INIT;
    int running = 1, left;
    if (curl->multi_add_handle(h->multi, h->easy) != CURLM_OK)
        return result;
    while (running && curl->multi_perform(h->multi, &running) == CURLM_OK) {
        curl_off_t sent = 0;
        if (running && curl->multi_poll(h->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
            break;
        curl->easy_getinfo(h->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        if (request->sent && sent > 0)
            request->sent(request->context, (uint64_t)sent);
    }
    CURLMsg *message;
    while ((message = curl->multi_info_read(h->multi, &left)) != NULL)
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    curl->multi_remove_handle(h->multi, h->easy);
    return result;
}

static struct curl_slist *make_headers(const struct push_http *h, const struct push_request *r)
{
    const char *own[4] = {"Expect:", "Accept: application/json", h->settings->authorization, NULL};
    struct curl_slist *list = NULL;
    const char *const *lists[] = {own, r->headers};
    for (size_t i = 0; i < 2; i++)
        for (const char *const *line = lists[i]; line && *line; line++) {
            struct curl_slist *longer = h->curl->slist_append(list, *line);
            if (!longer) {
                h->curl->slist_free_all(list);
                return NULL;
            }
            list = longer;
        }
    return list;
}

static void conclude(const struct push_http *h, CURLcode code, const struct answer_bytes *got,
                     const char *detail, struct push_answer *answer)
{
    curl_off_t after = 0;
    if (code != CURLE_OK) {
        if (got->size >= ANSWER_MAX / 2)
            detail = "the answer is longer than any collector's";
        snprintf(answer->message, sizeof answer->message, "%s",
                 *detail ? detail : h->curl->easy_strerror(code));
        return;
    }
    h->curl->easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &answer->status);
    h->curl->easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &after);
    answer->retry_after = after > 0 && after < UPLOAD_WAIT_MAX ? (uint32_t)after : 0;
    answer->json = got->size ? json_loadb(got->text, got->size, 0, NULL) : NULL;
    const char *said = json_string_value(json_object_get(answer->json, "error"));
    if (said)
        snprintf(answer->message, sizeof answer->message, "%s", said);
    else
        snprintf(answer->message, sizeof answer->message, "status %ld", answer->status);
}

void push_http_send(struct push_http *h, const struct push_request *request,
                    struct push_answer *answer)
{
    const struct upload_curl *curl = h->curl;
    struct answer_bytes got = {0};
    char detail[CURL_ERROR_SIZE] = "", *url;
    *answer = (struct push_answer){0};
    size_t base = strlen(h->settings->options.url);
    while (base && h->settings->options.url[base - 1] == '/')
        base--;
    struct curl_slist *headers = make_headers(h, request);
    if (!headers ||
        asprintf(&url, "%.*s%s", (int)base, h->settings->options.url, request->path) < 0) {
        curl->slist_free_all(headers);
        snprintf(answer->message, sizeof answer->message, "out of memory");
        return;
    }
    bool body = request->body.data != NULL;
    curl->easy_setopt(h->easy, CURLOPT_URL, url);
    curl->easy_setopt(h->easy, body ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
    if (body) {
        curl->easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        curl->easy_setopt(h->easy, CURLOPT_POSTFIELDS, request->body.data);
    }
    curl->easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl->easy_setopt(h->easy, CURLOPT_HTTPHEADER, headers);
    curl->easy_setopt(h->easy, CURLOPT_WRITEDATA, &got);
    curl->easy_setopt(h->easy, CURLOPT_ERRORBUFFER, detail);
    conclude(h, run(h, request), &got, detail, answer);
    curl->easy_setopt(h->easy, CURLOPT_ERRORBUFFER, NULL);
    curl->easy_setopt(h->easy, CURLOPT_HTTPHEADER, NULL);
    curl->slist_free_all(headers);
    free(got.text);
    free(url);
}

/* All but letters, digits, "-", "." and "_" as %XX. */
void push_http_escape(struct report_bytes *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '-' || c == '.' || c == '_';
        if (plain)
            out_bytes(out, &text[i], 1);
        else
            out_format(out, "%%%02X", c);
    }
}

void push_http_project(struct report_bytes *out, const char *project)
{
    const char *name = project ? project : "default";
    out_text(out, "/api/v1/projects/");
    push_http_escape(out, name, strlen(name));
}
