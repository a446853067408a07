/*
 * One debug file to the collector by the upload protocol of docs/upload.md, and what became of it.
 *
 * A part that breaks is tried again a few times, after the collector was asked how far it got.
 */
#include "cli/push_upload.h"

#include "cli/push_companions.h"
#include "cli/push_pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PART_BYTES = 16 << 20, /* what is lost at most when a connection breaks */
    TRIES = 6,             /* in a row without a byte more */
    WAIT_MOST = 60,        /* seconds: what a collector may ask for */
    ID_DIGITS = 32,
    PROJECT_MOST = 64, /* letters of a name; a longer one the question before has refused */
};

struct sending {
    struct push_debug *debug;
    struct push_http *http;
    struct push_file *file;
    struct push_pack pack;
    char path[64 + ID_DIGITS]; /* of the upload */
    uint64_t at, part;
    size_t number, of;
};

static void show(void *context, uint64_t sent)
{
    struct sending *s = context;
    const char *slash = strrchr(s->file->path, '/');
    progress_show(s->debug->progress, "Sending %s: %.1f of %.1f MB (%zu of %zu)",
                  slash ? slash + 1 : s->file->path, (double)(s->at + sent) / 1e6,
                  (double)s->pack.bytes.size / 1e6, s->number, s->of);
}

static void base64(const char *text, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)(uint8_t)text[i] << 16;
        three |= i + 1 < size ? (uint32_t)(uint8_t)text[i + 1] << 8 : 0;
        three |= i + 2 < size ? (uint8_t)text[i + 2] : 0;
        *out++ = digits[three >> 18];
        *out++ = digits[three >> 12 & 63];
        *out++ = i + 1 < size ? digits[three >> 6 & 63] : '=';
        *out++ = i + 2 < size ? digits[three & 63] : '=';
    }
    *out = 0;
}

/* How far the upload is, as the answer says. */
static bool take_state(struct sending *s, const json_t *said)
{
    const char *id = json_string_value(json_object_get(said, "id"));
    json_int_t at = json_integer_value(json_object_get(said, "received"));
    json_int_t part = json_integer_value(json_object_get(said, "part_bytes"));
    if (!id || strlen(id) != ID_DIGITS || strspn(id, "0123456789abcdef") != ID_DIGITS || at < 0 ||
        (uint64_t)at > s->pack.bytes.size)
        return false;
    snprintf(s->file->upload, sizeof s->file->upload, "%s", id);
    snprintf(s->path, sizeof s->path, "/api/v1/uploads/%s", id);
    s->at = (uint64_t)at;
    s->part = part > 0 && part < PART_BYTES ? (uint64_t)part : PART_BYTES;
    return true;
}

static bool is_created(struct sending *s, struct push_answer *answer)
{
    char name[128], name64[180], sha64[100], length[64], project64[100] = "", metadata[512];
    const char *project = s->debug->command->project;
    const char *slash = strrchr(s->file->path, '/');
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : s->file->path);
    base64(name, name64);
    base64(s->pack.sha256, sha64);
    if (project && strlen(project) <= PROJECT_MOST)
        base64(project, project64);
    snprintf(length, sizeof length, "Upload-Length: %zu", s->pack.bytes.size);
    snprintf(metadata, sizeof metadata, "Upload-Metadata: filename %s%s%s%s%s", name64,
             sha64[0] ? ",sha256 " : "", sha64, project64[0] ? ",project " : "", project64);
    const char *const headers[] = {"Tus-Resumable: 1.0.0", length, metadata, NULL};
    const struct push_request request = {.method = "POST",
                                         .path = "/api/v1/uploads",
                                         .headers = headers,
                                         .body = {(const uint8_t *)"", 0}};
    push_http_send(s->http, &request, answer);
    bool good = (answer->status == 200 || answer->status == 201) && take_state(s, answer->json);
    json_decref(answer->json);
    answer->json = NULL;
    return good;
}

/* One part; whether it was taken. */
static bool send_part(struct sending *s, struct push_answer *answer)
{
    char offset[64];
    uint64_t left = s->pack.bytes.size - s->at, size = left < s->part ? left : s->part;
    snprintf(offset, sizeof offset, "Upload-Offset: %" PRIu64, s->at);
    const char *const headers[] = {"Tus-Resumable: 1.0.0",
                                   "Content-Type: application/offset+octet-stream", offset, NULL};
    const struct push_request request = {.method = "PATCH",
                                         .path = s->path,
                                         .headers = headers,
                                         .body = {s->pack.bytes.data + s->at, (size_t)size},
                                         .sent = show,
                                         .context = s};
    push_http_send(s->http, &request, answer);
    json_decref(answer->json);
    answer->json = NULL;
    if (answer->status == 204)
        s->at += size;
    return answer->status == 204;
}

static bool ask_state(struct sending *s, struct push_answer *answer)
{
    const struct push_request request = {.method = "GET", .path = s->path};
    push_http_send(s->http, &request, answer);
    bool good = answer->status == 200 && take_state(s, answer->json);
    json_decref(answer->json);
    answer->json = NULL;
    return good;
}

/* Whether the same request may come to another end. */
static bool passes(const struct push_answer *answer)
{
    return answer->status == 0 || answer->status == 408 || answer->status == 409 ||
           answer->status == 429 || answer->status == 500 || answer->status == 502 ||
           answer->status == 503 || answer->status == 504;
}

static void pause_for(const struct push_answer *answer, unsigned failures)
{
    unsigned wait = answer->retry_after ? answer->retry_after : 1u << failures;
    sleep(answer->status == 409 ? 0 : wait < WAIT_MOST ? wait : WAIT_MOST);
}

/* False: `answer` says why not all was taken. */
static bool send_bytes(struct sending *s, struct push_answer *answer)
{
    unsigned failures = 0;
    while (!is_created(s, answer)) {
        if (!passes(answer) || ++failures == TRIES)
            return false;
        pause_for(answer, failures);
    }
    failures = 0;
    for (uint64_t furthest = s->at; s->at < s->pack.bytes.size;) {
        show(s, 0);
        if (send_part(s, answer))
            continue;
        if (!passes(answer))
            return false;
        struct push_answer failure = *answer;
        pause_for(answer, failures);
        ask_state(s, answer);
        failures = s->at > furthest ? 0 : failures + 1; /* not by going back and forth */
        furthest = s->at > furthest ? s->at : furthest;
        if (failures == TRIES) {
            *answer = failure;
            return false;
        }
    }
    return true;
}

const char *push_upload_next_step(const struct push_answer *answer)
{
    switch (answer->status) {
    case 0: return " (does the collector run, and is --to its address?)";
    case 401: return " (--key-file FILE gives a token)";
    case 403: return " (debug files want a token with symbols:write, not a key for reports)";
    case 404: return " (is --to the collector's address?)";
    default: return "";
    }
}

void push_upload_send(struct push_debug *d, struct push_http *http, size_t index, size_t number,
                      size_t of, struct push_answer *answer)
{
    struct push_file *file = &d->found.files[index];
    struct sending s = {.debug = d, .http = http, .file = file, .number = number, .of = of};
    if (!push_companions_make(file, d->progress))
        return;
    progress_show(d->progress, "Packing %s", file->path);
    bool packed = push_pack_open(file, &s.pack, file->message, sizeof file->message);
    push_companions_drop(file);
    if (!packed) {
        file->fate = PUSH_FAILED;
        return;
    }
    *answer = (struct push_answer){0};
    file->fate = PUSH_SENT;
    if (!send_bytes(&s, answer)) {
        file->fate = PUSH_FAILED;
        snprintf(file->message, sizeof file->message, "%.120s%s", answer->message,
                 push_upload_next_step(answer));
    }
    push_pack_close(&s.pack);
}

/* ---- what became of them ---- */

/* Whether the collector is done with it. */
static bool take_result(struct push_file *file, const json_t *said)
{
    const char *state = json_string_value(json_object_get(said, "state"));
    const char *message = json_string_value(json_object_get(said, "message"));
    const json_t *first = json_array_get(json_object_get(said, "files"), 0);
    const char *inner = json_string_value(json_object_get(first, "message"));
    if (!state || (strcmp(state, "done") != 0 && strcmp(state, "failed") != 0))
        return false;
    bool failed = strcmp(state, "failed") == 0;
    file->fate = failed ? PUSH_USELESS : PUSH_SENT;
    snprintf(file->message, sizeof file->message, "%s%s%s", message ? message : "",
             inner && *inner ? ": " : "", inner ? inner : "");
    return true;
}

static bool has_news(struct push_wait *wait, const struct push_file *file, const json_t *said)
{
    const char *state = json_string_value(json_object_get(said, "state"));
    json_int_t done = json_integer_value(json_object_get(said, "done"));
    char now[sizeof wait->heard];
    snprintf(now, sizeof now, "%s %.12s %lld", file->upload, state ? state : "", (long long)done);
    bool news = strcmp(now, wait->heard) != 0;
    memcpy(wait->heard, now, sizeof now);
    return news;
}

/* False: nothing new has been heard for as long as --wait-limit says. */
static bool goes_on(struct push_wait *wait, struct push_file *file, const json_t *said)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const char *state = json_string_value(json_object_get(said, "state"));
    if (!wait->over && (has_news(wait, file, said) || !wait->since))
        wait->since = now.tv_sec;
    wait->over |= now.tv_sec - wait->since >= (time_t)wait->limit;
    if (wait->over)
        snprintf(file->message, sizeof file->message,
                 "sent, and still %.12s: the collector told nothing new for %u s (--wait-limit); "
                 "it goes on by itself, and its page lists its jobs",
                 state ? state : "unknown", wait->limit);
    return !wait->over;
}

void push_upload_wait(struct push_debug *d, struct push_http *http, struct push_wait *wait,
                      struct push_file *file)
{
    struct push_answer answer;
    unsigned failures = 0;
    char path[64 + ID_DIGITS];
    snprintf(path, sizeof path, "/api/v1/uploads/%s", file->upload);
    const struct push_request request = {.method = "GET", .path = path};
    const struct timespec pause = {.tv_nsec = 300000000};
    for (;;) {
        push_http_send(http, &request, &answer);
        bool done = answer.status == 200 && take_result(file, answer.json);
        double part = (double)json_integer_value(json_object_get(answer.json, "total"));
        if (part > 0)
            part = (double)json_integer_value(json_object_get(answer.json, "done")) / part;
        bool patient = done || goes_on(wait, file, answer.json);
        json_decref(answer.json);
        failures = answer.status == 200 ? 0 : failures + 1;
        if (done || !patient)
            return;
        if (failures == TRIES) {
            file->fate = PUSH_FAILED;
            snprintf(file->message, sizeof file->message, "sent, but its end is not known: %.120s",
                     answer.message);
            return;
        }
        progress_show(d->progress, "The collector converts %s: %.0f %%", file->path, 100 * part);
        if (failures)
            pause_for(&answer, failures);
        else
            nanosleep(&pause, NULL);
    }
}
