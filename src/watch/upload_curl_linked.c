/* libcurl as the library is linked with it. */
#include "watch/upload_curl.h"

#include <pthread.h>
#include <stdbool.h>

static bool usable;

static void begin(void)
{
    /* 7.85: options that take protocols by name, and an initialisation that is thread-safe. */
    usable = curl_version_info(CURLVERSION_NOW)->version_num >= 0x075500 &&
             curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

const struct upload_curl *upload_curl(void)
{
    /* The brackets keep macros of curl's headers, which check types of options, out of the way. */
    static const struct upload_curl functions = {
        .easy_init = curl_easy_init,
        .easy_setopt = (curl_easy_setopt),
        .easy_getinfo = (curl_easy_getinfo),
        .easy_strerror = curl_easy_strerror,
        .easy_cleanup = curl_easy_cleanup,
        .slist_append = curl_slist_append,
        .slist_free_all = curl_slist_free_all,
        .multi_init = curl_multi_init,
        .multi_add_handle = curl_multi_add_handle,
        .multi_remove_handle = curl_multi_remove_handle,
        .multi_perform = curl_multi_perform,
        .multi_poll = curl_multi_poll,
        .multi_wakeup = curl_multi_wakeup,
        .multi_info_read = curl_multi_info_read,
        .multi_cleanup = curl_multi_cleanup,
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    return usable ? &functions : NULL;
}
