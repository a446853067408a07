/*
 * The conversation about debug files: POST symbols/have, then an upload (push_upload.h) for each
 * file that is wanted.
 */
#include "cli/push_debug.h"

#include "cli/push_companions.h"
#include "cli/push_http.h"
#include "cli/push_sources.h"
#include "cli/push_upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HAVE_MAX = 1000 };

const char *const push_kind_words[] = {"", "executable", "debuginfo", "map"};

/* ---- what the collector lacks ---- */

json_t *push_debug_id(const struct push_command *command, const struct debug_slice *slice)
{
    char hex[2 * sizeof slice->id + 1] = "";
    for (size_t i = 0; i < slice->id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", slice->id[i]);
    json_t *id = json_pack("{s:s, s:s}", "debug_id", hex, "arch", slice->arch);
    /* An executable is for names, unless all are to be there: a debug file serves as well. */
    if (slice->kind != DEBUG_FILE_EXECUTABLE || command->stripped_too ||
        slice->features & DEBUG_FILE_DEBUG_INFO)
        json_object_set_new(id, "kind", json_string(push_kind_words[slice->kind]));
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
    json_t *body = json_pack("{s:o, s:s*}", "ids", a->ids, "project", d->command->project);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    const struct push_request request = {.method = "POST",
                                         .path = "/api/v1/symbols/have",
                                         .headers = headers,
                                         .body = {(const uint8_t *)text, text ? strlen(text) : 0}};
    size_t i;
    const json_t *number;
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
            json_array_append_new(a->ids, push_debug_id(d->command, &file->slices[k]));
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
        cli_error("%s: %s%s", d->command->url, answer.message, push_upload_next_step(&answer));
        for (size_t i = 0; i < found->count; i++)
            if (found->files[i].fate == PUSH_WANTED)
                found->files[i].fate = PUSH_FAILED;
        return exit_for(&answer);
    }
    for (size_t i = 0; i < found->count; i++) {
        of += found->files[i].fate == PUSH_WANTED;
        if (found->files[i].fate == PUSH_FAILED) /* a source bundle that could not be made */
            code = CLI_FAILED;
    }
    for (size_t i = 0; i < found->count && !d->command->dry_run; i++) {
        struct push_file *file = &found->files[i];
        if (file->fate != PUSH_WANTED)
            continue;
        push_upload_send(d, http, i, ++number, of, &answer);
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
        push_upload_wait(d, http, &wait, file);
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
    if (d->command->sources)
        push_sources_add(d);
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
