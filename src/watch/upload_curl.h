/*
 * The functions of libcurl that an upload uses, by pointer: libframewalk-upload is linked with
 * libcurl (upload_curl_linked.c); the command loads it when it sends (cli/curl.c), for linking it
 * would cost every command its start-up.
 */
#ifndef WATCH_UPLOAD_CURL_H
#define WATCH_UPLOAD_CURL_H

#include <curl/curl.h>

#include <stdbool.h>

struct upload_curl {
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    void (*easy_cleanup)(CURL *handle);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *handle);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *handle);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *more, unsigned count, int timeout_ms,
                            int *ready);
    CURLMcode (*multi_wakeup)(CURLM *multi);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
    CURLMcode (*multi_cleanup)(CURLM *multi);
};

struct upload_settings;
/* What holds for every transfer to a collector: certificates, protocols, waits. False when this
 * libcurl does not know something that must hold. */
bool upload_curl_secure(const struct upload_curl *curl, CURL *easy,
                        const struct upload_settings *settings);

/* NULL when libcurl 7.85 or later is not there. Thread-safe. */
const struct upload_curl *upload_curl(void);

#endif
