/*
 * <framewalk/upload.h>: the background thread, and one pass at once.
 *
 * The thread sleeps in poll on a pipe, between passes for `poll_seconds` or until the next try is
 * due, whichever is later. fw_upload_stop writes into the pipe. When it has waited long enough it
 * aborts the request, and leaves the thread to free what is shared: a transport of the caller that
 * never comes back cannot hold the caller.
 *
 * A child made by fork has no such thread: there all functions do nothing.
 */
#include "watch/upload_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ABORT_MS = 500, /* how long an aborted request may take to end */
};

struct fw_upload {
    struct upload_settings settings;
    struct upload_client *client; /* NULL with the caller's transport */
    atomic_int stop;
    int wake[2], done[2]; /* pipes: a byte when stop is set, and when the thread is done */
    pid_t owner;          /* the process that has the thread */
    pthread_t thread;
    pthread_mutex_t guard;          /* of what follows */
    bool left_alone;                /* nobody waits for the thread: it frees this */
    bool finished;                  /* the thread has ended */
    struct fw_upload_totals totals; /* but for `waiting` */
};

static void destroy(struct fw_upload *u)
{
    upload_client_close(u->client);
    upload_settings_free(&u->settings);
    for (size_t i = 0; i < 2; i++) {
        if (u->wake[i] >= 0)
            close(u->wake[i]);
        if (u->done[i] >= 0)
            close(u->done[i]);
    }
    pthread_mutex_destroy(&u->guard);
    free(u);
}

static void count(struct fw_upload_totals *totals, const struct upload_outcome *outcome)
{
    totals->sent += outcome->sent;
    totals->duplicates += outcome->duplicates;
    totals->refused += outcome->refused;
    totals->requests += outcome->requests;
    totals->failures += outcome->failures;
    if (outcome->requests)
        memcpy(totals->message, outcome->message, sizeof totals->message);
}

static uint64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static void tell(int pipe_end)
{
    while (write(pipe_end, "", 1) < 0 && errno == EINTR)
        ;
}

/* True when it is time to end. */
static bool sleep_until(struct fw_upload *u, uint64_t ms)
{
    while (!atomic_load(&u->stop)) {
        struct pollfd wake = {.fd = u->wake[0], .events = POLLIN};
        int part = ms > 1u << 30 ? 1 << 30 : (int)ms;
        int ready = poll(&wake, 1, part);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            break; /* without poll there is no sleep: better none than all of a processor */
        if (ready == 0 && (uint64_t)part == ms)
            return false;
        if (ready == 0)
            ms -= (uint64_t)part;
    }
    return true;
}

static void *work(void *context)
{
    struct fw_upload *u = context;
    const struct upload_job job = {
        .settings = &u->settings, .client = u->client, .stop = &u->stop, .ask_policy = true};
    uint64_t wait;
    do {
        struct upload_outcome outcome;
        wait = 0;
        if (upload_folder_count(u->settings.options.folder) != 0 &&
            upload_pass(&job, u->settings.options.folder, false, &outcome, &wait, NULL) == FW_OK) {
            pthread_mutex_lock(&u->guard);
            count(&u->totals, &outcome);
            pthread_mutex_unlock(&u->guard);
        }
        uint64_t poll_ms = u->settings.options.poll_seconds * UINT64_C(1000);
        wait = wait > poll_ms ? wait : poll_ms;
    } while (!sleep_until(u, wait));
    pthread_mutex_lock(&u->guard);
    u->finished = true;
    bool alone = u->left_alone;
    tell(u->done[1]);
    pthread_mutex_unlock(&u->guard);
    if (alone)
        destroy(u);
    return NULL;
}

static bool open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static fw_error make(const struct fw_upload_options *options, struct fw_upload **upload,
                     struct fw_failure *why)
{
    struct fw_upload *u = calloc(1, sizeof *u);
    if (!u)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    u->wake[0] = u->wake[1] = u->done[0] = u->done[1] = -1;
    u->owner = getpid();
    u->totals.size = sizeof u->totals;
    pthread_mutex_init(&u->guard, NULL);
    fw_error error = upload_settings_make(options, true, &u->settings, why);
    if (!error && (!open_pipe(u->wake) || !open_pipe(u->done)))
        error = failure_say(why, FW_ERR_SYSTEM, errno, "no pipe: %s", strerror(errno));
    if (!error && !u->settings.options.transport) {
        u->client = upload_client_open(&u->settings, why);
        error = u->client ? FW_OK : FW_ERR_UNSUPPORTED;
    }
    if (error)
        destroy(u);
    else
        *upload = u;
    return error;
}

/* No signal of the program is handled on our thread. */
static int start_thread(struct fw_upload *u)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&u->thread, NULL, work, u);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

fw_error fw_upload_start(const struct fw_upload_options *options, struct fw_upload **upload,
                         struct fw_failure *why)
{
    if (!options || !upload)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "fw_upload_start: no options, or no result");
    *upload = NULL;
    struct fw_upload *u = NULL;
    fw_error error = make(options, &u, why);
    if (error)
        return error;
    int code = start_thread(u);
    if (code) {
        destroy(u);
        return failure_say(why, FW_ERR_SYSTEM, code, "no thread: %s", strerror(code));
    }
    *upload = u;
    return FW_OK;
}

static bool take_totals(struct fw_upload_totals *to, const struct fw_upload_totals *from)
{
    size_t size = to->size;
    if (size < sizeof size || size > 4096)
        return false;
    memset(to, 0, size);
    memcpy(to, from, size < sizeof *from ? size : sizeof *from);
    to->size = size;
    return true;
}

fw_error fw_upload_totals(struct fw_upload *upload, struct fw_upload_totals *totals)
{
    if (!upload || !totals || upload->owner != getpid())
        return FW_ERR_ARGUMENT;
    pthread_mutex_lock(&upload->guard);
    struct fw_upload_totals now = upload->totals;
    pthread_mutex_unlock(&upload->guard);
    now.waiting = upload_folder_count(upload->settings.options.folder);
    return take_totals(totals, &now) ? FW_OK : FW_ERR_ARGUMENT;
}

/* Whether the thread has said that it is done, within `ms`. */
static bool wait_done(struct fw_upload *u, uint64_t ms)
{
    uint64_t deadline = monotonic_ms() + ms;
    for (;;) {
        uint64_t now = monotonic_ms(), left = deadline > now ? deadline - now : 0;
        struct pollfd done = {.fd = u->done[0], .events = POLLIN};
        int ready = poll(&done, 1, left > INT32_MAX ? INT32_MAX : (int)left);
        if (ready > 0)
            return true;
        if (left == 0 || (ready < 0 && errno != EINTR))
            return false;
    }
}

void fw_upload_stop(struct fw_upload *u, uint32_t timeout_ms)
{
    if (!u || u->owner != getpid())
        return;
    atomic_store(&u->stop, 1);
    tell(u->wake[1]);
    bool done = wait_done(u, timeout_ms);
    if (!done && u->client) {
        upload_client_abort(u->client);
        done = wait_done(u, ABORT_MS);
    }
    pthread_mutex_lock(&u->guard);
    u->left_alone = !u->finished;
    done = u->finished;
    if (!done)
        pthread_detach(u->thread); /* it cannot end before it has seen left_alone */
    pthread_mutex_unlock(&u->guard);
    if (done) {
        pthread_join(u->thread, NULL);
        destroy(u);
    }
}

/* --- at once --- */

static fw_error outcome_error(const struct upload_outcome *outcome, struct fw_failure *why)
{
    switch (outcome->end) {
    case UPLOAD_KEY: return failure_say(why, FW_ERR_PERMISSION, 0, "%s", outcome->message);
    case UPLOAD_FAILED: return failure_say(why, FW_ERR_SYSTEM, 0, "%s", outcome->message);
    default: return FW_OK;
    }
}

fw_error fw_upload_now(const struct fw_upload_options *options, struct fw_upload_totals *totals,
                       struct fw_failure *why)
{
    struct upload_settings settings;
    struct upload_outcome outcome = {.end = UPLOAD_DONE};
    struct upload_job job = {.settings = &settings};
    if (!options || (totals && !take_totals(totals, &(struct fw_upload_totals){0})))
        return failure_say(why, FW_ERR_ARGUMENT, 0,
                           "fw_upload_now: no options, or totals without their size");
    fw_error error = upload_settings_make(options, true, &settings, why);
    if (error)
        return error;
    settings.options.allow = FW_UPLOAD_ON_ALL;
    if (!settings.options.transport && (job.client = upload_client_open(&settings, why)) == NULL)
        error = FW_ERR_UNSUPPORTED;
    if (!error)
        error = upload_pass_now(&job, settings.options.folder, &outcome, why);
    if (!error)
        error = outcome_error(&outcome, why);
    struct fw_upload_totals sum = {.waiting = upload_folder_count(settings.options.folder)};
    count(&sum, &outcome);
    if (totals)
        take_totals(totals, &sum);
    upload_client_close(job.client);
    upload_settings_free(&settings);
    return error;
}
