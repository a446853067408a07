/*
 * libframewalk-agent.so: watches a program that knows nothing of it, preloaded by `framewalk run`.
 *
 * Life. The constructor reads the settings and makes the status file; no thread is started, nothing
 * stays open. The first real wait of the main thread (waits.c) starts the agent's thread, which
 * opens the reports and starts hang monitor and call watch, while the main thread waits for it at
 * most START_MS. So a program that never waits in a loop, or forks itself into the background
 * first, has no thread of ours. Calls are to be counted from the beginning: then the thread is
 * started in the constructor.
 *
 * The agent's thread, and all that are started from it, have a table of files of their own and all
 * signals blocked. A program may close every descriptor there is, or count on the next one's
 * number, be out of descriptors or over a limit of file size: it cannot hit our files, and we
 * cannot write into its. 0, 1 and 2 are /dev/null there, for what libc prints when it dies.
 *
 * The end. exit(), quick_exit() and _exit() ask the thread to write what is known and wait for it,
 * at most two seconds; so does exec. A process that is killed has its hangs on disk already, and
 * loses AGENT_WRITE_SECONDS of calls.
 *
 * fork(): in the child nothing runs. It is left alone, or with --follow becomes a watched process
 * of its own at its first wait. vfork() children share our memory: agent.pid tells them apart.
 *
 * Invariant: whatever fails here (no memory, no thread, no folder) leaves the program as it was
 * without us; the status file says why.
 */
#include "watch/agent/agent.h"

#include "framewalk/capture.h"
#include "framewalk/threads.h"
#include "watch/agent/waits.h"
#include "watch/hang_hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct agent agent;
AGENT_THREAD bool agent_here;

enum {
    START_MS = 300,
    WRITE_MS = 2000,
    UNLOAD_MS = 200, /* the loader's lock may be held by who waits here */
    AGENT_STACK = 512 << 10,
    REPORTS_MAX = 500, /* of one run */
    REPORTS_BYTES = 64 << 20,
};

/* What the agent's thread is asked for; counts up, so that no request is lost. */
static _Atomic uint32_t asked, answered;
static _Atomic bool asked_last;

/* ---- sleeping and waking: not through libc, whose waits are watched ---- */

static void wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Until *word is not `seen`; false after `ms` (negative: never). May return early. */
static bool sleep_on(_Atomic uint32_t *word, uint32_t seen, long ms)
{
    struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ms < 0 ? NULL : &timeout, NULL, 0) ==
               0 ||
           errno != ETIMEDOUT;
}

static uint64_t now_ms(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* Until `*answered` is `wanted`, at most `ms`. Async-signal-safe. */
static void await(uint32_t wanted, uint64_t ms)
{
    uint64_t end = now_ms(CLOCK_MONOTONIC) + ms;
    for (;;) {
        uint32_t seen = atomic_load(&answered);
        uint64_t now = now_ms(CLOCK_MONOTONIC);
        if ((int32_t)(seen - wanted) >= 0 || now >= end)
            return;
        sleep_on(&answered, seen, (long)(end - now));
    }
}

/* ---- the agent's thread ---- */

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
    if (unshare(CLONE_FILES) != 0)
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

static void answer(void)
{
    bool last = atomic_load(&asked_last);
    if (agent.calls)
        fw_calls_write(agent.calls);
    status_calls();
    status_hangs();
    if (last && agent.monitor) {
        fw_hang_stop(agent.monitor);
        agent.monitor = NULL;
    }
    if (last && agent.status && agent.status->state != STATUS_FAILED)
        agent.status->state = STATUS_ENDED;
}

/* Wakes up by itself only where calls are counted. */
static void *agent_main(void *argument)
{
    (void)argument;
    pthread_setname_np(pthread_self(), "framewalk");
    if (detach_files()) {
        if (!agent.status)
            agent.status = status_make();
        if (open_reports()) {
            if (!agent_settings.no_scripts)
                python_find();
            if (agent_settings.call_count)
                start_calls();
            start_monitor();
        }
    }
    atomic_store(&agent.stage, AGENT_READY);
    uint32_t done = 0;
    atomic_store(&answered, 1);
    wake(&answered);
    for (;;) {
        uint32_t seen = atomic_load(&asked);
        if (seen == done) {
            if (!sleep_on(&asked, seen, agent.calls ? AGENT_WRITE_SECONDS * 1000L : -1))
                status_calls();
            continue;
        }
        answer();
        done = seen;
        atomic_store(&answered, done + 1);
        wake(&answered);
    }
    return NULL;
}

static bool start_thread(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, AGENT_STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, agent_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error)
        status_failure("cannot start a thread", strerror(error));
    return error == 0;
}

/* ---- start ---- */

/* Threads are started with locks and allocation: not where a handler may have interrupted those. */
bool agent_in_handler(void)
{
    enum { DEEP = 128 };
    struct fw_frame frames[DEEP];
    struct fw_stack stack = {.frames = frames, .capacity = DEEP};
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) != 0 || alternate.ss_flags & SS_ONSTACK)
        return true;
    fw_capture(&stack, 0);
    for (uint32_t i = 0; i < stack.count; i++)
        if (frames[i].flags & FW_FRAME_SIGNAL)
            return true;
    return false;
}

static void start_now(void)
{
    atomic_store(&agent.stage, AGENT_STARTED);
    atomic_store(&asked, 0);
    atomic_store(&answered, 0);
    atomic_store(&asked_last, false);
    agent.thread = (pid_t)syscall(SYS_gettid);
    if (!start_thread()) {
        atomic_store(&agent.stage, AGENT_DONE);
        return;
    }
    await(1, START_MS);
}

void agent_start(void)
{
    static bool met;
    int stage = atomic_load_explicit(&agent.stage, memory_order_relaxed);
    if (stage == AGENT_LOADED_ONLY) {
        if (agent_in_handler())
            return;
        settings_forget_options();
        met = false;
        start_now();
    }
    if (!met && atomic_load_explicit(&agent.stage, memory_order_acquire) == AGENT_READY)
        met = python_meet();
}

/* ---- the end ---- */

static void write_within(bool last, uint64_t ms)
{
    int saved = errno;
    int stage = atomic_load(&agent.stage);
    if (stage == AGENT_OFF || getpid() != atomic_load(&agent.pid))
        return;
    if (stage == AGENT_READY) {
        if (last && agent_here) /* else the watched thread may still mark it */
            atomic_store(&agent.watch, NULL);
        if (last && agent_here)
            atomic_store(&asked_last, true);
        uint32_t request = atomic_fetch_add(&asked, 1) + 1;
        wake(&asked);
        await(request + 1, ms);
    } else if (last && agent.status && agent.status->state == STATUS_LOADED) {
        agent.status->state = STATUS_ENDED;
    }
    if (last)
        atomic_store(&agent.stage, AGENT_DONE);
    errno = saved;
}

void agent_write(bool last)
{
    write_within(last, WRITE_MS);
}

/* Frames in an image have no name any more when it is gone. */
AGENT_EXPORT int dlclose(void *handle)
{
    static int (*original)(void *);
    if (agent.calls)
        write_within(false, UNLOAD_MS);
    if (!original)
        original = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    return original(handle);
}

static void write_last(void)
{
    agent_write(true);
}

__attribute__((destructor)) static void at_unload(void)
{
    write_last();
}

typedef void exit_call(int);

static exit_call *next_exit(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return (exit_call *)next;
}

static exit_call *original__exit, *original__Exit;

AGENT_EXPORT void _exit(int status)
{
    agent_write(true);
    if (original__exit)
        original__exit(status);
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

AGENT_EXPORT void _Exit(int status)
{
    agent_write(true);
    if (original__Exit)
        original__Exit(status);
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

/* ---- fork ---- */

static void in_parent(void)
{
    if (agent.status && atomic_load(&agent.pid) == getpid())
        __atomic_fetch_add(&agent.status->forks, 1, __ATOMIC_RELAXED);
}

static void in_child(void)
{
    bool follow = agent_settings.follow;
    atomic_store(&agent.pid, follow ? getpid() : 0);
    atomic_store(&agent.watch, NULL);
    agent.monitor = NULL; /* the parent's: its thread is not here */
    agent.reports = NULL;
    agent.status = NULL;
    agent_here = follow;
    atomic_store(&agent.stage, follow ? AGENT_LOADED_ONLY : AGENT_OFF);
    if (!follow)
        return;
    waits_reset();
    if (agent_settings.call_count)
        start_now();
}

/* ---- begin ---- */

__attribute__((constructor)) static void begin(void)
{
    int saved = errno;
    sigset_t all, before;
    settings_read();
    if (!agent_settings.present)
        return;
    original__exit = next_exit("_exit");
    original__Exit = next_exit("_Exit");
    atomic_store(&agent.pid, getpid());
    agent_here = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    agent.status = status_make();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store(&agent.stage, AGENT_LOADED_ONLY);
    pthread_atfork(NULL, in_parent, in_child);
    at_quick_exit(write_last);
    if (agent_settings.call_count || agent_settings.from_start)
        start_now();
    if (agent_settings.from_start)
        fw_hang_busy(atomic_load(&agent.watch));
    errno = saved;
}
