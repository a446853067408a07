/*
 * `framewalk run`: watches a program that needs no change, and says at its end where it hung and
 * who called what.
 *
 * The program's output and end are its own: its exit status, or the signal that ended it. The
 * summary goes to standard error, or to a file. Reports go to a temporary folder that is removed
 * afterwards, unless they are wanted. A root user's program may become another user and still has
 * to write there: then the folders are open to all, in one whose name nobody can guess and whose
 * contents nobody can list.
 */
#include "cli/run.h"

#include "cli/cli.h"
#include "cli/progress.h"
#include "watch/upload_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- folders ---- */

static bool make_inner(const char *base, const char *name, char path[RUN_PATH])
{
    bool open_to_all = geteuid() == 0;
    uint64_t secret[2];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret ||
        snprintf(path, RUN_PATH, "%s/%s-%016" PRIx64 "%016" PRIx64, base, name, secret[0],
                 secret[1]) >= RUN_PATH)
        return false;
    return mkdir(path, 0700) == 0 && (!open_to_all || chmod(path, 01777) == 0);
}

static bool take_out(const struct run_options *o, struct run_folders *folders)
{
    if (mkdir(o->out, 0700) != 0 && errno != EEXIST)
        return false;
    struct stat status;
    char *path = realpath(o->out, NULL);
    if (path && stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        free(path);
        errno = ENOTDIR;
        return false;
    }
    bool taken = path && snprintf(folders->reports, RUN_PATH, "%s", path) < RUN_PATH;
    free(path);
    return taken;
}

static bool make_folders(const struct run_options *o, struct run_folders *folders)
{
    const char *place = getenv("TMPDIR");
    *folders = (struct run_folders){0};
    if (!place || place[0] != '/' || strchr(place, '\n'))
        place = "/tmp";
    if (snprintf(folders->base, RUN_PATH, "%s/framewalk-run.XXXXXX", place) >= RUN_PATH ||
        !mkdtemp(folders->base)) {
        cli_error("cannot make a folder in %s: %s", place, strerror(errno));
        folders->base[0] = '\0';
        return false;
    }
    if (geteuid() == 0 && chmod(folders->base, 0711) != 0)
        return false;
    if (!make_inner(folders->base, "status", folders->status) ||
        (!o->out && !make_inner(folders->base, "reports", folders->reports))) {
        cli_error("cannot make a folder in %s: %s", folders->base, strerror(errno));
        return false;
    }
    if (o->out && !take_out(o, folders)) {
        cli_error("--out: cannot use '%s': %s", o->out, strerror(errno));
        return false;
    }
    if (strchr(folders->reports, '\n')) {
        cli_error("--out: the path has a line break in it");
        return false;
    }
    folders->keep_base = o->keep && !o->out;
    return true;
}

/* Files in it, and itself. Folders of ours hold files only. */
static void remove_folder(const char *path)
{
    DIR *dir = path[0] ? opendir(path) : NULL;
    struct dirent *entry;
    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(path);
}

static void remove_folders(const struct run_options *o, const struct run_folders *folders)
{
    remove_folder(folders->status);
    if (folders->keep_base)
        return;
    if (!o->out)
        remove_folder(folders->reports);
    if (folders->base[0])
        rmdir(folders->base);
}

/* ---- afterwards ---- */

static void show_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    if (total)
        progress_show(context, "%s %.0f %%", phase, 100.0 * (double)done / (double)total);
    else
        progress_show(context, "%s", phase);
}

static bool summarize(const struct run_summary *summary)
{
    const struct run_options *o = summary->options;
    FILE *to = o->output ? fopen(o->output, "we") : stderr;
    if (!to) {
        cli_error("cannot write '%s': %s", o->output, strerror(errno));
        return false;
    }
    bool written = true;
    if (o->json)
        written = run_print_json(summary, to);
    else
        run_print_text(summary, to);
    if ((to != stderr && fclose(to) != 0) || !written) {
        cli_error("cannot write the summary: %s", strerror(errno));
        return false;
    }
    return true;
}

static bool name_and_rank(const struct run_options *o, struct run_result *result,
                          struct run_hangs *hangs, struct run_calls *calls)
{
    struct progress progress;
    progress_begin(&progress);
    struct fw_symbolicator_options wanted = {.size = sizeof wanted,
                                             .debug_folders = o->folders,
                                             .no_debuginfod = o->no_debuginfod,
                                             .simplified = !o->verbose && !o->json,
                                             .progress = show_progress,
                                             .progress_context = &progress};
    struct fw_symbolicator *symbolicator = NULL;
    bool done = fw_symbolicator_create(&wanted, &symbolicator) == FW_OK &&
                run_names(o, symbolicator, result) && run_hangs_rank(result, hangs) &&
                run_calls_rank(o, result, calls);
    progress_end(&progress);
    fw_symbolicator_destroy(symbolicator);
    if (!done)
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
    return done;
}

static bool is_summary_wanted(const struct run_options *o)
{
    return !o->quiet || o->output || o->json;
}

/* What could not be sent stays. */
static void send_reports(const struct run_options *o, struct run_folders *folders)
{
    struct fw_upload_options upload = {
        .size = sizeof upload, .folder = folders->reports, .url = o->to, .key_file = o->key_file};
    struct fw_upload_totals totals = {.size = sizeof totals};
    struct fw_failure why = {0};
    fw_error error = fw_upload_now(&upload, &totals, &why);
    if (error != FW_OK) {
        cli_error("the reports were not sent to %s: %s", o->to,
                  why.message[0] ? why.message : fw_error_text(error));
        cli_error("they stay in %s, for 'framewalk push'", folders->reports);
        folders->keep_base = !o->out;
    } else if (!o->quiet)
        fprintf(stderr, "framewalk: %" PRIu64 " report%s sent to %s\n", totals.sent,
                totals.sent == 1 ? "" : "s", o->to);
}

/* That it cannot be written is said before the program runs, not after hours of it. */
static int check_output(const struct run_options *o)
{
    struct stat status;
    if (stat(o->output, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return CLI_OK; /* opening a FIFO would wait for its reader */
    int fd = open(o->output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        cli_error("--output: cannot write '%s': %s", o->output, strerror(errno));
        return RUN_NOT_STARTED;
    }
    close(fd);
    return CLI_OK;
}

/* Likewise. */
static int check_target(const struct run_options *o)
{
    const struct fw_upload_options upload = {
        .size = sizeof upload, .url = o->to, .key_file = o->key_file};
    struct upload_settings settings;
    struct fw_failure why = {0};
    fw_error error = upload_settings_make(&upload, false, &settings, &why);
    upload_settings_free(&settings);
    if (error == FW_OK)
        return CLI_OK;
    cli_error("--to: %s", why.message[0] ? why.message : fw_error_text(error));
    return error == FW_ERR_ARGUMENT || error == FW_ERR_NOT_FOUND ? CLI_USAGE : RUN_NOT_STARTED;
}

static void afterwards(const struct run_options *o, const struct run_program *program,
                       struct run_folders *folders, const struct run_before *before,
                       const struct run_end *end)
{
    struct run_result result = {0};
    struct run_hangs hangs = {0};
    struct run_calls calls = {0};
    if (run_collect(folders, before, end, &result)) {
        run_symbols(&result, program->is_node && !o->no_script_names);
        if (is_summary_wanted(o) && name_and_rank(o, &result, &hangs, &calls))
            summarize(&(struct run_summary){o, program, folders, end, &result, &hangs, &calls});
    } else
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
    if (o->to)
        send_reports(o, folders);
    run_hangs_free(&hangs);
    run_calls_free(&calls);
    run_result_free(&result);
}

static int run(const struct run_options *o, struct run_end *end)
{
    struct run_program program;
    struct run_folders folders = {0};
    struct run_before before = {0};
    int code = o->output ? check_output(o) : CLI_OK;
    if (code == CLI_OK && o->to)
        code = check_target(o);
    if (code == CLI_OK)
        code = run_check(o->program[0], &program);
    if (code != CLI_OK)
        return code;
    code = RUN_NOT_STARTED;
    if (make_folders(o, &folders)) {
        run_before(folders.reports, &before);
        if (run_launch(o, &program, &folders, end, &code)) {
            signal(SIGPIPE, SIG_IGN); /* the folders are removed, whoever reads the summary */
            afterwards(o, &program, &folders, &before, end);
            code = run_exit_code(end);
        }
        run_before_free(&before);
    }
    remove_folders(o, &folders);
    return code;
}

int run_main(int argc, char **argv)
{
    struct run_options options;
    struct run_end end = {0};
    int code = CLI_USAGE;
    if (run_options_parse(argc, argv, &options)) {
        code = CLI_OK;
        if (options.help)
            run_usage(stdout);
        else
            code = run(&options, &end);
    }
    run_options_free(&options);
    run_end_alike(&end);
    return code;
}
