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
 * The agent's thread and those it starts keep nobody alive: watch/own_threads.h, leader.h.
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
#include "watch/agent/leader.h"
#include "watch/agent/waits.h"
#include "watch/calls_internal.h"
#include "watch/hang_hooks.h"
#include "watch/own_threads.h"

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
    HOLD_MS = 1000,
    UNLOAD_MS = 200,   /* the loader's lock may be held by who waits here */
    AGAIN_MS = 20,     /* after that the agent's thread is woken once more */
    MEETING_MS = 2000, /* an interpreter is there by then */
    AGENT_STACK = 512 << 10,
    PAUSE_LOOKS = 5000, /* at most so many tenths of a millisecond */
    RETIRE_LOOKS = 20,  /* as many in which no thread has gone */
};

/* What the agent's thread is asked for; counts up. It sleeps on leader.h's word. */
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
        if (!sleep_on(&answered, seen, (long)(end - now < AGAIN_MS ? end - now : AGAIN_MS)))
            leader_wake();
    }
}

/* ---- the agent's thread ---- */

/* What it is asked for besides. */
enum wish { WISH_NOTHING, WISH_PAUSE, WISH_FLUSH };
static _Atomic int wish;

static void answer(void)
{
    bool last = atomic_load(&asked_last);
    int flush = WISH_FLUSH;
    if (atomic_compare_exchange_strong(&wish, &flush, WISH_NOTHING) && !last && agent.calls) {
        calls_flush(agent.calls);
        return;
    }
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

/* How long to sleep: the first thread that is about to end shows so in /proc within moments, and an
 * interpreter that starts is met before its script may sleep. */
static long serve_ms(unsigned again_ms, unsigned *dying, unsigned *meeting)
{
    if (again_ms)
        return (long)again_ms;
    if (*meeting && (--*meeting == 0 || !python_will_meet()))
        return 1;
    *meeting = 0;
    if (leader_has_ended() && (*dying)++ < AGAIN_MS)
        return 1;
    return agent.calls ? AGENT_WRITE_SECONDS * 1000L : -1;
}

static void say_answered(uint32_t number)
{
    atomic_store(&answered, number);
    wake(&answered);
}

/* Looks at a program whose first thread has ended: has all of it? If not, that thread's last turn
 * is over. */
static bool has_left(struct own_threads_end *end, unsigned *again_ms)
{
    const bool left = own_threads_alone(end, again_ms);
    if (!left && *again_ms && end->others)
        fw_hang_idle(atomic_load(&agent.watch));
    return left;
}

/* Answers until no thread of the program's is left, or a pause is wanted, which is answered by the
 * caller. Wakes up by itself only where calls are counted, and where the first thread has ended. */
static void serve(struct own_threads_end *end)
{
    uint32_t done = atomic_load(&answered) - 1;
    unsigned again_ms = 0, dying = 0;
    unsigned meeting = agent_settings.from_start && !agent_settings.no_scripts ? MEETING_MS : 0;
    for (;;) {
        const uint32_t look = leader_look(), seen = atomic_load(&asked);
        if (seen != done) {
            answer();
            if (atomic_load(&wish) == WISH_PAUSE)
                return;
            done = seen;
            say_answered(done + 1);
        } else if (leader_has_ended() && has_left(end, &again_ms)) {
            return;
        } else if (!leader_wait(look, serve_ms(again_ms, &dying, &meeting))) {
            status_calls();
        }
    }
}

/* The program ends when we have: its last thread left without a word (own_threads.h). */
static void leave(void)
{
    atomic_store(&asked_last, true);
    answer();
    if (agent.calls)
        calls_writer_stop(agent.calls);
    atomic_store(&agent.stage, AGENT_DONE);
}

/* `resumes`: after a pause. */
static void *agent_main(void *resumes)
{
    struct own_threads_end end = {0};
    if (!own_thread_begin())
        return NULL;
    pthread_setname_np(pthread_self(), "framewalk");
    if (resumes)
        watching_resume();
    else
        watching_begin();
    atomic_store(&agent.stage, AGENT_READY);
    say_answered(atomic_load(&asked) + 1);
    serve(&end);
    if (atomic_load(&wish) == WISH_PAUSE) {
        watching_pause();
        atomic_store(&agent.stage, AGENT_PAUSED);
        own_thread_end();
        say_answered(atomic_load(&asked) + 1);
        return NULL;
    }
    leave();
    own_thread_leave(&end);
    return NULL;
}

static bool start_thread(bool resumes)
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
    own_thread_announce(1);
    int error = pthread_create(&thread, &attributes, agent_main, resumes ? &agent : NULL);
    if (error)
        own_thread_announce(-1);
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
    leader_hold();
    if (!start_thread(false)) {
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

/* ---- pauses ---- */

/* A moment. */
static void rest(void)
{
    const struct timespec moment = {.tv_nsec = 100000};
    syscall(SYS_nanosleep, &moment, NULL);
}

/* Until there are `own` threads of ours: one that was just started is not known as such, and one
 * that has said that it ends is still there. True when the caller is the only other one then. */
static bool is_single(unsigned own)
{
    unsigned now = 0, others = 0;
    for (int i = 0; i < PAUSE_LOOKS; i++) {
        if (!own_threads_count(&now, &others))
            return false;
        if (now == own && (others == 1 || own))
            break;
        rest();
    }
    return now == own && others == 1;
}

/* Ends our threads; false when they did not in time. */
static bool end_threads(void)
{
    atomic_store(&wish, WISH_PAUSE);
    const uint32_t request = atomic_fetch_add(&asked, 1) + 1;
    leader_wake();
    await(request + 1, WRITE_MS);
    atomic_store(&wish, WISH_NOTHING);
    return atomic_load(&agent.stage) == AGENT_PAUSED;
}

static bool is_ready_here(void)
{
    return getpid() == atomic_load(&agent.pid) && atomic_load(&agent.stage) == AGENT_READY;
}

bool agent_pause(void)
{
    if (!is_ready_here() || !is_single(watching_threads()) || !end_threads())
        return false;
    is_single(0);
    return true;
}

/* Threads of ours that have said that they end look like the program's until they are gone. */
static void await_end(void)
{
    unsigned own = 0, others = 0, before = 0;
    for (int i = 0; i < RETIRE_LOOKS && own_threads_count(&own, &others); i++) {
        i = own || others != before ? 0 : i;
        before = others;
        rest();
    }
}

void agent_retire(const char *why)
{
    const int saved = errno;
    if (is_ready_here() && end_threads()) {
        atomic_store(&agent.watch, NULL);
        status_failure("watched until then", why);
        await_end();
        atomic_store(&agent.stage, AGENT_DONE);
    }
    errno = saved;
}

void agent_resume(void)
{
    const uint32_t request = atomic_fetch_add(&asked, 1) + 1;
    if (start_thread(true))
        await(request + 1, START_MS);
    else
        atomic_store(&agent.stage, AGENT_DONE);
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
        leader_wake();
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

void agent_hold(bool hold)
{
    int saved = errno;
    struct fw_hang_monitor *monitor = agent.monitor;
    if (atomic_load(&agent.stage) == AGENT_READY && monitor) {
        if (hold)
            hang_hold(monitor, HOLD_MS);
        else
            hang_go_on(monitor);
    }
    errno = saved;
}

/* Frames in an image have no name any more when it is gone. */
AGENT_EXPORT int dlclose(void *handle)
{
    static int (*original)(void *);
    if (agent.calls && calls_has_news(agent.calls)) {
        int nothing = WISH_NOTHING;
        atomic_compare_exchange_strong(&wish, &nothing, WISH_FLUSH);
        write_within(false, UNLOAD_MS);
    }
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
    agent.told = agent.status ? agent.status : agent.told;
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
    fit_begin();
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
