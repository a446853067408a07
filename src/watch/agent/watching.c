/*
 * What the agent's thread watches: the reports' folder, the hang monitor, the call watch. In order:
 * watching_begin(), then any number of watching_pause() and watching_resume(), all from the agent's
 * thread.
 *
 * A pause is for a program that needs to be without other threads for a moment (single.c): the
 * threads that watch end, and with them their table of files; what they know stays, and calls go
 * on being counted.
 */
#include "watch/agent/agent.h"

#include "watch/calls_internal.h"
#include "watch/hang_hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    REPORTS_MAX = 500, /* of one run */
    REPORTS_BYTES = 64 << 20,
};

static void on_hang(void *context, const struct fw_hang_event *event)
{
    (void)context, (void)event;
    status_hangs();
}

static bool close_others(void)
{
#ifdef SYS_close_range
    enum { UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE: copies none of what it closes */
    if (syscall(SYS_close_range, 0U, ~0U, UNSHARE) == 0)
        return true;
#endif
    if (syscall(SYS_unshare, CLONE_FILES) != 0)
        return false;
    long end = sysconf(_SC_OPEN_MAX);
    for (int fd = 0; fd < (end > 0 && end < 65536 ? end : 65536); fd++)
        syscall(SYS_close, fd);
    return true;
}

static bool detach_files(void)
{
    if (!close_others()) {
        status_failure("cannot have files of its own", strerror(errno));
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (open("/dev/null", O_RDWR) != i)
            break;
    return true;
}

static bool open_reports(void)
{
    struct fw_reports_options options = {.size = sizeof options,
                                         .folder = agent_settings.out,
                                         .version = agent_settings.version,
                                         .build = agent_settings.build,
                                         .max_files = REPORTS_MAX,
                                         .max_bytes = REPORTS_BYTES,
                                         .no_recovery = true}; /* `framewalk run` does */
    struct fw_failure why = {0};
    fw_error error = fw_reports_open(&options, &agent.reports, &why);
    if (error != FW_OK)
        status_failure("cannot write reports", why.message[0] ? why.message : fw_error_text(error));
    return error == FW_OK;
}

static void start_monitor(void)
{
    struct fw_hang_options options = {.size = sizeof options,
                                      .reports = agent.reports,
                                      .threshold_ms = agent_settings.hang_ms,
                                      .severe_ms = agent_settings.severe_ms,
                                      .reports_per_day = REPORTS_MAX,
                                      .keep_starved = agent_settings.keep_starved,
                                      .on_hang = on_hang};
    struct fw_hang_watch *watch = NULL;
    fw_error error = fw_hang_start(&options, &agent.monitor);
    if (error == FW_OK) {
        hang_report_every(agent.monitor);
        hang_outlives_exit(agent.monitor); /* at_unload() comes last */
        if (!agent_settings.no_scripts)
            hang_set_annotate(agent.monitor, python_annotate, NULL);
        error = fw_hang_watch_thread(agent.monitor, (fw_thread_id)agent.thread, "main", &watch);
    }
    if (error != FW_OK) {
        status_failure("cannot watch for hangs", fw_error_text(error));
        return;
    }
    if (agent.status)
        agent.status->state = STATUS_WATCHING;
    atomic_store(&agent.watch, watch);
}

static void start_calls(void)
{
    static const char *program[] = {NULL};
    static char path[PATH_MAX];
    struct fw_calls_options options = {.size = sizeof options,
                                       .names = agent_settings.calls,
                                       .count = agent_settings.call_count,
                                       .memory = 4 << 20,
                                       .reports = agent.reports,
                                       .write_seconds = AGENT_WRITE_SECONDS};
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (agent_settings.app_callers && size > 0) {
        path[size] = '\0';
        program[0] = path;
        options.callers = program;
        options.caller_count = 1;
    }
    fw_calls_stop(agent.calls); /* after fork(): what the parent counted is the parent's */
    agent.calls = NULL;
    fw_error error = fw_calls_start(&options, &agent.calls);
    if (error != FW_OK)
        status_failure("cannot watch calls", fw_error_text(error));
    status_calls();
}

void watching_begin(void)
{
    if (!detach_files())
        return;
    if (!agent.status)
        agent.status = status_make();
    if (!open_reports())
        return;
    if (!agent_settings.no_scripts)
        python_find();
    if (agent_settings.call_count)
        start_calls();
    start_monitor();
}

void watching_pause(void)
{
    if (agent.monitor)
        hang_pause(agent.monitor);
    if (agent.calls)
        calls_writer_stop(agent.calls);
    if (agent.calls)
        agent.calls->reports = NULL;
    fw_reports_close(agent.reports);
    agent.reports = NULL;
}

void watching_resume(void)
{
    if (!detach_files() || !open_reports()) {
        atomic_store(&agent.watch, NULL);
        return;
    }
    if (agent.calls && !calls_writer_resume(agent.calls, agent.reports))
        status_failure("cannot watch calls", fw_error_text(FW_ERR_SYSTEM));
    if (agent.monitor && !hang_resume(agent.monitor, agent.reports))
        status_failure("cannot watch for hangs", fw_error_text(FW_ERR_SYSTEM));
}

unsigned watching_threads(void)
{
    return 1u + (agent.monitor ? 1 : 0) + (agent.calls && agent.calls->write_seconds ? 1 : 0);
}
