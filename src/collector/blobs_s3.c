/*
 * Blobs as objects of an S3-compatible store (Amazon S3 API Reference, 2006-03-01).
 *
 * What an object store gives by itself: an object appears whole or not at all and is durable when
 * PUT, or CompleteMultipartUpload, was answered. Objects are addressed by path
 * (ENDPOINT/BUCKET/PREFIX/KEY), which every such server understands. What a process that was killed
 * has sent of a large file is not seen by anybody; s3_tidy removes it.
 */
#include "base/failure.h"
#include "collector/blobs_cache.h"
#include "collector/blobs_driver.h"
#include "collector/clock.h"
#include "collector/collector.h"
#include "collector/files.h"
#include "collector/log.h"
#include "collector/s3_request.h"
#include "collector/s3_tidy.h"
#include "collector/s3_xml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEGABYTE ((uint64_t)1 << 20)

enum { PARTS_MOST = 9000 /* of one object; 10,000 are allowed */ };
static const uint64_t whole_most = 64 * MEGABYTE, part_least = 16 * MEGABYTE;
static const uint64_t DAY_MS = 86400000;
static const uint64_t answer_most = 8 * MEGABYTE; /* of XML */

struct s3_blobs {
    struct blobs base;
    struct s3 *s3;
    struct blobs_cache *cache;
};

static struct s3_blobs *mine(struct blobs *blobs)
{
    return (struct s3_blobs *)blobs;
}

static struct s3_request request_for(const char *method, const char *key)
{
    return (struct s3_request){
        .method = method, .key = key, .body_fd = -1, .to_fd = -1, .answer_most = answer_most};
}

/* A request whose answer's body does not matter. */
static fw_error send(struct s3_blobs *b, const struct s3_request *request, struct fw_failure *why)
{
    struct s3_answer answer;
    fw_error error = s3_send(b->s3, request, &answer, why);
    s3_answer_free(&answer);
    return error;
}

/* ---- opening ---- */

static void close_it(struct blobs *blobs)
{
    s3_close(mine(blobs)->s3);
    blobs_cache_close(mine(blobs)->cache);
    free(blobs);
}

static const struct blobs_driver driver;

/* What is set wrong is told at once; a store that is away for a while does not keep a server from
 * starting. */
static fw_error check_bucket(struct s3_blobs *b, struct fw_failure *why)
{
    struct s3_request request = request_for("HEAD", NULL);
    fw_error error = send(b, &request, why);
    if (error == FW_ERR_NOT_FOUND)
        return failure_say(why, FW_ERR_PERMISSION, 0, "S3: there is no such bucket");
    return error == FW_ERR_PERMISSION ? error : FW_OK;
}

fw_error blobs_s3_open(const char *url, const char *cache, uint64_t cache_bytes,
                       struct blobs **blobs, struct fw_failure *why)
{
    struct s3_blobs *b = calloc(1, sizeof *b);
    if (!b)
        return failure_memory(why);
    b->base.driver = &driver;
    fw_error error = s3_open(url, &b->s3, why);
    if (!error)
        error = blobs_cache_open(cache, cache_bytes, &b->cache, why);
    if (!error)
        error = check_bucket(b, why);
    if (error)
        close_it(&b->base);
    else
        *blobs = &b->base;
    return error;
}

/* ---- writing ---- */

static fw_error put(struct blobs *blobs, const char *key, struct span bytes, struct fw_failure *why)
{
    struct s3_request request = request_for("PUT", key);
    request.body = bytes;
    fw_error error = send(mine(blobs), &request, why);
    blobs_cache_drop(mine(blobs)->cache, key);
    return error;
}

struct parts { /* of one multipart upload */
    const char *key;
    char id[1100];
    int fd;
    uint64_t size, part_size;
    char (*etags)[128];
    size_t count;
};

static fw_error start_parts(struct s3_blobs *b, struct parts *parts, struct fw_failure *why)
{
    struct s3_request request = request_for("POST", parts->key);
    request.query = "uploads=";
    struct s3_answer answer;
    fw_error error = s3_send(b->s3, &request, &answer, why);
    if (!error && (!s3_xml_find((struct span){answer.data, answer.size}, "UploadId", parts->id,
                                sizeof parts->id) ||
                   !parts->id[0]))
        error = failure_say(why, FW_ERR_SYSTEM, 0, "S3 POST %.100s: an answer without UploadId",
                            parts->key);
    s3_answer_free(&answer);
    return error;
}

static fw_error send_part(struct s3_blobs *b, struct parts *parts, size_t i, struct fw_failure *why)
{
    char query[4096] = "", number[24];
    snprintf(number, sizeof number, "%zu", i + 1);
    if (!s3_query_add(query, sizeof query, "partNumber", number) ||
        !s3_query_add(query, sizeof query, "uploadId", parts->id))
        return failure_say(why, FW_ERR_SYSTEM, 0, "S3: the id of an upload is too long");
    struct s3_request request = request_for("PUT", parts->key);
    request.query = query;
    request.body_fd = parts->fd;
    request.body_offset = i * parts->part_size;
    uint64_t left = parts->size - request.body_offset;
    request.body_size = left < parts->part_size ? left : parts->part_size;
    struct s3_answer answer;
    fw_error error = s3_send(b->s3, &request, &answer, why);
    if (!error && (!answer.etag[0] || strpbrk(answer.etag, "<>&")))
        error =
            failure_say(why, FW_ERR_SYSTEM, 0, "S3 PUT %.100s: an answer without ETag", parts->key);
    snprintf(parts->etags[i], sizeof parts->etags[i], "%s", answer.etag);
    s3_answer_free(&answer);
    return error;
}

static fw_error complete(struct s3_blobs *b, struct parts *parts, const char *query,
                         struct fw_failure *why)
{
    char *text = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    if (!list)
        return failure_memory(why);
    fputs("<CompleteMultipartUpload>", list);
    for (size_t i = 0; i < parts->count; i++)
        fprintf(list, "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>", i + 1,
                parts->etags[i]);
    fputs("</CompleteMultipartUpload>", list);
    if (fclose(list) != 0) {
        free(text);
        return failure_memory(why);
    }
    struct s3_request request = request_for("POST", parts->key);
    request.query = query;
    request.body = (struct span){(const uint8_t *)text, size};
    struct s3_answer answer;
    fw_error error = s3_send(b->s3, &request, &answer, why);
    /* 200 comes before the work is done; what went wrong then is told in the body. */
    char code[64], etag[160];
    struct span body = {answer.data, answer.size};
    if (!error && s3_xml_find(body, "Code", code, sizeof code))
        error = failure_say(why, FW_ERR_TIMEOUT, 0, "S3: %.100s was not put together: %.60s",
                            parts->key, code);
    else if (!error && !s3_xml_find(body, "ETag", etag, sizeof etag))
        error = failure_say(why, FW_ERR_SYSTEM, 0, "S3 POST %.100s: an answer without ETag",
                            parts->key);
    s3_answer_free(&answer);
    free(text);
    return error;
}

static fw_error size_of(struct blobs *blobs, const char *key, uint64_t *size,
                        struct fw_failure *why)
{
    struct s3_request request = request_for("HEAD", key);
    struct s3_answer answer;
    fw_error error = s3_send(mine(blobs)->s3, &request, &answer, why);
    if (!error && answer.length == UINT64_MAX)
        error = failure_say(why, FW_ERR_SYSTEM, 0, "S3 HEAD %.100s: no length", key);
    *size = error ? 0 : answer.length;
    s3_answer_free(&answer);
    return error;
}

static fw_error finish_parts(struct s3_blobs *b, struct parts *parts, fw_error error,
                             struct fw_failure *why)
{
    char query[4096] = "";
    if (!s3_query_add(query, sizeof query, "uploadId", parts->id))
        return failure_say(why, FW_ERR_SYSTEM, 0, "S3: the id of an upload is too long");
    if (!error)
        error = complete(b, parts, query, why);
    uint64_t size = 0;
    /* The answer of one that was done may be lost, and asking again finds no such upload. */
    if (error == FW_ERR_NOT_FOUND && !size_of(&b->base, parts->key, &size, NULL) &&
        size == parts->size)
        return FW_OK;
    if (error) {
        struct s3_request request = request_for("DELETE", parts->key);
        request.query = query;
        send(b, &request, NULL);
    }
    return error == FW_ERR_NOT_FOUND ? FW_ERR_TIMEOUT : error;
}

static fw_error put_parts(struct s3_blobs *b, struct parts *parts, struct fw_failure *why)
{
    parts->part_size = part_least;
    while (parts->size / parts->part_size >= PARTS_MOST)
        parts->part_size *= 2;
    parts->count = (size_t)((parts->size + parts->part_size - 1) / parts->part_size);
    parts->etags = calloc(parts->count, sizeof *parts->etags);
    if (!parts->etags)
        return failure_memory(why);
    fw_error error = start_parts(b, parts, why);
    if (!error) {
        for (size_t i = 0; !error && i < parts->count; i++)
            error = send_part(b, parts, i, why);
        error = finish_parts(b, parts, error, why);
    }
    free(parts->etags);
    return error;
}

static fw_error put_file(struct blobs *blobs, const char *key, const char *path,
                         struct fw_failure *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        fw_error error = files_say(why, errno, "cannot open %.120s", path);
        if (fd >= 0)
            close(fd);
        return error;
    }
    fw_error error;
    uint64_t size = (uint64_t)info.st_size;
    if (size > whole_most) {
        struct parts parts = {.key = key, .fd = fd, .size = size};
        error = put_parts(mine(blobs), &parts, why);
    } else {
        struct s3_request request = request_for("PUT", key);
        request.body_fd = fd;
        request.body_size = size;
        error = send(mine(blobs), &request, why);
    }
    close(fd);
    blobs_cache_drop(mine(blobs)->cache, key);
    if (!error)
        unlink(path);
    return error;
}

static fw_error remove_it(struct blobs *blobs, const char *key, struct fw_failure *why)
{
    struct s3_request request = request_for("DELETE", key);
    fw_error error = send(mine(blobs), &request, why);
    blobs_cache_drop(mine(blobs)->cache, key);
    return error == FW_ERR_NOT_FOUND ? FW_OK : error;
}

/* ---- reading ---- */

static fw_error get(struct blobs *blobs, const char *key, uint64_t offset, uint64_t size,
                    uint8_t **bytes, size_t *got, struct fw_failure *why)
{
    struct s3_request request = request_for("GET", key);
    request.ranged = offset || size;
    request.range_offset = offset;
    request.range_size = size;
    request.answer_most = size ? size : SIZE_MAX / 4;
    struct s3_answer answer;
    fw_error error = s3_send(mine(blobs)->s3, &request, &answer, why);
    if (error == FW_ERR_TRUNCATED && !size) { /* no range is empty: perhaps it ends there */
        uint64_t whole = 0;
        fw_error other = size_of(blobs, key, &whole, why);
        error = other ? other : whole == offset ? FW_OK : error;
        s3_answer_free(&answer);
    }
    if (!error && size && answer.size != size)
        error = failure_say(why, FW_ERR_TRUNCATED, 0, "blob %.120s has fewer bytes", key);
    if (!error && !answer.data)
        answer.data = malloc(1);
    if (!error && !answer.data)
        error = failure_memory(why);
    if (error) {
        s3_answer_free(&answer);
        return error;
    }
    *bytes = answer.data;
    *got = answer.size;
    return FW_OK;
}

static fw_error fetch(void *context, const char *key, int fd, struct fw_failure *why)
{
    struct s3_request request = request_for("GET", key);
    request.to_fd = fd;
    return send(context, &request, why);
}

static fw_error file(struct blobs *blobs, const char *key, int *fd, struct fw_failure *why)
{
    return blobs_cache_file(mine(blobs)->cache, key, fetch, blobs, fd, why);
}

/* One page: asks for it, and hands its objects on. */
static fw_error list_page(struct s3_blobs *b, const char *wanted, struct s3_page *page, bool *more,
                          blobs_each each, void *context, struct fw_failure *why)
{
    char query[8192] = "";
    if ((page->token[0] && !s3_query_add(query, sizeof query, "continuation-token", page->token)) ||
        !s3_query_add(query, sizeof query, "list-type", "2") ||
        !s3_query_add(query, sizeof query, "prefix", wanted))
        return failure_say(why, FW_ERR_SYSTEM, 0, "S3: the token of a list is too long");
    struct s3_request request = request_for("GET", NULL);
    request.query = query;
    struct s3_answer answer;
    fw_error error = s3_send(b->s3, &request, &answer, why);
    struct span body = {answer.data, answer.size};
    char before[sizeof page->token], truncated[8];
    memcpy(before, page->token, sizeof before);
    if (!error && !s3_xml_find(body, "IsTruncated", truncated, sizeof truncated))
        error = failure_say(why, FW_ERR_SYSTEM, 0, "S3: an answer that is no list");
    *page = (struct s3_page){.xml = s3_xml_over(body)};
    struct s3_object object;
    size_t prefix = strlen(s3_prefix(b->s3));
    while (!error && *more && s3_page_next(page, &object))
        if (strncmp(object.key, wanted, strlen(wanted)) == 0)
            *more = each(context, object.key + prefix, object.size, object.changed_ms);
    if (!error && *more && page->truncated && (!page->token[0] || strcmp(page->token, before) == 0))
        error = failure_say(why, FW_ERR_SYSTEM, 0, "S3: a list that does not go on");
    *more = *more && page->truncated;
    s3_answer_free(&answer);
    return error;
}

static fw_error list(struct blobs *blobs, const char *prefix, blobs_each each, void *context,
                     struct fw_failure *why)
{
    struct s3_blobs *b = mine(blobs);
    char wanted[BLOBS_KEY_MAX + 320];
    snprintf(wanted, sizeof wanted, "%s%s", s3_prefix(b->s3), prefix);
    struct s3_page page = {.truncated = false};
    fw_error error = FW_OK;
    for (bool more = true; more && !error;)
        error = list_page(b, wanted, &page, &more, each, context, why);
    return error;
}

static bool forget_copy(struct blobs *blobs, const char *key)
{
    blobs_cache_drop(mine(blobs)->cache, key);
    return true;
}

/* A day: what another server still sends is not to be touched. */
static void tidy(struct blobs *blobs)
{
    if (clock_may_remove(NULL))
        return;
    size_t aborted = s3_tidy(mine(blobs)->s3, collector_now_ms() - DAY_MS);
    if (aborted)
        log_line("S3: %zu uploads that servers had left half sent were removed", aborted);
}

static uint64_t free_bytes(struct blobs *blobs)
{
    (void)blobs;
    return UINT64_MAX;
}

static double used(struct blobs *blobs)
{
    (void)blobs;
    return 0;
}

static fw_error hold(struct blobs *blobs, int *fd, struct fw_failure *why)
{
    (void)blobs;
    *fd = -1;
    return failure_say(why, FW_ERR_UNSUPPORTED, 0, "a store in S3 is backed up by its provider");
}

static const struct blobs_driver driver = {
    .close = close_it,
    .put = put,
    .put_file = put_file,
    .get = get,
    .file = file,
    .size = size_of,
    .remove = remove_it,
    .list = list,
    .free = free_bytes,
    .forget_copy = forget_copy,
    .tidy = tidy,
    .used = used,
    .hold = hold,
};
