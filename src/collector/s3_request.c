#include "collector/s3_request.h"

#include "base/failure.h"
#include "collector/clock.h"
#include "collector/files.h"
#include "collector/s3_xml.h"

#include <curl/curl.h>
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    ATTEMPTS = 5,
    PAUSE_MS = 100,        /* before the second attempt; doubled */
    ERROR_MOST = 64 << 10, /* bytes of an answer that tells an error */
    IDLE_MOST = 16,        /* connections that are kept */
    HASH_PIECE = 256 << 10,
};

struct s3 {
    char *base;   /* URL of the bucket and the prefix, without a slash behind */
    char *bucket; /* URL of the bucket */
    char prefix[300];
    char sign[96];         /* how to sign: CURLOPT_AWS_SIGV4 */
    char *credentials;     /* "id:secret" */
    char *token;           /* a header line; NULL: none */
    long timeout;          /* seconds */
    atomic_bool away;      /* the last request got no answer */
    atomic_bool trying;    /* and one is on its way to see whether that has changed */
    pthread_mutex_t mutex; /* of the idle handles */
    CURL *idle[IDLE_MOST];
    unsigned idle_count;
};

const char *s3_prefix(const struct s3 *s3)
{
    return s3->prefix;
}

/* ---- what the URL says ---- */

static fw_error out_of_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

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
        return out_of_memory(why);
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
    return s3->credentials && (s3->token || !token || !*token) ? FW_OK : out_of_memory(why);
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
        return out_of_memory(why);
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

bool s3_query_add(char *query, size_t size, const char *name, const char *value)
{
    char *escaped = curl_easy_escape(NULL, value, (int)strlen(value));
    size_t used = strlen(query);
    int length =
        escaped ? snprintf(query + used, size - used, "%s%s=%s", used ? "&" : "", name, escaped)
                : -1;
    curl_free(escaped);
    return length >= 0 && (size_t)length < size - used;
}

/* ---- one attempt ---- */

struct attempt {
    struct s3 *s3;
    CURL *curl;
    const struct s3_request *request;
    struct s3_answer *answer;
    uint64_t sent;    /* bytes of the body */
    uint64_t written; /* bytes of the answer that went to the file */
    size_t room;      /* of answer->data */
    int os_error;     /* that ended it: of the file read or written */
    fw_error error;   /* that ended it: FW_ERR_MEMORY, or too much came */
};

static uint64_t body_size(const struct s3_request *r)
{
    return r->body_fd >= 0 ? r->body_size : r->body.size;
}

static ssize_t body_read(const struct s3_request *r, uint64_t at, void *to, size_t size)
{
    uint64_t left = body_size(r) - at;
    if (size > left)
        size = (size_t)left;
    if (r->body_fd < 0) {
        if (size)
            memcpy(to, r->body.data + at, size);
        return (ssize_t)size;
    }
    ssize_t n;
    do
        n = pread(r->body_fd, to, size, (off_t)(r->body_offset + at));
    while (n < 0 && errno == EINTR);
    return n;
}

static size_t give(char *to, size_t one, size_t count, void *context)
{
    struct attempt *a = context;
    ssize_t n = body_read(a->request, a->sent, to, one * count);
    if (n < 0) {
        a->os_error = errno;
        return CURL_READFUNC_ABORT;
    }
    a->sent += (uint64_t)n;
    return (size_t)n;
}

static int rewind_body(void *context, curl_off_t offset, int origin)
{
    struct attempt *a = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > body_size(a->request))
        return CURL_SEEKFUNC_FAIL;
    a->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static bool keep(struct attempt *a, const void *data, size_t size, uint64_t most)
{
    struct s3_answer *answer = a->answer;
    if (size > most || answer->size > most - size) {
        a->error = FW_ERR_SYSTEM;
        return false;
    }
    if (answer->size + size + 1 > a->room) {
        size_t room = (answer->size + size + 1) * 2;
        uint8_t *larger = realloc(answer->data, room);
        if (!larger) {
            a->error = FW_ERR_MEMORY;
            return false;
        }
        answer->data = larger;
        a->room = room;
    }
    memcpy(answer->data + answer->size, data, size);
    answer->size += size;
    answer->data[answer->size] = 0;
    return true;
}

static size_t take(char *data, size_t one, size_t count, void *context)
{
    struct attempt *a = context;
    size_t size = one * count;
    long status = 0;
    curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300) /* what an error says beyond this is of no use */
        return keep(a, data, size, ERROR_MOST) ? size : 0;
    if (a->request->to_fd < 0)
        return keep(a, data, size, a->request->answer_most) ? size : 0;
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(a->request->to_fd, data + done, size - done, (off_t)a->written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            a->os_error = errno;
            return 0;
        }
        done += (size_t)n;
        a->written += (uint64_t)n;
    }
    return size;
}

static size_t header(char *line, size_t one, size_t count, void *context)
{
    struct attempt *a = context;
    size_t size = one * count;
    char text[256];
    if (size < sizeof text) {
        memcpy(text, line, size);
        text[size] = 0;
        text[strcspn(text, "\r\n")] = 0;
        const char *value = text + 5;
        if (strncasecmp(text, "etag:", 5) == 0)
            snprintf(a->answer->etag, sizeof a->answer->etag, "%.127s", value + strspn(value, " "));
        const char *slash = strchr(text, '/');
        if (strncasecmp(text, "content-range:", 14) == 0 && slash && slash[1] != '*')
            a->answer->length = strtoull(slash + 1, NULL, 10);
    }
    return size;
}

static CURL *take_handle(struct s3 *s3)
{
    CURL *curl = NULL;
    pthread_mutex_lock(&s3->mutex);
    if (s3->idle_count)
        curl = s3->idle[--s3->idle_count];
    pthread_mutex_unlock(&s3->mutex);
    if (curl)
        curl_easy_reset(curl); /* keeps its connections */
    return curl ? curl : curl_easy_init();
}

static void give_handle(struct s3 *s3, CURL *curl)
{
    pthread_mutex_lock(&s3->mutex);
    bool kept = s3->idle_count < IDLE_MOST;
    if (kept)
        s3->idle[s3->idle_count++] = curl;
    pthread_mutex_unlock(&s3->mutex);
    if (!kept)
        curl_easy_cleanup(curl);
}

static void set_transfer(struct attempt *a)
{
    CURL *c = a->curl;
    const struct s3_request *r = a->request;
    bool head = strcmp(r->method, "HEAD") == 0, get = strcmp(r->method, "GET") == 0;
    if (head) {
        curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    } else if (!get && strcmp(r->method, "DELETE") != 0) {
        curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)body_size(r));
        curl_easy_setopt(c, CURLOPT_READFUNCTION, give);
        curl_easy_setopt(c, CURLOPT_READDATA, a);
        curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, rewind_body);
        curl_easy_setopt(c, CURLOPT_SEEKDATA, a);
    }
    if (!head && !get)
        curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, a);
}

static void set_limits(struct attempt *a)
{
    CURL *c = a->curl;
    long timeout = a->s3->timeout;
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, timeout < 5 ? timeout : 5L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1024L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, timeout);
    /* Of what is slow but moves: as long as 64 KB a second take. */
    const struct s3_request *r = a->request;
    bool bulk = r->to_fd >= 0 || r->answer_most > ((uint64_t)64 << 20);
    uint64_t bytes = body_size(r) + (bulk ? (uint64_t)16 << 30 : r->answer_most);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, timeout + (long)(bytes >> 16));
    curl_easy_setopt(c, CURLOPT_AWS_SIGV4, a->s3->sign);
    curl_easy_setopt(c, CURLOPT_USERPWD, a->s3->credentials);
}

/* The body's SHA-256 as a header: it is signed, so the server refuses what was changed on the way.
 */
static fw_error hash_header(const struct s3_request *r, char *line, size_t size,
                            struct fw_failure *why)
{
    uint8_t digest[EVP_MAX_MD_SIZE], *piece = malloc(HASH_PIECE);
    unsigned length = 0;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    fw_error error = FW_OK;
    if (!piece || !hash || !EVP_DigestInit_ex(hash, EVP_sha256(), NULL))
        error = out_of_memory(why);
    for (uint64_t at = 0; !error && at < body_size(r);) {
        ssize_t n = body_read(r, at, piece, HASH_PIECE);
        if (n <= 0)
            error = n < 0 ? files_say(why, errno, "cannot read what is to be stored")
                          : failure_say(why, FW_ERR_TRUNCATED, 0, "the file has become shorter");
        else if (!EVP_DigestUpdate(hash, piece, (size_t)n))
            error = out_of_memory(why);
        at += error ? 0 : (uint64_t)n;
    }
    if (!error && !EVP_DigestFinal_ex(hash, digest, &length))
        error = out_of_memory(why);
    EVP_MD_CTX_free(hash);
    free(piece);
    int used = snprintf(line, size, "x-amz-content-sha256: ");
    for (unsigned i = 0; !error && i < length; i++)
        used += snprintf(line + used, size - (size_t)used, "%02x", digest[i]);
    return error;
}

/* ---- answers ---- */

static bool may_help(CURLcode result, long status)
{
    if (result == CURLE_OK)
        return status >= 500 ? status != 507 && status != 501
                             : status == 408 || status == 409 || status == 429;
    return result == CURLE_OPERATION_TIMEDOUT || result == CURLE_COULDNT_CONNECT ||
           result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_SEND_ERROR ||
           result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING ||
           result == CURLE_PARTIAL_FILE || result == CURLE_SSL_CONNECT_ERROR ||
           result == CURLE_HTTP2 || result == CURLE_HTTP2_STREAM ||
           result == CURLE_WEIRD_SERVER_REPLY || result == CURLE_UNSUPPORTED_PROTOCOL;
}

/* What a status and the code in an error's XML mean. */
static fw_error status_error(long status, const char *code)
{
    if (status == 507 || strstr(code, "StorageFull") || strstr(code, "QuotaExceeded"))
        return FW_ERR_FULL;
    if (strcmp(code, "NoSuchBucket") == 0)
        return FW_ERR_PERMISSION; /* a wrong setting, not a blob that is not there */
    switch (status) {
    case 301:
    case 307:
    case 401:
    case 403: return FW_ERR_PERMISSION;
    case 404: return FW_ERR_NOT_FOUND;
    case 408:
    case 409: /* another request is at it */
    case 429: return FW_ERR_TIMEOUT;
    case 416: return FW_ERR_TRUNCATED;
    default: return status >= 500 ? FW_ERR_TIMEOUT : FW_ERR_SYSTEM;
    }
}

static fw_error say(const struct attempt *a, CURLcode result, long status, const char *text,
                    struct fw_failure *why)
{
    const struct s3_request *r = a->request;
    const char *what = r->key ? r->key : "the bucket";
    if (a->os_error)
        return files_say(why, a->os_error, "%s of %.100s", r->method, what);
    if (a->error)
        return failure_say(why, a->error, 0, "S3 %s %.100s: %s", r->method, what,
                           a->error == FW_ERR_MEMORY ? "out of memory"
                                                     : "more came than asked for");
    if (result)
        return failure_say(why, may_help(result, 0) ? FW_ERR_TIMEOUT : FW_ERR_SYSTEM, 0,
                           "S3 %s %.100s: %.90s", r->method, what,
                           *text ? text : curl_easy_strerror(result));
    char code[64] = "";
    struct span answer = {a->answer->data, a->answer->size};
    if (!s3_xml_find(answer, "Code", code, sizeof code) ||
        !only(code, strlen(code), LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        code[0] = 0;
    return failure_say(why, status_error(status, code), 0, "S3 %s %.100s: %ld %s", r->method, what,
                       status, code);
}

static fw_error perform(struct attempt *a, const char *url, struct curl_slist *headers, bool *again,
                        struct fw_failure *why)
{
    char text[CURL_ERROR_SIZE] = "", range[64];
    const struct s3_request *r = a->request;
    a->curl = take_handle(a->s3);
    if (!a->curl)
        return out_of_memory(why);
    set_transfer(a);
    set_limits(a);
    curl_easy_setopt(a->curl, CURLOPT_URL, url);
    curl_easy_setopt(a->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(a->curl, CURLOPT_ERRORBUFFER, text);
    if (r->ranged) {
        int used = snprintf(range, sizeof range, "%llu-", (unsigned long long)r->range_offset);
        if (r->range_size)
            snprintf(range + used, sizeof range - (size_t)used, "%llu",
                     (unsigned long long)(r->range_offset + r->range_size - 1));
        curl_easy_setopt(a->curl, CURLOPT_RANGE, range);
    }
    CURLcode result = curl_easy_perform(a->curl);
    long status = 0;
    curl_off_t length = -1;
    curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(a->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (a->answer->length == UINT64_MAX && length >= 0)
        a->answer->length = (uint64_t)length;
    if (result == CURLE_OK && r->ranged && status == 200)
        status = 501; /* it does not know ranges: not what was asked for */
    *again = !a->os_error && !a->error && may_help(result, status);
    fw_error error = result == CURLE_OK && status >= 200 && status < 300
                         ? FW_OK
                         : say(a, result, status, text, why);
    if (result == CURLE_OK)
        give_handle(a->s3, a->curl);
    else
        curl_easy_cleanup(a->curl);
    return error;
}

static void pause_before(unsigned attempt)
{
    uint16_t chance = 0;
    if (getrandom(&chance, sizeof chance, 0) < 0)
        chance = 0;
    long ms = (long)(PAUSE_MS << attempt);
    ms = ms / 2 + ms * chance / 65536; /* so that many do not come back at once */
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void reset(struct s3_answer *answer)
{
    free(answer->data);
    *answer = (struct s3_answer){.length = UINT64_MAX};
}

void s3_answer_free(struct s3_answer *answer)
{
    reset(answer);
}

static fw_error attempts(struct s3 *s3, const struct s3_request *request, const char *url,
                         struct curl_slist *headers, struct s3_answer *answer,
                         struct fw_failure *why)
{
    int64_t until = clock_ms() + s3->timeout * 1000;
    fw_error error = FW_OK;
    bool again = true;
    for (unsigned i = 0; again; i++) {
        struct attempt a = {.s3 = s3, .request = request, .answer = answer};
        reset(answer);
        error = perform(&a, url, headers, &again, why);
        again = again && i + 1 < ATTEMPTS && clock_ms() < until;
        if (again)
            pause_before(i);
    }
    return error;
}

/* While nobody answers, one request at a time waits for it and the others fail at once: else every
 * thread of the server would stand here. */
static fw_error attempts_while_there(struct s3 *s3, const struct s3_request *request,
                                     const char *url, struct curl_slist *headers,
                                     struct s3_answer *answer, struct fw_failure *why)
{
    bool away = atomic_load(&s3->away);
    if (away && atomic_exchange(&s3->trying, true))
        return failure_say(why, FW_ERR_TIMEOUT, 0, "S3 does not answer");
    fw_error error = attempts(s3, request, url, headers, answer, why);
    atomic_store(&s3->away, error == FW_ERR_TIMEOUT);
    if (away)
        atomic_store(&s3->trying, false);
    return error;
}

fw_error s3_send(struct s3 *s3, const struct s3_request *request, struct s3_answer *answer,
                 struct fw_failure *why)
{
    *answer = (struct s3_answer){.length = UINT64_MAX};
    char *url = NULL, hash[96];
    const char *query = request->query;
    int made = request->key
                   ? asprintf(&url, "%s/%s%s%s", s3->base, request->key, query ? "?" : "",
                              query ? query : "")
                   : asprintf(&url, "%s%s%s", s3->bucket, query ? "?" : "", query ? query : "");
    if (made < 0)
        return out_of_memory(why);
    fw_error error = hash_header(request, hash, sizeof hash, why);
    struct curl_slist *headers = error ? NULL : curl_slist_append(NULL, hash);
    struct curl_slist *more =
        headers && s3->token ? curl_slist_append(headers, s3->token) : headers;
    if (!error && !more)
        error = out_of_memory(why);
    if (!error)
        error = attempts_while_there(s3, request, url, headers, answer, why);
    curl_slist_free_all(headers);
    free(url);
    return error;
}
