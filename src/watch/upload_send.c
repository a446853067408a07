/*
 * Sends a list of reports in batches and does with each what the collector says of it.
 *
 * The invariant: a file is removed only after its id has been read in a whole answer with status
 * 2xx as accepted, duplicate or refused; or when there is no report in it; or when it alone is too
 * large for the collector. Whatever else happens, it stays, and sending it again is harmless.
 *
 *     2xx          the answer's lines decide; what is not named stays
 *     401, 403     the key: nothing further is sent
 *     413          the batch is halved; a report that is too large alone is refused for good
 *     400, 422, 500  perhaps one report's doing: one by one, leaving out those that fail, until
 *                  ALONE_MAX have failed in a row
 *     all others   nothing further is sent: 429 and 503 with Retry-After, redirects, wrong places
 */
#include "watch/upload_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALONE_MAX = 3 };

struct run {
    const struct upload_job *job;
    struct upload_list *list;
    struct upload_outcome *out;
    size_t next;    /* first item that no request held yet */
    size_t most;    /* reports in a request */
    uint32_t alone; /* reports that failed by themselves, in a row */
    bool ended;
    struct upload_item *batch[UPLOAD_BATCH_MAX];
    struct upload_answer answers[UPLOAD_BATCH_MAX];
    char ids[UPLOAD_BATCH_MAX][UPLOAD_ID_SIZE];
};

static void tell(const struct run *r, const struct upload_item *item,
                 const struct upload_answer *answer, const char *why)
{
    if (r->job->told)
        r->job->told(r->job->told_context, item, answer, why);
}

/* Asked before each request. */
static bool may_go_on(struct run *r)
{
    const struct upload_job *job = r->job;
    const struct fw_upload_options *o = &job->settings->options;
    bool stop = job->stop && atomic_load(job->stop);
    if (!r->ended && !stop && job->ask_policy && o->policy)
        stop = o->policy(o->context) != FW_UPLOAD_NOW;
    if (!r->ended && stop) {
        r->ended = true;
        r->out->end = r->out->end ? r->out->end : UPLOAD_LATER_ASKED;
    }
    return !r->ended;
}

/* --- reading --- */

/* A file that cannot be sent. */
static void skip_item(struct run *r, struct upload_item *item, fw_error error)
{
    switch (error) {
    case FW_ERR_NOT_FOUND: return; /* taken by the folder's limits */
    case FW_ERR_FORMAT:
        tell(r, item, NULL, "no Framewalk report, or not one whole record of it");
        if (upload_item_remove(r->list, item))
            r->out->refused++;
        return;
    case FW_ERR_FULL: tell(r, item, NULL, "larger than 20 MB: not sent"); break;
    case FW_ERR_PERMISSION: tell(r, item, NULL, "it may not be read"); break;
    default: tell(r, item, NULL, "it cannot be read"); break;
    }
    r->out->left++;
    r->out->unreadable++;
}

/* Reads the next batch; how many. */
static size_t gather(struct run *r)
{
    size_t count = 0;
    uint64_t bytes = 0;
    while (r->next < r->list->count && count < r->most) {
        struct upload_item *item = &r->list->items[r->next];
        if (count && bytes + item->size > r->job->settings->options.batch_bytes)
            break; /* the size so far is the file's; never less than what is sent */
        fw_error error = upload_item_read(r->list, item);
        r->next++;
        if (error) {
            skip_item(r, item, error);
            continue;
        }
        bytes += item->size;
        r->batch[count++] = item;
    }
    return count;
}

/* --- one request --- */

static bool request(struct run *r, struct upload_item *const *batch, size_t count,
                    struct fw_upload_response *response)
{
    const struct upload_settings *s = r->job->settings;
    struct upload_body body;
    memset(response, 0, sizeof *response);
    if (upload_body_make(batch, count, !s->options.uncompressed, &body) != FW_OK) {
        snprintf(response->message, sizeof response->message, "out of memory");
        return false;
    }
    const char *headers[8];
    size_t used = 0;
    headers[used++] = "Content-Type: application/vnd.framewalk.reports";
    headers[used++] = "Accept: text/plain";
    headers[used++] = "User-Agent: framewalk";
    if (body.packed)
        headers[used++] = "Content-Encoding: gzip";
    if (s->authorization)
        headers[used++] = s->authorization;
    headers[used] = NULL;
    const struct fw_upload_request request = {s->target, headers, body.bytes, body.size};
    if (s->options.transport)
        s->options.transport(s->options.context, &request, response);
    else
        upload_client_send(r->job->client, &request, response);
    response->message[sizeof response->message - 1] = '\0';
    free(body.bytes);
    r->out->requests++;
    return true;
}

/* `status` 0: there was none. */
static void fail(struct run *r, unsigned status, const char *text)
{
    r->out->failures++;
    r->out->end = UPLOAD_FAILED;
    if (status)
        snprintf(r->out->message, sizeof r->out->message, "HTTP %u: %s", status, text);
    else
        snprintf(r->out->message, sizeof r->out->message, "%s", text);
}

/* --- what came back --- */

static const char will_be_sent_again[] = "its file could not be removed and will be sent again";

/* A report that is done with, whose file cannot be removed: a failure, so that the wait grows. */
static void stays(struct run *r)
{
    r->out->unremoved++;
    fail(r, 0, "a report was sent, but its file could not be removed");
}

/* True when at least one of the reports has its last verdict. */
static bool take_answers(struct run *r, struct upload_item *const *batch, size_t count,
                         const struct fw_upload_response *response)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        memcpy(r->ids[i], batch[i]->id, UPLOAD_ID_SIZE);
    bool usable = response->body && response->body_size <= UPLOAD_ANSWER_MAX;
    upload_answer_parse(usable ? response->body : "", usable ? response->body_size : 0, r->ids,
                        count, r->answers);
    for (size_t i = 0; i < count; i++) {
        const struct upload_answer *answer = &r->answers[i];
        bool last = answer->verdict == UPLOAD_ACCEPTED || answer->verdict == UPLOAD_DUPLICATE ||
                    answer->verdict == UPLOAD_REFUSED;
        any |= last;
        bool gone = last && upload_item_remove(r->list, batch[i]);
        if (last && !gone)
            stays(r);
        r->out->sent += answer->verdict == UPLOAD_ACCEPTED;
        r->out->duplicates += answer->verdict == UPLOAD_DUPLICATE;
        r->out->refused += answer->verdict == UPLOAD_REFUSED;
        r->out->left += !last;
        r->out->postponed += !last;
        tell(r, batch[i], answer, last && !gone ? will_be_sent_again : NULL);
    }
    return any;
}

/* Reports that stay. */
static void leave(struct run *r, size_t count)
{
    r->out->left += count;
}

static void refuse_alone(struct run *r, struct upload_item *item)
{
    struct upload_answer answer = {.verdict = UPLOAD_REFUSED};
    snprintf(answer.reason, sizeof answer.reason, "too large for the collector (HTTP 413)");
    r->out->refused++;
    bool gone = upload_item_remove(r->list, item);
    if (!gone)
        stays(r);
    tell(r, item, &answer, gone ? NULL : will_be_sent_again);
}

static const char *meaning(const struct fw_upload_response *response)
{
    unsigned status = response->status;
    if (status >= 200 && status < 300)
        return response->body_size > UPLOAD_ANSWER_MAX ? "the answer is longer than any collector's"
                                                       : "the answer takes none of the reports";
    switch (status) {
    case 404:
    case 405: return "no collector is at this URL";
    case 415: return "the collector does not know this form of request";
    case 429: return "the collector asks for fewer requests";
    case 503: return "the collector is overloaded, or down for a while";
    case 507: return "the collector's disk is full";
    default: break;
    }
    if (status >= 300 && status < 400)
        return "redirects are not followed; give the URL it leads to";
    return status >= 500 ? "the collector failed" : "the collector refused the request";
}

/* A status that ends the run. */
static void give_up(struct run *r, const struct fw_upload_response *response)
{
    r->ended = true;
    r->out->retry_after = response->retry_after;
    if (response->status == 0 && response->later && r->job->ask_policy) {
        /* nothing was sent */
        r->out->requests--;
        r->out->end = UPLOAD_LATER_ASKED;
    } else if (response->status == 0) {
        fail(r, 0, response->message[0] ? response->message : "not reached");
        if (r->job->stop && atomic_load(r->job->stop)) { /* we gave it up ourselves */
            r->out->failures--;
            r->out->end = UPLOAD_LATER_ASKED;
        }
    } else if (response->status == 401 || response->status == 403) {
        fail(r, response->status,
             r->job->settings->authorization ? "the collector does not accept the key"
                                             : "the collector wants a key");
        r->out->end = UPLOAD_KEY;
    } else {
        fail(r, response->status, meaning(response));
    }
}

static bool perhaps_one(unsigned status)
{
    return status == 400 || status == 422 || status == 500;
}

static void send_batch(struct run *r, struct upload_item *const *batch, size_t count);

/* What a batch that could not be taken as a whole becomes. Halves nest at most seven deep. */
static void send_parts(struct run *r, struct upload_item *const *batch, size_t count, size_t part)
{
    for (size_t i = 0; i < count; i += part) {
        size_t some = part < count - i ? part : count - i;
        if (may_go_on(r))
            send_batch(r, batch + i, some);
        else
            leave(r, some);
    }
}

static void judge(struct run *r, struct upload_item *const *batch, size_t count,
                  const struct fw_upload_response *response)
{
    unsigned status = response->status;
    if (status >= 200 && status < 300) {
        if (take_answers(r, batch, count, response)) {
            r->alone = 0;
            r->out->retry_after = response->retry_after;
            return;
        }
        give_up(r, response);
        return;
    }
    if (status == 413 && count > 1) {
        r->most = r->most > count / 2 ? (count + 1) / 2 : r->most;
        send_parts(r, batch, count, (count + 1) / 2);
    } else if (status == 413) {
        refuse_alone(r, batch[0]);
    } else if (perhaps_one(status) && count > 1) {
        r->most = 1;
        send_parts(r, batch, count, 1);
    } else if (perhaps_one(status) && ++r->alone < ALONE_MAX) {
        fail(r, status, meaning(response));
        tell(r, batch[0], NULL, r->out->message);
        leave(r, 1);
    } else {
        give_up(r, response);
        leave(r, count);
    }
}

static void send_batch(struct run *r, struct upload_item *const *batch, size_t count)
{
    struct fw_upload_response response;
    if (!request(r, batch, count, &response)) {
        fail(r, 0, response.message);
        r->ended = true;
        leave(r, count);
        return;
    }
    judge(r, batch, count, &response);
    free(response.body);
}

void upload_send(const struct upload_job *job, struct upload_list *list,
                 struct upload_outcome *outcome)
{
    struct run *r = calloc(1, sizeof *r);
    *outcome = (struct upload_outcome){.end = UPLOAD_DONE};
    if (!r) {
        outcome->end = UPLOAD_FAILED;
        outcome->left = list->count;
        snprintf(outcome->message, sizeof outcome->message, "out of memory");
        return;
    }
    *r = (struct run){.job = job, .list = list, .out = outcome};
    r->most = job->settings->options.batch;
    size_t count;
    while (r->next < list->count && may_go_on(r) && (count = gather(r)) > 0) {
        send_batch(r, r->batch, count);
        for (size_t i = 0; i < count; i++)
            upload_item_drop(r->batch[i]);
    }
    outcome->left += list->count - r->next;
    free(r);
}
