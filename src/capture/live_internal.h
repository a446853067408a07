/*
 * One capture of a running process under way: see live.c for the whole. live_thread.c knows how to
 * take one thread, live_group.c all at once.
 */
#ifndef CAPTURE_LIVE_INTERNAL_H
#define CAPTURE_LIVE_INTERNAL_H

#include "capture/live_source.h"
#include "capture/snapshot.h"
#include "os/linux/procfs.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    MAX_PASSES = 64, /* of listing; threads that lived through the capture are in the first two */
    MAX_TRIES = 3,   /* at copying one thread */
    ASLEEP_WAIT_NS = 20 * 1000 * 1000, /* for a thread in uninterruptible sleep to stop */
};
#define DEEP_STACK ((uint64_t)64 * 1024 * 1024)

struct job {
    struct fw_process *process;
    const struct fw_process_options *options;
    struct fw_failure *why;
    fw_error error;
    int tasks;             /* descriptor of /proc/PID/task */
    struct tid_list found; /* the last listing */
    struct tid_list seen;  /* sorted: threads that were looked at */
    struct tid_list late;  /* asked to stop, have not yet */
    struct snapshot_arena arena, deep;
    pthread_mutex_t lock;  /* of `seen`, which the waiting caller may look into */
    _Atomic pid_t seizing; /* the thread that is being seized, 0 for none */
    uint64_t breath;       /* trace_clock() when the processor was last offered to others */
    size_t denied, captured, ended; /* threads */
    pid_t denied_tid;
};

/* Lists the threads and leaves in job->found those that are new, in the kernel's order. False with
 * errno. */
bool job_list_new(struct job *job);
/* The error after job_list_new failed. */
fw_error job_listing_failed(struct job *job);
fw_error job_out_of_memory(struct job *job);
void job_report_progress(const struct job *job, size_t done, size_t total);

/* Seizes a thread and asks it to stop. May wait long when another one of the process executes a
 * program: the caller of the capture then helps (live.c). */
void job_begin(struct job *job, struct snapshot *snapshot, pid_t tid);
/* Name, state and wait channel, before anybody stops it. False when it is gone. */
bool job_look_at(struct job *job, struct fw_process_thread *thread);
/* Stops, copies, releases and walks one thread: a new entry unless it has ended. False when out of
 * memory. */
bool job_capture_one(struct job *job, pid_t tid);
/* Walks a copy into entry `index`. *more says that *want is to be copied instead, since the copy
 * did not suffice. False when out of memory. */
bool job_walk_copy(struct job *job, size_t index, const struct snapshot *snapshot,
                   struct snapshot_want *want, bool *more);
/* What to do about a thread without a copy. Returns false when its entry is to be dropped. */
bool job_settle_failure(struct job *job, size_t index, const struct snapshot *snapshot);
/* Lets threads go that stopped after their time was up. */
void job_release_late(struct job *job);

/* All threads at one moment. */
fw_error job_capture_group(struct job *job);

#endif
