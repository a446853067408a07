/* One attempt at a request to an S3-compatible server, by libcurl, and what its answer means. */
#include "base/failure.h"
#include "collector/files.h"
#include "collector/s3_inner.h"
#include "collector/s3_xml.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum { ERROR_MOST = 64 << 10 }; /* bytes of an answer that tells an error */

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

static size_t give(char *to, size_t one, size_t count, void *context)
{
    struct attempt *a = context;
    ssize_t n = s3_body_read(a->request, a->sent, to, one * count);
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
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > s3_body_size(a->request))
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
    bool kept = s3->idle_count < S3_IDLE_MOST;
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
        curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)s3_body_size(r));
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
    uint64_t bytes = s3_body_size(r) + (bulk ? (uint64_t)16 << 30 : r->answer_most);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, timeout + (long)(bytes >> 16));
    curl_easy_setopt(c, CURLOPT_AWS_SIGV4, a->s3->sign);
    curl_easy_setopt(c, CURLOPT_USERPWD, a->s3->credentials);
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
        code[strspn(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")])
        code[0] = 0;
    return failure_say(why, status_error(status, code), 0, "S3 %s %.100s: %ld %s", r->method, what,
                       status, code);
}

fw_error s3_attempt(struct s3 *s3, const struct s3_request *r, const char *url,
                    struct curl_slist *headers, struct s3_answer *answer, bool *again,
                    struct fw_failure *why)
{
    struct attempt attempt = {.s3 = s3, .request = r, .answer = answer}, *a = &attempt;
    char text[CURL_ERROR_SIZE] = "", range[64];
    *again = true;
    a->curl = take_handle(a->s3);
    if (!a->curl)
        return failure_memory(why);
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
