/*
 * One pass over a folder: take the lock, look whether a try is due, send, write down when the next
 * one is. What is written down holds for every process that shares the folder.
 */
#include "watch/upload_internal.h"

#include <poll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 100, LOCK_PAUSE_MS = 100 };

static uint64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* Only spreads tries; the clock's low digits do when there is nothing better. */
static uint64_t random_number(void)
{
    uint64_t number;
    if (getentropy(&number, sizeof number) != 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        number = (uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)getpid();
    }
    return number;
}

/* After a failure the next try waits; where something was taken meanwhile, as after a first
 * failure. A key that is not accepted waits as long as any. */
static void settle(const struct upload_job *job, const struct upload_outcome *outcome,
                   const struct upload_folder *folder, struct upload_backoff *backoff)
{
    bool any = outcome->sent || outcome->duplicates || outcome->refused;
    if (!outcome->failures && !outcome->postponed) {
        if (!outcome->requests || (!backoff->wait_ms && !backoff->failures))
            return;
        *backoff = (struct upload_backoff){.audience = job->settings->audience};
    } else {
        if (any && !outcome->unremoved)
            backoff->failures = 0;
        uint32_t after = outcome->retry_after;
        if (outcome->end == UPLOAD_KEY && after < job->settings->options.longest_wait_s)
            after = job->settings->options.longest_wait_s;
        upload_backoff_fail(backoff, job->settings, after, wall_ms(), random_number());
    }
    upload_folder_write(folder, backoff);
}

fw_error upload_pass(const struct upload_job *job, const char *path, bool forced,
                     struct upload_outcome *outcome, uint64_t *wait_ms, struct fw_failure *why)
{
    struct upload_folder folder;
    struct upload_backoff backoff;
    struct upload_list list = {0};
    bool changed;
    *outcome = (struct upload_outcome){.end = UPLOAD_DONE};
    *wait_ms = 0;
    fw_error error = upload_folder_open(path, false, &folder, why);
    if (error)
        return error;
    upload_folder_read(&folder, &backoff);
    if (backoff.audience == job->settings->audience)
        *wait_ms = upload_backoff_left(&backoff, wall_ms(), &changed);
    else
        changed = false;
    if (changed)
        upload_folder_write(&folder, &backoff);
    if (*wait_ms && !forced) {
        upload_folder_close(&folder);
        return FW_OK;
    }
    error = upload_folder_list(folder.folder, &list, why);
    if (!error) {
        upload_send(job, &list, outcome);
        settle(job, outcome, &folder, &backoff);
        *wait_ms = outcome->failures || outcome->postponed ? backoff.wait_ms : 0;
    }
    upload_list_free(&list);
    upload_folder_close(&folder);
    return error;
}

fw_error upload_pass_now(const struct upload_job *job, const char *path,
                         struct upload_outcome *outcome, struct fw_failure *why)
{
    fw_error error = FW_ERR_TIMEOUT;
    uint64_t wait;
    for (int i = 0; i < LOCK_TRIES && error == FW_ERR_TIMEOUT; i++) {
        if (i)
            poll(NULL, 0, LOCK_PAUSE_MS);
        error = upload_pass(job, path, true, outcome, &wait, why);
    }
    return error;
}
