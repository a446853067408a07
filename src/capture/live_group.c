/* All threads of a running process at one moment: stop all, copy all, release all, walk. */
#include "capture/live_internal.h"

#include <stdlib.h>
#include <string.h>

enum { TOUCH_PER_THREAD = 16 * 1024 }; /* bytes of the copies made ready beforehand */

/* Threads stopped together. */
struct group {
    struct snapshot *list;
    size_t count, capacity;
};

static struct snapshot *group_add(struct group *group)
{
    if (group->count == group->capacity) {
        size_t capacity = group->capacity ? group->capacity * 2 : 256;
        struct snapshot *grown = realloc(group->list, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        group->list = grown;
        group->capacity = capacity;
    }
    return &group->list[group->count++];
}

static void group_release(struct group *group)
{
    for (size_t i = 0; i < group->count; i++)
        snapshot_end(&group->list[i]);
}

/* Stops all threads: a thread that started another one before it stopped is why listings go on
 * until one brings nothing new. Entry i of the group is thread i of the process. */
static fw_error group_stop(struct job *job, struct group *group)
{
    pthread_mutex_lock(&job->lock);
    job->seen.count = 0;
    pthread_mutex_unlock(&job->lock);
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        if (!job_list_new(job))
            return job_listing_failed(job);
        if (!job->found.count)
            return FW_OK;
        size_t first = group->count;
        for (size_t i = 0; i < job->found.count; i++) {
            struct fw_process_thread *thread = process_add_thread(job->process, job->found.list[i]);
            struct snapshot *snapshot = thread ? group_add(group) : NULL;
            if (!snapshot)
                return job_out_of_memory(job);
            job_look_at(job, thread);
            job_begin(job, snapshot, thread->thread.id);
        }
        uint64_t deadline = trace_clock() + (uint64_t)job->options->timeout_ms * 1000000u;
        for (size_t i = first; i < group->count; i++) {
            bool asleep = job->process->threads[i].thread.state == 'D';
            snapshot_wait(&group->list[i], asleep ? trace_clock() + ASLEEP_WAIT_NS : deadline);
            if (group->list[i].status == TRACE_TIMEOUT)
                tid_list_add(&job->late, group->list[i].trace.tid);
        }
    }
    return failure_say(job->why, FW_ERR_TIMEOUT, 0,
                       "process %d starts threads faster than they can be stopped",
                       (int)job->process->pid);
}

/* One moment of all threads: `want` has an entry per thread of the try before, by id. */
struct wish {
    pid_t tid;
    struct snapshot_want want;
};

static struct snapshot_want wish_of(const struct wish *wishes, size_t count, pid_t tid,
                                    uint32_t stack_bytes)
{
    for (size_t i = 0; i < count; i++)
        if (wishes[i].tid == tid)
            return wishes[i].want;
    return (struct snapshot_want){.stack_bytes = stack_bytes};
}

static void group_copy(struct job *job, struct group *group, const struct wish *wishes,
                       size_t wish_count)
{
    const struct maps *maps = &job->process->images.maps;
    for (size_t i = 0; i < group->count; i++) {
        struct snapshot *snapshot = &group->list[i];
        pid_t tid = snapshot->trace.tid;
        struct snapshot_want want = wish_of(wishes, wish_count, tid, job->options->stack_bytes);
        if (snapshot->status == TRACE_TIMEOUT)
            snapshot_asleep(snapshot, job->tasks, tid, job->process->arch, maps, &want,
                            &job->arena);
        else
            snapshot_copy(snapshot, maps, &want, &job->arena);
    }
}

/* Walks the copies. New wishes are put in the place of the old ones; *wish_count says how many. */
static bool group_walk(struct job *job, struct group *group, struct wish *wishes,
                       size_t *wish_count)
{
    size_t old = *wish_count, fresh = 0, kept = 0;
    struct wish *next = calloc(group->count + 1, sizeof *next);
    if (!next)
        return false;
    bool ok = true;
    for (size_t i = 0; i < group->count && ok; i++) {
        const struct snapshot *snapshot = &group->list[i];
        struct fw_process_thread *thread = &job->process->threads[i];
        thread->pause_ns = thread->thread.held_ns = snapshot->pause_ns;
        bool more = false, keep = true;
        struct snapshot_want want =
            wish_of(wishes, old, thread->thread.id, job->options->stack_bytes);
        if (snapshot->status == TRACE_OK) {
            ok = job_walk_copy(job, i, snapshot, &want, &more);
            job->captured++;
        } else {
            keep = job_settle_failure(job, i, snapshot);
        }
        if (more)
            next[fresh++] = (struct wish){thread->thread.id, want};
        if (!keep)
            free(thread->thread.stack.frames);
        else
            job->process->threads[kept++] = *thread;
        if (kept <= i) /* dropped or moved: the old place owns its frames no more */
            thread->thread.stack.frames = NULL;
        job_report_progress(job, i + 1, group->count);
    }
    if (ok) {
        job->process->count = kept;
        memcpy(wishes, next, fresh * sizeof *next);
        *wish_count = fresh;
    }
    free(next);
    return ok;
}

static void drop_threads(struct job *job)
{
    for (size_t i = 0; i < job->process->count; i++)
        free(job->process->threads[i].thread.stack.frames);
    job->process->count = job->captured = job->denied = 0;
}

/* One try. *wish_count becomes the number of threads to copy differently. */
static fw_error group_try(struct job *job, struct group *group, struct wish **wishes,
                          size_t *wish_count)
{
    job->arena.used = 0;
    fw_error error = group_stop(job, group);
    if (error == FW_OK)
        group_copy(job, group, *wishes, *wish_count);
    group_release(group);
    job_release_late(job);
    if (error != FW_OK)
        return error;
    struct wish *grown = realloc(*wishes, (group->count + 1) * sizeof *grown);
    if (!grown)
        return job_out_of_memory(job);
    *wishes = grown;
    return group_walk(job, group, *wishes, wish_count) ? FW_OK : job_out_of_memory(job);
}

/* Address space for copies of all threads, some to be started meanwhile, and what the wishes ask
 * for. */
static bool prepare_arena(struct job *job, size_t threads, const struct wish *wishes,
                          size_t wish_count)
{
    size_t spare = threads / 2 + 64, size = (threads + spare) * job->options->stack_bytes;
    for (size_t i = 0; i < wish_count; i++)
        size += (wishes[i].want.second ? 2 : 1) * (size_t)wishes[i].want.stack_bytes;
    snapshot_arena_destroy(&job->arena);
    return snapshot_arena_create(&job->arena, size, threads * TOUCH_PER_THREAD);
}

fw_error job_capture_group(struct job *job)
{
    struct group group = {0};
    struct wish *wishes = NULL;
    size_t wish_count = 0;
    fw_error error = FW_OK;
    if (!procfs_list_tasks(job->tasks, &job->found))
        return job_listing_failed(job);
    size_t threads = job->found.count;
    for (int i = 0; i < MAX_TRIES && error == FW_OK; i++) {
        drop_threads(job);
        group.count = 0;
        if (!prepare_arena(job, threads, wishes, wish_count)) {
            error = job_out_of_memory(job);
            break;
        }
        error = group_try(job, &group, &wishes, &wish_count);
        if (!wish_count)
            break;
    }
    group_release(&group);
    free(group.list);
    free(wishes);
    return error;
}
