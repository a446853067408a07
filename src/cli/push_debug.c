/*
 * The conversation about debug files: POST symbols/have, then for each file that is wanted the
 * upload protocol of docs/upload.md.
 *
 * A part that breaks is tried again a few times, after the collector was asked how far it got.
 */
#include "cli/push_debug.h"

#include "cli/push_companions.h"
#include "cli/push_http.h"
#include "cli/push_pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    HAVE_MAX = 1000,
    PART_BYTES = 16 << 20, /* what is lost at most when a connection breaks */
    TRIES = 6,             /* in a row without a byte more */
    WAIT_MOST = 60,        /* seconds: what a collector may ask for */
    ID_DIGITS = 32,
};

static const char *const kinds[] = {"", "executable", "debuginfo", "map"};

struct push_wait {  /* for the collector's conversions, of all files together */
    unsigned limit; /* seconds without news */
    time_t since;   /* the last news, by the monotonic clock; 0: none yet */
    char heard[80]; /* what the last answer told */
    bool over;
};

/* ---- what the collector lacks ---- */

static json_t *wanted_id(const struct push_command *command, const struct debug_slice *slice)
{
    char hex[2 * sizeof slice->id + 1] = "";
    for (size_t i = 0; i < slice->id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", slice->id[i]);
    json_t *id = json_pack("{s:s, s:s}", "debug_id", hex, "arch", slice->arch);
    /* An executable is for names, unless all are to be there: a debug file serves as well. */
    if (slice->kind != DEBUG_FILE_EXECUTABLE || command->stripped_too ||
        slice->features & DEBUG_FILE_DEBUG_INFO)
        json_object_set_new(id, "kind", json_string(kinds[slice->kind]));
    return id;
}

struct asked { /* slices of one request */
    size_t file[HAVE_MAX];
    size_t count;
    json_t *ids;
};

static bool ask(struct push_debug *d, struct push_http *http, struct asked *a, bool *lacks,
                struct push_answer *answer)
{
    json_t *body = json_pack("{s:o}", "ids", a->ids);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    const struct push_request request = {.method = "POST",
                                         .path = "/api/v1/symbols/have",
                                         .headers = headers,
                                         .body = {(const uint8_t *)text, text ? strlen(text) : 0}};
    size_t i;
    const json_t *number;
    (void)d;
    push_http_send(http, &request, answer);
    json_array_foreach(json_object_get(answer->json, "missing"), i, number)
    {
        json_int_t at = json_integer_value(number);
        if (at >= 0 && (size_t)at < a->count)
            lacks[a->file[at]] = true;
    }
    bool good = answer->status == 200 && json_is_array(json_object_get(answer->json, "missing"));
    json_decref(answer->json);
    answer->json = NULL;
    json_decref(body);
    free(text);
    *a = (struct asked){.ids = json_array()};
    return good;
}

/* False: the collector did not answer as one does; `answer` says how. */
static bool ask_all(struct push_debug *d, struct push_http *http, struct push_answer *answer)
{
    struct push_found *found = &d->found;
    struct asked *a = calloc(1, sizeof *a);
    bool *lacks = calloc(found->count + 1, sizeof *lacks), good = a && lacks;
    if (a)
        a->ids = json_array();
    for (size_t i = 0; good && i < found->count; i++) {
        const struct push_file *file = &found->files[i];
        lacks[i] = file->whole;
        for (size_t k = 0; good && file->fate == PUSH_WANTED && k < file->slice_count; k++) {
            if (!file->slices[k].id_size)
                continue;
            a->file[a->count++] = i;
            json_array_append_new(a->ids, wanted_id(d->command, &file->slices[k]));
            if (a->count == HAVE_MAX)
                good = ask(d, http, a, lacks, answer);
        }
    }
    if (good && a->count)
        good = ask(d, http, a, lacks, answer);
    for (size_t i = 0; good && i < found->count; i++)
        if (found->files[i].fate == PUSH_WANTED && !lacks[i])
            found->files[i].fate = PUSH_PRESENT;
    if (a)
        json_decref(a->ids);
    free(a);
    free(lacks);
    return good;
}

/* ---- one upload ---- */

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
    char name[128], name64[180], sha64[100], length[64], metadata[320];
    const char *slash = strrchr(s->file->path, '/');
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : s->file->path);
    base64(name, name64);
    base64(s->pack.sha256, sha64);
    snprintf(length, sizeof length, "Upload-Length: %zu", s->pack.bytes.size);
    snprintf(metadata, sizeof metadata, "Upload-Metadata: filename %s%s%s", name64,
             sha64[0] ? ",sha256 " : "", sha64);
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

static const char *next_step(const struct push_answer *answer)
{
    switch (answer->status) {
    case 0: return "";
    case 401: return " (--key-file FILE gives a token)";
    case 403: return " (debug files want a token with symbols:write, not a key for reports)";
    case 404: return " (is --to the collector's address?)";
    default: return "";
    }
}

static void send_file(struct push_debug *d, struct push_http *http, size_t index, size_t number,
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
                 next_step(answer));
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

static void wait_for(struct push_debug *d, struct push_http *http, struct push_wait *wait,
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

/* ---- all ---- */

static enum cli_exit exit_for(const struct push_answer *answer)
{
    return answer->status == 401 || answer->status == 403 ? CLI_PERMISSION : CLI_FAILED;
}

static enum cli_exit send_all(struct push_debug *d, struct push_http *http)
{
    struct push_found *found = &d->found;
    struct push_answer answer = {0};
    struct push_wait wait = {.limit = d->command->wait_limit};
    size_t of = 0, number = 0;
    enum cli_exit code = CLI_OK;
    if (!ask_all(d, http, &answer)) {
        progress_end(d->progress);
        cli_error("%s: %s%s", d->command->url, answer.message, next_step(&answer));
        for (size_t i = 0; i < found->count; i++)
            if (found->files[i].fate == PUSH_WANTED)
                found->files[i].fate = PUSH_FAILED;
        return exit_for(&answer);
    }
    for (size_t i = 0; i < found->count; i++)
        of += found->files[i].fate == PUSH_WANTED;
    for (size_t i = 0; i < found->count && !d->command->dry_run; i++) {
        struct push_file *file = &found->files[i];
        if (file->fate != PUSH_WANTED)
            continue;
        send_file(d, http, i, ++number, of, &answer);
        if (file->fate == PUSH_FAILED && code == CLI_OK)
            code = exit_for(&answer);
        if (file->fate == PUSH_FAILED && (answer.status == 0 || answer.status == 401 ||
                                          answer.status == 403 || answer.status == 507))
            break; /* the next would fare no better */
    }
    for (size_t i = 0; i < found->count && d->command->wait; i++) {
        struct push_file *file = &found->files[i];
        if (file->fate != PUSH_SENT)
            continue;
        wait_for(d, http, &wait, file);
        if (file->fate != PUSH_SENT && code == CLI_OK)
            code = file->fate == PUSH_USELESS ? CLI_FORMAT : CLI_FAILED;
    }
    if ((wait.over || push_companions_missed(found)) && code == CLI_OK)
        code = CLI_INCOMPLETE;
    progress_end(d->progress);
    for (size_t i = 0; i < found->count && code != CLI_OK; i++)
        if (found->files[i].fate == PUSH_SENT)
            code = CLI_INCOMPLETE;
    return code;
}

enum cli_exit push_debug_send(struct push_debug *d)
{
    struct fw_failure why = {0};
    push_find_choose(&d->found, d->command->stripped_too);
    push_companions_plan(&d->found);
    if (d->found.no_memory) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    if (!d->found.count || !d->settings)
        return CLI_OK;
    struct push_http *http = push_http_open(d->settings, &why);
    if (!http) {
        cli_error("%s", why.message);
        return CLI_FAILED;
    }
    enum cli_exit code = send_all(d, http);
    push_http_close(http);
    return code;
}

/* ---- telling ---- */

static void tell_ids(const struct push_file *file)
{
    for (size_t i = 0; i < file->slice_count; i++) {
        const struct debug_slice *s = &file->slices[i];
        printf("    %s %s ", s->arch, kinds[s->kind]);
        for (size_t k = 0; k < s->id_size; k++)
            printf("%02x", s->id[k]);
        putchar('\n');
    }
}

static void tell_file(const struct push_debug *d, const struct push_file *file)
{
    const struct push_command *c = d->command;
    bool would = file->fate == PUSH_WANTED && c->dry_run;
    if (file->fate == PUSH_ALONE || file->incomplete) {
        cli_error("%s: %s", file->path, file->missing);
        if (file->fate == PUSH_ALONE)
            return;
    }
    if (file->fate == PUSH_FAILED || file->fate == PUSH_USELESS) {
        cli_error("%s: %s%s%s", file->path,
                  file->fate == PUSH_FAILED ? "not sent" : "the collector cannot use it",
                  file->message[0] ? ": " : "", file->message);
        return;
    }
    if (c->quiet || (!c->verbose && !would && file->fate != PUSH_SENT))
        return;
    cli_say("%s  %s%s%s", file->path, would ? "would be sent" : push_fate_words[file->fate],
            file->message[0] ? ": " : "", file->message);
    if (c->verbose)
        tell_ids(file);
}

static size_t count_of(const struct push_found *found, enum push_fate fate)
{
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++)
        count += found->files[i].fate == fate;
    return count;
}

static void tell_count(const char *before, size_t count, const char *words)
{
    if (count)
        printf("%s%zu %s", before, count, words);
}

void push_debug_tell(const struct push_debug *d)
{
    const struct push_found *found = &d->found;
    for (size_t i = 0; i < found->count; i++)
        tell_file(d, &found->files[i]);
    if (found->bitcode_maps && !d->command->quiet)
        puts("BCSymbolMaps were left out: Apple's bitcode, which they belong to, is no more");
    if (found->cut)
        cli_error("the search ended early: too many or too deep folders; name those that matter");
    if (found->unreadable)
        cli_error("%zu files or folders could not be read", found->unreadable);
    if (!found->count || d->command->quiet)
        return;
    size_t sent = count_of(found, d->command->dry_run ? PUSH_WANTED : PUSH_SENT);
    printf("%zu debug file%s %s", sent, sent == 1 ? "" : "s",
           d->command->dry_run ? "would be sent" : "sent");
    tell_count(", ", count_of(found, PUSH_PRESENT), "there already");
    tell_count(", ", count_of(found, PUSH_HAS_BETTER), "with a debug file that serves instead");
    tell_count(", ", count_of(found, PUSH_TWIN), "found twice");
    tell_count(", ", count_of(found, PUSH_STRIPPED), "stripped (--include-stripped sends them)");
    tell_count(", ", count_of(found, PUSH_NO_ID), "without build id");
    tell_count(", ", count_of(found, PUSH_USELESS), "of no use to the collector");
    tell_count(", ", count_of(found, PUSH_ALONE), "not made: files with names are missing");
    tell_count(", ",
               count_of(found, PUSH_FAILED) +
                   (d->command->dry_run ? 0 : count_of(found, PUSH_WANTED)),
               "not sent");
    putchar('\n');
}

json_t *push_debug_json(const struct push_debug *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->found.count; i++) {
        const struct push_file *file = &d->found.files[i];
        json_t *ids = json_array();
        for (size_t k = 0; k < file->slice_count; k++) {
            json_t *id = wanted_id(d->command, &file->slices[k]);
            json_object_set_new(id, "kind", json_string(kinds[file->slices[k].kind]));
            json_array_append_new(ids, id);
        }
        json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:s, s:s, s:o}", "path", file->path,
                                              "size", (json_int_t)file->size, "state",
                                              push_fate_words[file->fate], "message", file->message,
                                              "upload", file->upload, "identities", ids));
    }
    return list;
}
