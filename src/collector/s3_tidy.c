/*
 * s3_tidy.h. ListMultipartUploads and AbortMultipartUpload of the Amazon S3 API Reference,
 * 2006-03-01.
 *
 * Nobody sees such an upload, but its parts are stored and paid for until it is aborted. One that
 * is being sent is younger than a day: the largest file that a server sends takes hours at most.
 * Where a bucket's rule (AbortIncompleteMultipartUpload) was faster, there is nothing to do.
 */
#include "collector/s3_tidy.h"

#include "collector/s3_xml.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGES_MOST = 1000, ANSWER_MOST = 8 << 20 };

static struct s3_request request_for(const char *method, const char *key)
{
    return (struct s3_request){
        .method = method, .key = key, .body_fd = -1, .to_fd = -1, .answer_most = ANSWER_MOST};
}

static bool list(struct s3 *s3, const struct s3_uploads *page, struct s3_answer *answer)
{
    char query[8192] = "";
    bool fits = (!page->key_marker[0] ||
                 s3_query_add(query, sizeof query, "key-marker", page->key_marker)) &&
                s3_query_add(query, sizeof query, "prefix", s3_prefix(s3)) &&
                (!page->id_marker[0] ||
                 s3_query_add(query, sizeof query, "upload-id-marker", page->id_marker)) &&
                s3_query_add(query, sizeof query, "uploads", "");
    struct s3_request request = request_for("GET", NULL);
    request.query = query;
    *answer = (struct s3_answer){.size = 0};
    return fits && s3_send(s3, &request, answer, NULL) == FW_OK;
}

static bool give_up(struct s3 *s3, const char *key, const char *id)
{
    char query[4096] = "";
    if (!s3_query_add(query, sizeof query, "uploadId", id))
        return false;
    struct s3_request request = request_for("DELETE", key);
    request.query = query;
    struct s3_answer answer;
    fw_error error = s3_send(s3, &request, &answer, NULL);
    s3_answer_free(&answer);
    return error == FW_OK;
}

/* What a server writes: the bucket may be others' as well. */
static bool is_ours(struct s3 *s3, const char *key)
{
    static const char *const folders[] = {"packs/", "symbols/", "uploads/"};
    size_t prefix = strlen(s3_prefix(s3));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(key, s3_prefix(s3), prefix) == 0 &&
            strncmp(key + prefix, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

/* Of one page; whether there is another one. */
static bool tidy_page(struct s3 *s3, struct s3_uploads *page, uint64_t before_ms, size_t *aborted)
{
    struct s3_answer answer;
    struct s3_uploads before = *page;
    struct s3_upload upload;
    bool good = list(s3, page, &answer);
    size_t prefix = strlen(s3_prefix(s3));
    *page = (struct s3_uploads){.xml = s3_xml_over((struct span){answer.data, answer.size})};
    while (good && s3_uploads_next(page, &upload))
        if (upload.begun_ms && upload.begun_ms < before_ms && is_ours(s3, upload.key))
            *aborted += give_up(s3, upload.key + prefix, upload.id);
    s3_answer_free(&answer);
    bool moves = strcmp(page->key_marker, before.key_marker) != 0 ||
                 strcmp(page->id_marker, before.id_marker) != 0;
    return good && page->truncated && page->key_marker[0] && moves;
}

size_t s3_tidy(struct s3 *s3, uint64_t before_ms)
{
    size_t aborted = 0;
    struct s3_uploads *page = calloc(1, sizeof *page);
    for (int i = 0; page && i < PAGES_MOST && tidy_page(s3, page, before_ms, &aborted); i++)
        continue;
    free(page);
    return aborted;
}
