/* libcurl for the commands that send: loaded when it is needed, for linking it would cost every
 * command its start-up. */
#include "watch/upload_curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct upload_curl curl;
static bool usable;

/* 7.85: options that take protocols by name, and an initialisation that is thread-safe. */
static bool is_new_enough(void *library)
{
    curl_version_info_data *(*version_info)(CURLversion) = NULL;
    CURLcode (*global_init)(long) = NULL;
    void *functions[] = {dlsym(library, "curl_version_info"), dlsym(library, "curl_global_init")};
    if (!functions[0] || !functions[1])
        return false;
    memcpy(&version_info, &functions[0], sizeof version_info);
    memcpy(&global_init, &functions[1], sizeof global_init);
    return version_info(CURLVERSION_NOW)->version_num >= 0x075500 &&
           global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

static void load(void)
{
    /* gnutls and openssl builds have the same interface under different names. */
    static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (size_t i = 0; i < 2 && !library; i++)
        library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    const struct {
        const char *name;
        void *to; /* a function pointer, filled as dlsym(3) shows */
    } functions[] = {
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
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function)
            return;
        memcpy(functions[i].to, &function, sizeof function);
    }
    usable = is_new_enough(library);
}

const struct upload_curl *upload_curl(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return usable ? &curl : NULL;
}
