/*
 * `framewalk push PATH... --to URL`: what <framewalk/upload.h> does in a program, at once and in
 * the foreground, and said to people.
 *
 * A folder of reports is handled as the background upload does: under its lock, each file removed
 * when the collector has it. Files that are named are somebody's own and stay. Reports of other
 * tools are push_import.c's, debug files, which may lie anywhere, push_debug.c's; they are sent
 * after our own reports.
 */
#include "cli/push.h"

#include "base/failure.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/push_calls.h"
#include "cli/push_debug.h"
#include "cli/push_http.h"
#include "cli/push_import.h"
#include "watch/upload_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct push {
    const struct push_command *command;
    struct upload_settings settings;
    struct upload_job job;
    struct progress progress;
    struct upload_list files; /* reports named on the command line */
    struct push_import import;
    struct push_debug debug;
    uint64_t sent, duplicates, refused, left, done;
    uint64_t removed;    /* from folders: the collector has them, or will never take them */
    bool emptied;        /* a folder of reports that was sent from has none */
    bool failed;         /* a request came to nothing: further paths are not tried */
    enum cli_exit worst; /* of what has no part in the sums: paths that cannot be opened */
};

static void note(struct push *p, enum cli_exit code)
{
    if (p->worst == CLI_OK)
        p->worst = code;
}

static void out_of_memory(struct push *p)
{
    cli_error("out of memory");
    note(p, CLI_FAILED);
}

static const char *verdict_text(enum upload_verdict verdict)
{
    switch (verdict) {
    case UPLOAD_ACCEPTED: return "sent";
    case UPLOAD_DUPLICATE: return "known already";
    case UPLOAD_REFUSED: return "refused by the collector";
    case UPLOAD_RETRY: return "wanted later by the collector";
    default: return "not mentioned in the collector's answer";
    }
}

static void told(void *context, const struct upload_item *item, const struct upload_answer *answer,
                 const char *why)
{
    struct push *p = context;
    const char *name = item->path ? item->path : item->id;
    p->done++;
    progress_show(&p->progress, "Sending: %" PRIu64 " reports", p->done);
    bool good = answer && !why &&
                (answer->verdict == UPLOAD_ACCEPTED || answer->verdict == UPLOAD_DUPLICATE);
    if (good && !p->command->verbose)
        return;
    progress_end(&p->progress);
    if (good)
        cli_say("%s  %s", name, verdict_text(answer->verdict));
    else if (!answer || why)
        cli_error("%s: %s", name, why);
    else
        cli_error("%s: %s%s%s", name, verdict_text(answer->verdict), answer->reason[0] ? ": " : "",
                  answer->reason);
}

/* What to do about it, where that can be known. */
static const char *next_step(const struct push *p, const struct upload_outcome *outcome)
{
    if (outcome->end == UPLOAD_KEY)
        return p->command->key_file ? "is it the right one in --key-file?"
                                    : "--key-file FILE gives it";
    if (strstr(outcome->message, "certificate") || strstr(outcome->message, "SSL"))
        return "--ca-file FILE names other certificates to trust";
    if (strstr(outcome->message, "URL"))
        return "is --to right?";
    return "the reports stay where they are: try again later";
}

static void take_outcome(struct push *p, const struct upload_outcome *outcome)
{
    progress_end(&p->progress);
    p->sent += outcome->sent;
    p->duplicates += outcome->duplicates;
    p->refused += outcome->refused;
    p->left += outcome->left;
    if (!outcome->failures)
        return;
    p->failed = true;
    cli_error("%s: %s (%s)", p->command->url, outcome->message, next_step(p, outcome));
    if (outcome->retry_after)
        cli_error("the collector asks to wait %" PRIu32 " seconds", outcome->retry_after);
    note(p, outcome->end == UPLOAD_KEY ? CLI_PERMISSION : CLI_FAILED);
}

/* --- dry run --- */

static void list_one(struct push *p, struct upload_list *list, struct upload_item *item)
{
    fw_error error = upload_item_read(list, item);
    if (error == FW_ERR_NOT_FOUND)
        return;
    if (error) {
        cli_error("%s: would not be sent: %s", item->path ? item->path : item->id,
                  error == FW_ERR_FORMAT ? "neither a report nor a debug file"
                                         : fw_error_text(error));
        note(p, error == FW_ERR_PERMISSION ? CLI_PERMISSION : CLI_FORMAT);
        return;
    }
    p->done++;
    cli_say("%s  %8" PRIu64 " bytes  %s", item->id, item->size, item->path);
    upload_item_drop(item);
}

static void list_all(struct push *p, struct upload_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        list_one(p, list, &list->items[i]);
}

/* --- paths --- */

/* Sends, or with --dry-run lists, without lock and without removing anything. */
static void handle_list(struct push *p, struct upload_list *list)
{
    struct upload_outcome outcome;
    list->keep = true;
    if (p->command->dry_run) {
        list_all(p, list);
        return;
    }
    upload_send(&p->job, list, &outcome);
    take_outcome(p, &outcome);
}

static void complain(struct push *p, fw_error error, const struct fw_failure *why)
{
    cli_error("%s", why->message);
    note(p, error == FW_ERR_NOT_FOUND    ? CLI_FORMAT
            : error == FW_ERR_PERMISSION ? CLI_PERMISSION
                                         : CLI_FAILED);
}

static void handle_folder(struct push *p, const char *path)
{
    struct fw_failure why = {0};
    struct upload_outcome outcome = {.end = UPLOAD_DONE};
    if (!p->command->dry_run && !p->command->keep) {
        fw_error error = upload_pass_now(&p->job, path, &outcome, &why);
        take_outcome(p, &outcome);
        uint64_t judged = outcome.sent + outcome.duplicates + outcome.refused;
        p->removed += judged - outcome.unremoved;
        p->emptied |= !error && !judged && !outcome.left && !outcome.failures;
        if (error)
            complain(p, error, &why);
        return;
    }
    struct upload_folder folder;
    struct upload_list list = {0};
    fw_error error = upload_folder_open(path, true, &folder, &why);
    if (!error)
        error = upload_folder_list(folder.folder, &list, &why);
    if (error)
        complain(p, error, &why);
    else
        handle_list(p, &list);
    upload_list_free(&list);
    upload_folder_close(&folder);
}

/* Begins as a report of ours does; a cut or damaged one is told when it is read as a whole. */
static bool is_ours(const char *path)
{
    char start[FWR_MAGIC_SIZE];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t got = fd >= 0 ? read(fd, start, sizeof start) : -1;
    if (fd >= 0)
        close(fd);
    return got < 0 || /* what cannot be read is complained about later, with the reason */
           (got == sizeof start && memcmp(start, FWR_MAGIC, sizeof start) == 0);
}

/* Files are sent together when all paths have been looked at. */
static void add_file(struct push *p, const char *path, const struct stat *about)
{
    struct upload_item *item = &p->files.items[p->files.count];
    *item = (struct upload_item){.path = strdup(path), .size = (uint64_t)about->st_size};
    p->files.count += item->path != NULL;
    if (!item->path)
        out_of_memory(p);
}

static void send_files(struct push *p)
{
    uint64_t refused = p->refused;
    if (p->files.count && !p->failed)
        handle_list(p, &p->files);
    if (p->refused > refused)
        note(p, CLI_FORMAT);
}

static void send_foreign(struct push *p)
{
    struct push_import *i = &p->import;
    enum cli_exit code = p->failed ? CLI_OK : push_import_send(i);
    p->sent += i->sent;
    p->duplicates += i->duplicates;
    p->refused += i->refused;
    p->left += i->left;
    p->done += i->listed;
    if (i->refused)
        note(p, CLI_FORMAT);
    if (code == CLI_OK)
        return;
    p->failed = true;
    note(p, code);
}

/* Whether reports are, or were, written there; one that cannot be read is complained about. */
static bool is_report_folder(const char *path)
{
    char *state;
    bool there = access(path, R_OK | X_OK) != 0 || upload_folder_count(path) > 0 ||
                 cli_is_report_folder(path);
    if (!there && asprintf(&state, "%s/upload.state", path) >= 0) {
        there = access(state, F_OK) == 0;
        free(state);
    }
    return there;
}

static void handle_path(struct push *p, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        cli_error("%s: %s", path, strerror(errno));
        note(p, errno == EACCES ? CLI_PERMISSION : CLI_FORMAT);
    } else if (S_ISDIR(about.st_mode)) {
        bool reports = is_report_folder(path);
        size_t found = p->debug.found.count;
        if (reports)
            handle_folder(p, path);
        push_find_folder(&p->debug.found, path);
        if (!reports && p->debug.found.count == found)
            cli_error("%s: no Framewalk report and no debug file in it (reports of other tools are "
                      "named one by one)",
                      path);
    } else if (S_ISREG(about.st_mode)) {
        if (is_ours(path)) {
            add_file(p, path, &about);
        } else if (!push_find_file(&p->debug.found, path) && !push_import_take(&p->import, path)) {
            cli_error(p->debug.found.core
                          ? "%s: a core file has no debug information; push the program it is of"
                          : "%s: neither a report nor a debug file",
                      path);
            note(p, CLI_FORMAT);
        }
    } else {
        cli_error("%s: neither a folder nor a file", path);
        note(p, CLI_FORMAT);
    }
}

/* --- all together --- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void summary(const struct push *p)
{
    uint64_t reports = p->sent + p->duplicates + p->refused + p->left;
    if (p->command->quiet || (p->debug.found.count && !reports && !p->done))
        return;
    if (p->command->dry_run) {
        printf("%" PRIu64 " report%s would be sent\n", p->done, plural(p->done));
        return;
    }
    uint64_t there = p->sent + p->duplicates;
    printf("%" PRIu64 " report%s sent", there, plural(there));
    if (p->removed == there && there && !p->refused)
        printf(" and removed");
    if (p->duplicates)
        printf(" (%" PRIu64 " known already)", p->duplicates);
    if (p->refused)
        printf(", %" PRIu64 " refused", p->refused);
    if (p->left)
        printf(", %" PRIu64 " left", p->left);
    if (p->removed && (p->removed != there || p->refused))
        printf(", %" PRIu64 " of them removed", p->removed);
    if (p->removed)
        printf("; --keep leaves them");
    if (!there && p->emptied)
        printf(": there are none in the folder; what is sent is removed, unless --keep is given");
    putchar('\n');
}

static bool print_json(const struct push *p)
{
    json_t *result =
        json_pack("{s:{s:I, s:I, s:I, s:I}, s:o}", "reports", "sent", (json_int_t)p->sent,
                  "duplicates", (json_int_t)p->duplicates, "refused", (json_int_t)p->refused,
                  "left", (json_int_t)p->left, "debug_files", push_debug_json(&p->debug));
    bool good = result && json_dumpf(result, stdout, JSON_INDENT(2)) == 0;
    json_decref(result);
    if (good)
        putchar('\n');
    else
        cli_error("out of memory");
    return good;
}

static void send_debug(struct push *p)
{
    enum cli_exit code = CLI_OK;
    if (!p->failed) {
        code = push_debug_send(&p->debug);
        push_debug_tell(&p->debug);
    }
    if (code != CLI_OK)
        note(p, code);
}

static int exit_code(const struct push *p)
{
    bool some = p->sent || p->duplicates;
    if (some && (p->worst || p->refused || p->left))
        return CLI_INCOMPLETE;
    if (p->worst)
        return (int)p->worst;
    return p->refused || p->left ? CLI_INCOMPLETE : CLI_OK;
}

/* A key is of one project; a token may be of all. */
static fw_error aim(struct upload_settings *settings, const char *project, struct fw_failure *why)
{
    struct report_bytes target = {0};
    out_text(&target, settings->target);
    out_text(&target, "?project=");
    push_http_escape(&target, project, strlen(project));
    char *text = target.failed ? NULL : strndup(target.data, target.size);
    report_bytes_free(&target);
    if (!text)
        return failure_memory(why);
    free(settings->target);
    settings->target = text;
    return FW_OK;
}

static bool prepare(struct push *p)
{
    const struct push_command *c = p->command;
    const struct fw_upload_options options = {.size = sizeof options,
                                              .url = c->url,
                                              .key_file = c->key_file,
                                              .ca_file = c->ca_file,
                                              .plain_http = c->plain_http};
    struct fw_failure why = {0};
    fw_error error = upload_settings_make(&options, false, &p->settings, &why);
    if (!error && c->project)
        error = aim(&p->settings, c->project, &why);
    p->job = (struct upload_job){.settings = &p->settings, .told = told, .told_context = p};
    if (!error && !c->dry_run && (p->job.client = upload_client_open(&p->settings, &why)) == NULL)
        error = FW_ERR_UNSUPPORTED;
    if (!error)
        return true;
    cli_error("%s", why.message);
    if (error == FW_ERR_ARGUMENT || error == FW_ERR_NOT_FOUND)
        note(p, CLI_USAGE);
    else
        note(p, error == FW_ERR_PERMISSION ? CLI_PERMISSION : CLI_FAILED);
    return false;
}

int push_main(int argc, char **argv)
{
    struct push_command command;
    if (!push_parse(argc, argv, &command))
        return CLI_USAGE;
    if (command.help) {
        push_usage(stdout);
        return CLI_OK;
    }
    if (command.check_calls)
        return push_calls(&command);
    struct push p = {.command = &command};
    progress_begin(&p.progress);
    p.files = (struct upload_list){.folder = AT_FDCWD};
    p.files.items = calloc((size_t)argc, sizeof *p.files.items);
    if (!p.files.items) {
        out_of_memory(&p);
    } else if (!command.url || prepare(&p)) {
        p.debug = (struct push_debug){.command = &command,
                                      .settings = command.url ? &p.settings : NULL,
                                      .progress = &p.progress};
        p.import = (struct push_import){
            .command = &command, .settings = p.debug.settings, .progress = &p.progress};
        for (int i = command.first_path; i < argc && !p.failed; i++)
            handle_path(&p, argv[i]);
        send_files(&p);
        send_foreign(&p);
        summary(&p);
        send_debug(&p);
        if (command.json && !print_json(&p))
            note(&p, CLI_FAILED);
    }
    push_find_free(&p.debug.found);
    push_import_free(&p.import);
    upload_list_free(&p.files);
    upload_client_close(p.job.client);
    if (command.url)
        upload_settings_free(&p.settings);
    if (fflush(stdout) != 0) {
        cli_error("standard output: %s", strerror(errno));
        return CLI_FAILED;
    }
    return exit_code(&p);
}
