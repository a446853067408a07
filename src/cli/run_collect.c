/*
 * What a run has left: the reports of its processes, and the agent's status files.
 *
 * A folder of --out may hold reports of other runs, and other programs may write into it at the
 * same time. Of this run are those that were not there before, and whose process the agent was in.
 */
#include "cli/cli.h"
#include "cli/run.h"

#include "base/array.h"
#include "watch/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORT_MOST = 64 << 20 };

/* ---- before ---- */

static bool has_ending(const char *name, const char *ending)
{
    size_t size = strlen(name), end = strlen(ending);
    return size > end && strcmp(name + size - end, ending) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void run_before(const char *folder, struct run_before *before)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char *name;
        if (!has_ending(entry->d_name, ".fwr") ||
            !array_room(&before->names, &before->capacity, before->count, sizeof name) ||
            !(name = strdup(entry->d_name)))
            continue;
        before->names[before->count++] = name;
    }
    if (dir)
        closedir(dir);
    if (before->count)
        qsort(before->names, before->count, sizeof *before->names, by_name);
}

void run_before_free(struct run_before *before)
{
    for (size_t i = 0; i < before->count; i++)
        free(before->names[i]);
    free(before->names);
}

/* ---- status files ---- */

static void end_texts(struct status *status)
{
    status->program[STATUS_PROGRAM - 1] = '\0';
    status->failure[STATUS_FAILURE - 1] = '\0';
    status->unfit_program[STATUS_PROGRAM - 1] = '\0';
    if (status->api_count > FW_CALLS_NAMES)
        status->api_count = FW_CALLS_NAMES;
    for (uint32_t i = 0; i < status->api_count; i++)
        status->apis[i].name[STATUS_API_NAME - 1] = '\0';
}

static bool read_status(int folder, const char *name, struct run_result *result)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return true;
    if (!array_room(&result->processes, &result->process_capacity, result->process_count,
                    sizeof *result->processes)) {
        close(fd);
        return false;
    }
    struct status *status = &result->processes[result->process_count];
    ssize_t size = read(fd, status, sizeof *status);
    close(fd);
    if (size != sizeof *status || status->magic != STATUS_MAGIC || status->size != sizeof *status)
        return true;
    end_texts(status);
    result->process_count++;
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct status *left = a, *right = b;
    if (left->started_ms != right->started_ms)
        return left->started_ms < right->started_ms ? -1 : 1;
    return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static bool read_statuses(const char *folder, struct run_result *result)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    bool read = true;
    while (dir && read && (entry = readdir(dir)))
        if (has_ending(entry->d_name, ".status"))
            read = read_status(dirfd(dir), entry->d_name, result);
    if (dir)
        closedir(dir);
    if (result->process_count)
        qsort(result->processes, result->process_count, sizeof *result->processes, by_start);
    return read;
}

/* ---- reports ---- */

static uint8_t *read_file(int folder, const char *name, size_t *size)
{
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint8_t *bytes = NULL;
    *size = 0;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size <= REPORT_MOST)
        bytes = malloc((size_t)status.st_size + 1);
    while (bytes && *size < (size_t)status.st_size) {
        ssize_t got = read(fd, bytes + *size, (size_t)status.st_size - *size);
        if (got <= 0)
            break;
        *size += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

static bool is_of_run(const struct run_result *result, pid_t pid)
{
    for (size_t i = 0; i < result->process_count; i++)
        if (result->processes[i].pid == (uint32_t)pid)
            return true;
    return false;
}

static void drop(struct run_report *report)
{
    report_free(report->report);
    free(report->bytes);
    free(report->path);
}

static bool read_report(const char *folder, int dir, const char *name, struct run_result *result)
{
    struct run_report one = {0};
    struct fw_failure why;
    if (!array_room(&result->reports, &result->capacity, result->count, sizeof one) ||
        asprintf(&one.path, "%s/%s", folder, name) < 0)
        return false;
    one.bytes = read_file(dir, name, &one.size);
    if (!one.bytes || report_read((struct span){one.bytes, one.size}, &one.report, &why) != FW_OK)
        one.report = NULL;
    if (!one.report || one.report->kind != REPORT_FRAMEWALK) {
        result->unreadable++;
        drop(&one);
        return true;
    }
    one.pid = one.report->info.pid ? atoi(one.report->info.pid) : 0;
    if (is_of_run(result, one.pid))
        result->reports[result->count++] = one;
    else
        drop(&one);
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct run_report *left = a, *right = b;
    uint64_t l = left->report->started_ms, r = right->report->started_ms;
    return l != r ? (l < r ? -1 : 1) : strcmp(left->path, right->path);
}

static bool read_reports(const char *folder, const struct run_before *before,
                         struct run_result *result)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    bool read = true;
    while (dir && read && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (has_ending(name, ".fwr") &&
            !(before->count &&
              bsearch(&name, before->names, before->count, sizeof *before->names, by_name)))
            read = read_report(folder, dirfd(dir), name, result);
    }
    if (dir)
        closedir(dir);
    if (result->count)
        qsort(result->reports, result->count, sizeof *result->reports, by_time);
    return read;
}

struct known_end {
    const struct run_end *end;
    const struct run_result *result;
};

/* Not killed: it became another program, which has a status file of its own where the agent is in
 * it, or it ended by a status. */
static bool ended_by_itself(void *context, uint32_t pid, uint64_t started_ms, uint64_t *until_ms)
{
    const struct known_end *known = context;
    for (size_t i = 0; i < known->result->process_count; i++) {
        const struct status *process = &known->result->processes[i];
        if (process->pid == pid &&
            (process->started_ms > started_ms || process->left_ms >= started_ms))
            return true;
    }
    if ((pid_t)pid != known->end->pid || started_ms < known->end->started_ms ||
        !WIFEXITED(known->end->status))
        return false;
    *until_ms = known->end->ended_ms;
    return true;
}

/* Completes the reports of processes that left them open: opening the folder does it. */
static void recover(const struct run_folders *folders, struct known_end known)
{
    struct fw_reports_options options = {.size = sizeof options,
                                         .folder = folders->reports,
                                         .max_files = UINT32_MAX,
                                         .max_bytes = UINT64_MAX};
    struct fw_reports *reports;
    struct fw_failure why = {0};
    if (spool_open_knowing(&options, ended_by_itself, &known, &reports, &why) == FW_OK)
        fw_reports_close(reports);
    else
        cli_error("%s", why.message);
}

bool run_collect(const struct run_folders *folders, const struct run_before *before,
                 const struct run_end *end, struct run_result *result)
{
    result->ended_pid = end->pid;
    result->ended_ms = end->ended_ms;
    if (!read_statuses(folders->status, result))
        return false;
    recover(folders, (struct known_end){end, result});
    return read_reports(folders->reports, before, result);
}

void run_result_free(struct run_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        run_frames_free(result->reports[i].frames);
        drop(&result->reports[i]);
    }
    free(result->reports);
    free(result->processes);
}
