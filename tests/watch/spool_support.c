#include "watch/spool_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "framewalk/capture.h"

static void fail_here(const char *what)
{
    perror(what);
    abort();
}

/* On the disk, or for who synchronises thousands of times in memory, where there is such. */
static const char *place(void)
{
#ifdef SPOOL_IN_MEMORY
    if (access("/dev/shm", W_OK) == 0)
        return "/dev/shm";
#endif
    return SPOOL_FOLDERS;
}

const char *spool_new_folder(void)
{
    static char path[4][sizeof SPOOL_FOLDERS + 32];
    static unsigned turn;
    char *own = path[turn++ % 4];
    sprintf(own, "%s/spool_XXXXXX", place());
    if (!mkdtemp(own))
        fail_here(own);
    return own;
}

const char *spool_new_path(void)
{
    const char *path = spool_new_folder();
    rmdir(path);
    return path;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat;
    (void)type;
    (void)where;
    return remove(path);
}

void spool_remove_folder(const char *path)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *spool_path(const char *folder, const char *id, const char *suffix)
{
    static char path[4][512];
    static unsigned turn;
    char *own = path[turn++ % 4];
    snprintf(own, sizeof path[0], "%s/%s%s", folder, id, suffix);
    return own;
}

static void look_into(const char *path, struct spool_contents *contents)
{
    struct fwr_state state;
    struct stat stat;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &stat) != 0)
        fail_here(path);
    if (!spool_survey(file, UINT64_MAX, &state))
        fail_here(path);
    close(file);
    contents->unreadable += !state.is_report || state.whole != (uint64_t)stat.st_size;
    contents->ended += state.ended;
    contents->broken += !state.ended;
    contents->killed += state.ending == FWR_KILLED;
    contents->hangs += state.kind == FWR_KIND_HANG;
    contents->calls += state.kind == FWR_KIND_CALLS;
}

static bool ends_in(const char *name, const char *suffix)
{
    return strlen(name) == SPOOL_DIGITS + strlen(suffix) && !strcmp(name + SPOOL_DIGITS, suffix);
}

void spool_look(const char *path, struct spool_contents *contents)
{
    memset(contents, 0, sizeof *contents);
    DIR *list = opendir(path);
    if (!list)
        fail_here(path);
    for (struct dirent *entry; (entry = readdir(list));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "spool.state"))
            continue;
        if (ends_in(name, ".part")) {
            contents->parts++;
        } else if (ends_in(name, ".fwr")) {
            contents->whole++;
            look_into(spool_path(path, name, ""), contents);
        } else {
            contents->foreign++;
        }
    }
    closedir(list);
}

struct fw_reports *spool_open(const char *folder, uint32_t max_files)
{
    struct fw_reports *reports = NULL;
    struct fw_failure why;
    struct fw_reports_options options = {.size = sizeof options,
                                         .folder = folder,
                                         .max_files = max_files,
                                         .max_bytes = UINT64_C(1) << 30};
    if (fw_reports_open(&options, &reports, &why) != FW_OK) {
        fprintf(stderr, "%s\n", why.message);
        abort();
    }
    return reports;
}

static uint32_t add_stack(struct spool_report *report)
{
    struct fw_frame frames[32];
    struct fw_stack stack = {.frames = frames, .capacity = 32};
    fw_capture(&stack, 0);
    return fwr_stack(spool_writer(report), &stack);
}

void spool_say_hang(struct spool_report *report, uint64_t duration_ns)
{
    struct fwr_writer *w = spool_writer(report);
    fwr_hang(w, &(struct fwr_hang){.thread = 1,
                                   .watch = "main",
                                   .threshold_ns = 250000000,
                                   .severe_ns = 2000000000,
                                   .so_far_ns = duration_ns});
    fwr_sample(w, &(struct fwr_sample){add_stack(report), 1, 0, duration_ns, 0});
}

void spool_say_end(struct spool_report *report, enum fwr_ending ending, uint64_t duration_ns)
{
    fwr_hang_end(
        spool_writer(report),
        &(struct fwr_hang_end){.ending = ending, .duration_ns = duration_ns, .samples = 1});
}

bool spool_write_hang(struct fw_reports *reports, uint64_t started_ms, uint64_t duration_ns,
                      char *id)
{
    struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, started_ms);
    if (!report)
        return false;
    spool_say_hang(report, duration_ns);
    spool_flush(report, false);
    spool_say_end(report, FWR_RECOVERED, duration_ns);
    if (id)
        strcpy(id, spool_id(report));
    return spool_finish(report);
}

bool spool_write_calls(struct fw_reports *reports, uint64_t started_ms, char *id)
{
    struct spool_report *report = spool_begin(reports, FWR_KIND_CALLS, started_ms);
    if (!report)
        return false;
    struct fwr_writer *w = spool_writer(report);
    uint32_t api = fwr_api(w, "getaddrinfo", 1, 1, 0, true);
    fwr_call(w, &(struct fwr_call){api, add_stack(report), 1, 1, started_ms, started_ms});
    if (id)
        strcpy(id, spool_id(report));
    return spool_finish(report);
}
