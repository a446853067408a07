/*
 * For the last step of a build: asks the collector what changed between two versions
 * (GET calls/diff, docs/openapi.yaml), prints the new callers of watched functions, and says by its
 * exit code whether the allow list has them all.
 */
#include "cli/push_calls.h"

#include "cli/cli.h"
#include "cli/push_http.h"
#include "report/words.h"
#include "watch/upload_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* FROM..TO, TO with --compare-with FROM, or TO alone: the collector knows the release before. */
static void make_path(struct report_bytes *out, const struct push_command *command)
{
    const char *to = command->check_calls, *dots = strstr(to, "..");
    push_http_project(out, command->project);
    out_text(out, "/calls/diff?to=");
    if (dots) {
        push_http_escape(out, dots + 2, strlen(dots + 2));
        out_text(out, "&from=");
        push_http_escape(out, to, (size_t)(dots - to));
    } else {
        push_http_escape(out, to, strlen(to));
    }
    if (command->compare_with) {
        out_text(out, "&from=");
        push_http_escape(out, command->compare_with, strlen(command->compare_with));
    }
}

/* --- as text --- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* "  not allowed  open  from Shop::load (libshop.so, src/load.cpp:17), 12 times" */
static void out_row(struct report_bytes *out, const json_t *row)
{
    const json_t *caller = json_object_get(row, "caller");
    const char *function = text_of(caller, "function"), *file = text_of(caller, "file");
    bool allowed = json_is_true(json_object_get(row, "allowed"));
    out_text(out, allowed ? "  allowed      " : "  not allowed  ");
    out_clean(out, text_of(row, "api"), SIZE_MAX);
    out_text(out, "  from ");
    out_clean(out, *function ? function : "a function without a name", SIZE_MAX);
    out_text(out, " (");
    out_clean(out, *text_of(caller, "image") ? text_of(caller, "image") : "no image", SIZE_MAX);
    if (*file) {
        out_text(out, ", ");
        out_clean(out, file, SIZE_MAX);
        out_format(out, ":%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(caller, "line")));
    }
    json_int_t count = json_integer_value(json_object_get(row, "after"));
    out_format(out, "), %" JSON_INTEGER_FORMAT " time%s\n", count, count == 1 ? "" : "s");
}

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* " (compared with 3.1.0, the last release before it" */
static void out_base(struct report_bytes *out, const json_t *diff)
{
    out_text(out, " (compared with ");
    out_clean(out, text_of(diff, "from"), SIZE_MAX);
    out_text(out, json_is_true(json_object_get(diff, "from_named")) ? ", as named"
                  : json_is_true(json_object_get(diff, "from_prerelease"))
                      ? ", a pre-release: no release came before"
                      : ", the last release before it");
    if (!number_of(diff, "from_calls"))
        out_text(out, "; no watched calls were recorded in that one");
}

/* No version came before. */
static void out_first(struct report_bytes *out, const json_t *diff)
{
    out_text(out, "no version came before ");
    out_clean(out, text_of(diff, "to"), SIZE_MAX);
    out_text(out, ": there is nothing to compare it with (--compare-with VERSION names one)\n");
}

static void out_diff(struct report_bytes *out, const json_t *diff)
{
    const json_t *rows = json_object_get(diff, "new");
    const json_t *totals = json_object_get(diff, "totals");
    size_t listed = json_array_size(rows);
    size_t count = (size_t)number_of(totals, "new");
    bool truncated = json_is_true(json_object_get(diff, "truncated"));
    out_clean(out, text_of(diff, "to"), SIZE_MAX);
    if (count)
        out_format(out,
                   " has %zu new caller%s of watched functions, %" JSON_INTEGER_FORMAT
                   " of them not allowed",
                   count, count == 1 ? "" : "s", number_of(totals, "not_allowed"));
    else if (!number_of(diff, "to_calls"))
        out_text(out, ": no watched calls were recorded");
    else if (truncated || number_of(totals, "unnamed") || number_of(diff, "waiting_reports") ||
             number_of(diff, "failed_reports"))
        out_text(out, ": not all of its calls are known, nothing new among those that are");
    else
        out_text(out, " calls nothing new");
    out_base(out, diff);
    out_text(out, count ? "):\n" : ")\n");
    for (size_t i = 0; i < listed; i++)
        out_row(out, json_array_get(rows, i));
    if (listed < count)
        out_format(out, "  and %zu more\n", count - listed);
    if (truncated && count)
        out_text(out, "  not all of its calls are known\n");
}

static bool print_diff(const struct push_command *command, const json_t *diff)
{
    struct report_bytes out = {0};
    bool good = true;
    if (command->json) {
        good = json_dumpf(diff, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;
    } else if (!command->quiet) {
        if (json_is_string(json_object_get(diff, "from")))
            out_diff(&out, diff);
        else
            out_first(&out, diff);
        good = !out.failed && fwrite(out.data, 1, out.size, stdout) == out.size;
    }
    report_bytes_free(&out);
    if (!good || fflush(stdout) != 0) {
        cli_error("standard output: %s", strerror(errno));
        return false;
    }
    return true;
}

/* --- the request --- */

/* A name from elsewhere, fit for the terminal. */
static void complain(const char *before, const char *name, const char *after)
{
    struct report_bytes out = {0};
    out_text(&out, before);
    out_clean(&out, name, SIZE_MAX);
    out_text(&out, after);
    if (!out.failed)
        cli_error("%s", out.data);
    report_bytes_free(&out);
}

static void complain_unnamed(const json_t *diff)
{
    const json_t *rows = json_object_get(diff, "unnamed");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *image = text_of(json_object_get(json_array_get(rows, i), "caller"), "image");
        bool said = false;
        for (size_t k = 0; k < i && !said; k++)
            said = strcmp(image, text_of(json_object_get(json_array_get(rows, k), "caller"),
                                         "image")) == 0;
        if (said)
            continue;
        if (*image)
            complain("the image ", image,
                     " has no names: new callers in it cannot be told apart (push its debug files "
                     "with --wait, or allow what it calls)");
        else
            cli_error("there are callers outside of all images: new ones cannot be told apart");
    }
}

/* Why nobody can say that nothing is new. */
static void complain_unknown(const json_t *diff)
{
    json_int_t waiting = number_of(diff, "waiting_reports");
    json_int_t failed = number_of(diff, "failed_reports");
    if (json_is_true(json_object_get(diff, "truncated")))
        cli_error("the collector does not know or list all callers: the check fails");
    if (waiting)
        cli_error("%" JSON_INTEGER_FORMAT
                  " report%s still wait%s to be processed: the check fails, "
                  "ask again later",
                  waiting, waiting == 1 ? "" : "s", waiting == 1 ? "s" : "");
    if (failed)
        cli_error("%" JSON_INTEGER_FORMAT
                  " report%s could not be processed, and nobody knows of which version: the check "
                  "fails until they are tried again or deleted (docs/operations.md)",
                  failed, failed == 1 ? "" : "s");
    if (!number_of(diff, "to_calls"))
        complain("no watched calls were recorded in ", text_of(diff, "to"),
                 ": run it with --calls, and push its reports");
    complain_unnamed(diff);
}

static int judge(const struct push_command *command, const struct push_answer *answer)
{
    const json_t *bad = json_object_get(answer->json, "not_allowed");
    const json_t *passes = json_object_get(answer->json, "passes");
    if (answer->status != 200 || !json_is_array(bad) || !json_is_boolean(passes)) {
        cli_error("%s: %s", command->url,
                  *answer->message ? answer->message : "this is no answer of a collector");
        return answer->status == 401 || answer->status == 403 ? CLI_PERMISSION : CLI_FAILED;
    }
    if (!print_diff(command, answer->json))
        return CLI_FAILED;
    complain_unknown(answer->json);
    if (json_array_size(bad))
        return CLI_NOT_ALLOWED;
    return json_is_true(passes) ? CLI_OK : CLI_INCOMPLETE;
}

int push_calls(const struct push_command *command)
{
    const struct fw_upload_options options = {.size = sizeof options,
                                              .url = command->url,
                                              .key_file = command->key_file,
                                              .ca_file = command->ca_file,
                                              .plain_http = command->plain_http};
    struct upload_settings settings;
    struct fw_failure why = {0};
    struct report_bytes path = {0};
    if (upload_settings_make(&options, false, &settings, &why) != FW_OK) {
        cli_error("%s", why.message);
        return why.code == FW_ERR_PERMISSION ? CLI_PERMISSION : CLI_USAGE;
    }
    int code = CLI_FAILED;
    struct push_http *http = push_http_open(&settings, &why);
    make_path(&path, command);
    if (http && !path.failed) {
        struct push_answer answer = {.status = 0};
        const struct push_request request = {.method = "GET", .path = path.data};
        push_http_send(http, &request, &answer);
        code = judge(command, &answer);
        json_decref(answer.json);
    } else {
        cli_error("%s", http ? "out of memory" : why.message);
    }
    push_http_close(http);
    report_bytes_free(&path);
    upload_settings_free(&settings);
    return code;
}
