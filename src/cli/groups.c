/*
 * `framewalk groups --to URL`: asks a collector which groups it has and who calls what
 * (docs/openapi.yaml), for a look from the command line and for scripts. The page shows more.
 *
 * --wait asks GET /api/v1/server until no report waits to be processed and no job runs that gives
 * names or groups; so what is shown after a push is what the push led to.
 */
#include "cli/groups.h"

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/push_http.h"
#include "report/out.h"
#include "watch/upload_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

struct asker {
    const struct groups_command *command;
    struct push_http *http;
    enum cli_exit code; /* of what went wrong, which was said */
};

/* The answer, or NULL. The caller's to free. */
static json_t *ask(struct asker *a, const char *path, const char *must_have)
{
    struct push_answer answer = {.status = 0};
    const struct push_request request = {.method = "GET", .path = path};
    push_http_send(a->http, &request, &answer);
    if (answer.status == 200 && json_object_get(answer.json, must_have))
        return answer.json;
    bool refused = answer.status == 401 || answer.status == 403;
    cli_error("%s: %s%s", a->command->url,
              answer.status == 200 ? "this is no answer of a collector" : answer.message,
              refused && !a->command->key_file ? " (--key-file FILE gives a token)" : "");
    a->code = refused ? CLI_PERMISSION : CLI_FAILED;
    json_decref(answer.json);
    return NULL;
}

/* --- waiting --- */

/* Jobs that change what groups look like; others come and go for ever. */
static size_t jobs_at_work(const json_t *jobs)
{
    static const char *const kinds[] = {"convert", "names", "rules"};
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const char *kind = json_string_value(json_object_get(job, "kind"));
        const char *state = json_string_value(json_object_get(job, "state"));
        for (size_t k = 0; kind && state && k < sizeof kinds / sizeof *kinds; k++)
            count += strcmp(kind, kinds[k]) == 0 && strcmp(state, "failed") != 0;
    }
    return count;
}

/* False when the collector does not answer, which was said. */
static bool wait_for_it(struct asker *a)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    struct timespec now, start;
    struct progress progress;
    progress_begin(&progress);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        json_t *server = ask(a, "/api/v1/server", "waiting_reports");
        if (!server) {
            progress_end(&progress);
            return false;
        }
        json_int_t reports = json_integer_value(json_object_get(server, "waiting_reports"));
        size_t jobs = jobs_at_work(json_object_get(server, "jobs"));
        json_decref(server);
        clock_gettime(CLOCK_MONOTONIC, &now);
        bool late = now.tv_sec - start.tv_sec >= (time_t)a->command->wait_s;
        if ((!reports && !jobs) || late) {
            progress_end(&progress);
            if (reports || jobs) {
                cli_error("after %u s the collector is still at work: %" JSON_INTEGER_FORMAT
                          " reports and %zu jobs wait",
                          a->command->wait_s, reports, jobs);
                a->code = CLI_INCOMPLETE;
            }
            return true;
        }
        progress_show(&progress,
                      "The collector is at work: %" JSON_INTEGER_FORMAT " reports, %zu jobs",
                      reports, jobs);
        nanosleep(&pause, NULL);
    }
}

/* --- the answers --- */

static json_t *ask_project(struct asker *a, const char *what, const char *must_have)
{
    const struct groups_command *c = a->command;
    struct report_bytes path = {0};
    json_t *answer = NULL;
    push_http_project(&path, c->project);
    out_format(&path, "%s?days=%u", what, c->days);
    if (strcmp(what, "/groups") == 0)
        out_format(&path, "&limit=%u", c->limit);
    if (c->version) {
        out_text(&path, "&version=");
        push_http_escape(&path, c->version, strlen(c->version));
    }
    if (path.failed) {
        cli_error("out of memory");
        a->code = CLI_FAILED;
    } else {
        answer = ask(a, path.data, must_have);
    }
    report_bytes_free(&path);
    return answer;
}

static bool print_json(json_t *groups, json_t *calls)
{
    json_t *all = json_pack("{s:O, s:O*}", "groups", groups, "calls", calls);
    bool good = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;
    json_decref(all);
    return good;
}

static void show(struct asker *a)
{
    const struct groups_command *c = a->command;
    struct style style = {stdout, style_wanted(c->color, stdout)};
    json_t *groups = ask_project(a, "/groups", "items");
    json_t *calls = groups && c->calls ? ask_project(a, "/calls", "rows") : NULL;
    bool good = true;
    if (groups && (calls || !c->calls)) {
        if (c->json) {
            good = print_json(groups, calls);
        } else {
            groups_print(&style, c, groups);
            if (calls)
                groups_print_calls(&style, c, calls);
        }
        if (!good || fflush(stdout) != 0) {
            cli_error("standard output: %s", strerror(errno));
            a->code = CLI_FAILED;
        }
    }
    json_decref(groups);
    json_decref(calls);
}

int groups_main(int argc, char **argv)
{
    struct groups_command command;
    if (!groups_parse(argc, argv, &command))
        return CLI_USAGE;
    if (command.help) {
        groups_usage(stdout);
        return CLI_OK;
    }
    const struct fw_upload_options options = {.size = sizeof options,
                                              .url = command.url,
                                              .key_file = command.key_file,
                                              .ca_file = command.ca_file,
                                              .plain_http = command.plain_http};
    struct upload_settings settings;
    struct fw_failure why = {0};
    if (upload_settings_make(&options, false, &settings, &why) != FW_OK) {
        cli_error("%s", why.message);
        return why.code == FW_ERR_PERMISSION ? CLI_PERMISSION : CLI_USAGE;
    }
    struct asker asker = {.command = &command, .http = push_http_open(&settings, &why)};
    if (!asker.http) {
        cli_error("%s", why.message);
        asker.code = CLI_FAILED;
    } else if (!command.wait_s || wait_for_it(&asker)) {
        show(&asker);
    }
    push_http_close(asker.http);
    upload_settings_free(&settings);
    return (int)asker.code;
}
