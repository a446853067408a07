#include "collector/s3_request.h"

#include "base/failure.h"
#include "base/hex.h"
#include "collector/clock.h"
#include "collector/files.h"
#include "collector/s3_inner.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    ATTEMPTS = 5,
    PAUSE_MS = 100, /* before the second attempt; doubled */
    HASH_PIECE = 256 << 10,
    HASH_LINE = 32 + 2 * EVP_MAX_MD_SIZE,
};

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

/* ---- what is sent ---- */

uint64_t s3_body_size(const struct s3_request *r)
{
    return r->body_fd >= 0 ? r->body_size : r->body.size;
}

ssize_t s3_body_read(const struct s3_request *r, uint64_t at, void *to, size_t size)
{
    uint64_t left = s3_body_size(r) - at;
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

/* The body's SHA-256 as a header: it is signed, so the server refuses what was changed on the way.
 */
static fw_error hash_header(const struct s3_request *r, char line[HASH_LINE],
                            struct fw_failure *why)
{
    uint8_t digest[EVP_MAX_MD_SIZE], *piece = malloc(HASH_PIECE);
    unsigned length = 0;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    fw_error error = FW_OK;
    if (!piece || !hash || !EVP_DigestInit_ex(hash, EVP_sha256(), NULL))
        error = failure_memory(why);
    for (uint64_t at = 0; !error && at < s3_body_size(r);) {
        ssize_t n = s3_body_read(r, at, piece, HASH_PIECE);
        if (n <= 0)
            error = n < 0 ? files_say(why, errno, "cannot read what is to be stored")
                          : failure_say(why, FW_ERR_TRUNCATED, 0, "the file has become shorter");
        else if (!EVP_DigestUpdate(hash, piece, (size_t)n))
            error = failure_memory(why);
        at += error ? 0 : (uint64_t)n;
    }
    if (!error && !EVP_DigestFinal_ex(hash, digest, &length))
        error = failure_memory(why);
    EVP_MD_CTX_free(hash);
    free(piece);
    int used = snprintf(line, HASH_LINE, "x-amz-content-sha256: ");
    hex_text(line + used, digest, error ? 0 : length);
    return error;
}

/* ---- attempts ---- */

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
        reset(answer);
        error = s3_attempt(s3, request, url, headers, answer, &again, why);
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
    char *url = NULL, hash[HASH_LINE];
    const char *query = request->query;
    int made = request->key
                   ? asprintf(&url, "%s/%s%s%s", s3->base, request->key, query ? "?" : "",
                              query ? query : "")
                   : asprintf(&url, "%s%s%s", s3->bucket, query ? "?" : "", query ? query : "");
    if (made < 0)
        return failure_memory(why);
    fw_error error = hash_header(request, hash, why);
    struct curl_slist *headers = error ? NULL : curl_slist_append(NULL, hash);
    struct curl_slist *more =
        headers && s3->token ? curl_slist_append(headers, s3->token) : headers;
    if (!error && !more)
        error = failure_memory(why);
    if (!error)
        error = attempts_while_there(s3, request, url, headers, answer, why);
    curl_slist_free_all(headers);
    free(url);
    return error;
}
