/* What is known of an S3-compatible server: the URL that names it, secrets of the environment. */
#include "base/failure.h"
#include "collector/s3_inner.h"

#include <stdio.h>
#include <stdlib.h>

/* The value of `name` in the URL's query, unescaped; malloc'ed. NULL: it is not there. */
static char *setting(const char *query, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = query; at && *at; at = strchr(at, '&'), at = at ? at + 1 : NULL) {
        if (strncmp(at, name, size) != 0 || at[size] != '=')
            continue;
        const char *value = at + size + 1;
        int length = 0;
        char *plain = curl_easy_unescape(NULL, value, (int)strcspn(value, "&"), &length);
        char *copy = plain ? strdup(plain) : NULL;
        curl_free(plain);
        return copy;
    }
    return NULL;
}

static bool only(const char *text, size_t size, const char *allowed)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr(allowed, text[i]))
            return false;
    return true;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"

/* Bucket and prefix, without a slash behind it. */
static fw_error read_place(struct s3 *s3, const char *place, const char *endpoint,
                           struct fw_failure *why)
{
    size_t all = strcspn(place, "?"), bucket = strcspn(place, "/?");
    const char *prefix = place + bucket + (place[bucket] == '/');
    size_t size = (size_t)(place + all - prefix);
    while (size && prefix[size - 1] == '/')
        size--;
    if (bucket < 3 || bucket > 63 || !only(place, bucket, LETTERS ".-") || size > 256 ||
        !only(prefix, size, LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ._/-"))
        return failure_say(why, FW_ERR_ARGUMENT, 0,
                           "s3://BUCKET/PREFIX: the bucket or the prefix has no usable name");
    if (asprintf(&s3->bucket, "%s/%.*s", endpoint, (int)bucket, place) < 0)
        s3->bucket = NULL;
    if (!s3->bucket ||
        asprintf(&s3->base, "%s%s%.*s", s3->bucket, size ? "/" : "", (int)size, prefix) < 0)
        s3->base = NULL;
    if (!s3->base)
        return failure_memory(why);
    snprintf(s3->prefix, sizeof s3->prefix, "%.*s%s", (int)size, prefix, size ? "/" : "");
    return FW_OK;
}

static fw_error read_settings(struct s3 *s3, const char *url, struct fw_failure *why)
{
    const char *query = strchr(url, '?');
    query = query ? query + 1 : "";
    char *endpoint = setting(query, "endpoint"), *region = setting(query, "region");
    char *timeout = setting(query, "timeout");
    const char *where = region ? region : "us-east-1";
    char amazon[128];
    snprintf(amazon, sizeof amazon, "https://s3.%.40s.amazonaws.com", where);
    const char *server = endpoint ? endpoint : amazon;
    fw_error error = FW_OK;
    if (strncmp(server, "http://", 7) != 0 && strncmp(server, "https://", 8) != 0)
        error = failure_say(why, FW_ERR_ARGUMENT, 0, "endpoint= is an http:// or https:// address");
    else if (!only(where, strlen(where), LETTERS "-") || strlen(where) > 40)
        error = failure_say(why, FW_ERR_ARGUMENT, 0, "region= has no usable name");
    char *slash = endpoint && *endpoint ? endpoint + strlen(endpoint) - 1 : NULL;
    if (slash && *slash == '/')
        *slash = 0;
    snprintf(s3->sign, sizeof s3->sign, "aws:amz:%.40s:s3", where);
    s3->timeout = timeout ? strtol(timeout, NULL, 10) : 20;
    if (!error && (s3->timeout < 1 || s3->timeout > 600))
        error = failure_say(why, FW_ERR_ARGUMENT, 0, "timeout= is 1 to 600 seconds");
    if (!error)
        error = read_place(s3, url + strlen("s3://"), server, why);
    free(endpoint);
    free(region);
    free(timeout);
    return error;
}

static fw_error read_credentials(struct s3 *s3, struct fw_failure *why)
{
    const char *id = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
    const char *token = getenv("AWS_SESSION_TOKEN");
    if (!id || !*id || !secret || !*secret)
        return failure_say(why, FW_ERR_ARGUMENT, 0,
                           "S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
                           "environment");
    if (asprintf(&s3->credentials, "%s:%s", id, secret) < 0)
        s3->credentials = NULL;
    if (token && *token && asprintf(&s3->token, "x-amz-security-token: %s", token) < 0)
        s3->token = NULL;
    return s3->credentials && (s3->token || !token || !*token) ? FW_OK : failure_memory(why);
}

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

fw_error s3_open(const char *url, struct s3 **s3, struct fw_failure *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    *s3 = NULL;
    if (curl_version_info(CURLVERSION_NOW)->version_num < 0x075800)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                           "S3 needs libcurl 7.88 or later, which signs the body's hash");
    struct s3 *made = calloc(1, sizeof *made);
    if (!made)
        return failure_memory(why);
    pthread_mutex_init(&made->mutex, NULL);
    fw_error error = read_settings(made, url, why);
    if (!error)
        error = read_credentials(made, why);
    if (error)
        s3_close(made);
    else
        *s3 = made;
    return error;
}

void s3_close(struct s3 *s3)
{
    if (!s3)
        return;
    for (unsigned i = 0; i < s3->idle_count; i++)
        curl_easy_cleanup(s3->idle[i]);
    pthread_mutex_destroy(&s3->mutex);
    free(s3->base);
    free(s3->bucket);
    free(s3->credentials);
    free(s3->token);
    free(s3);
}

const char *s3_prefix(const struct s3 *s3)
{
    return s3->prefix;
}
