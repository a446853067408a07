/* libcurl for the commands that send. */
#include "symbolicate/curl_library.h"
#include "watch/upload_curl.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static struct upload_curl curl;
static bool usable;

static void load(void)
{
    const struct curl_function functions[] = {
        {"curl_easy_init", &curl.easy_init},
        {"curl_easy_setopt", &curl.easy_setopt},
        {"curl_easy_getinfo", &curl.easy_getinfo},
        {"curl_easy_strerror", &curl.easy_strerror},
        {"curl_easy_cleanup", &curl.easy_cleanup},
        {"curl_slist_append", &curl.slist_append},
        {"curl_slist_free_all", &curl.slist_free_all},
        {"curl_multi_init", &curl.multi_init},
        {"curl_multi_add_handle", &curl.multi_add_handle},
        {"curl_multi_remove_handle", &curl.multi_remove_handle},
        {"curl_multi_perform", &curl.multi_perform},
        {"curl_multi_poll", &curl.multi_poll},
        {"curl_multi_wakeup", &curl.multi_wakeup},
        {"curl_multi_info_read", &curl.multi_info_read},
        {"curl_multi_cleanup", &curl.multi_cleanup},
    };
    usable = curl_library_load(functions, sizeof functions / sizeof functions[0]);
}

const struct upload_curl *upload_curl(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return usable ? &curl : NULL;
}
