#include "symbolicate/curl_library.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <string.h>

static bool fill(void *library, const struct curl_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function)
            return false;
        memcpy(functions[i].to, &function, sizeof function);
    }
    return true;
}

bool curl_library_load(const struct curl_function *functions, size_t count)
{
    /* gnutls and openssl builds have the same interface under different names. */
    static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (size_t i = 0; i < 2 && !library; i++)
        library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);

    curl_version_info_data *(*version_info)(CURLversion);
    CURLcode (*global_init)(long);
    const struct curl_function first[] = {{"curl_version_info", &version_info},
                                          {"curl_global_init", &global_init}};
    return library && fill(library, first, 2) &&
           version_info(CURLVERSION_NOW)->version_num >= 0x075500 &&
           global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && fill(library, functions, count);
}
