/* Taking one thread of a running process: stop, copy, release, walk, and once more when the copy
 * was too small. */
#include "capture/live_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RELOADS = 16 };

/* Memory of a thread that runs again: its copy, what cannot change behind our back, and code. */
struct copied_memory {
    struct fw_process *process;
    struct memory_range code; /* around the pc, as it was when the thread stood there */
    uint64_t missed;          /* the last address that the copy does not hold */
};

/* Just-in-time compilers keep code writable. Where the thread stands it was copied with the stack;
 * further out it only proves calls, and what was overwritten meanwhile proves none. */
static bool read_beyond(void *context, uint64_t address, void *to, size_t size)
{
    struct copied_memory *copied = context;
    uint64_t offset = address - copied->code.lo;
    if (offset < copied->code.size && size <= copied->code.size - offset) {
        memcpy(to, copied->code.bytes + offset, size);
        return true;
    }
    const struct mapping *mapping = maps_find(&copied->process->images.maps, address);
    if (mapping && mapping->readable && (!mapping->writable || mapping->executable) &&
        size <= mapping->hi - address)
        return copied->process->images.source.read(copied->process, address, to, size);
    copied->missed = address;
    return false;
}

/* More to copy after a walk that ended at `missed`; false when that would not help. */
static bool want_more(const struct job *job, const struct snapshot *snapshot,
                      const struct fw_stack *stack, uint64_t missed, struct snapshot_want *want)
{
    if (!missed || stack->end == FW_END_ROOT || stack->end == FW_END_LIMIT)
        return false;
    const struct maps *maps = &job->process->images.maps;
    const struct memory_range *range = snapshot->range;
    const struct mapping *at = maps_find(maps, missed);
    if (!at || !at->readable)
        return false;
    bool first = range[0].size && at == maps_find(maps, range[0].lo);
    bool second = range[1].size && at == maps_find(maps, range[1].lo);
    if (!first && stack->end != FW_END_BAD_MEMORY)
        return false;
    if (!first && (!second || missed < range[1].lo)) {
        want->second = missed;
        return true;
    }
    if (want->stack_bytes >= DEEP_STACK || missed < range[first ? 0 : 1].lo)
        return false;
    want->stack_bytes = DEEP_STACK;
    return true;
}

/* Walks a copy into entry `index`. *more says what to copy instead when it did not suffice. */
bool job_walk_copy(struct job *job, size_t index, const struct snapshot *snapshot,
                   struct snapshot_want *want, bool *more)
{
    struct fw_process_thread *thread = &job->process->threads[index];
    struct copied_memory copied = {.process = job->process, .code = snapshot_code(snapshot)};
    struct memory memory = {
        .range = {snapshot->range[0], snapshot->range[1]}, .slow = read_beyond, .context = &copied};
    job->process->images.reloads = MAX_RELOADS;
    if (snapshot->arch != job->process->arch) { /* unknown until now, or it called execve */
        job->process->arch = job->process->images.arch = snapshot->arch;
        live_read_maps(job->process);
    }
    if (!process_walk(job->process, thread, snapshot->arch, &snapshot->regs, snapshot->pac_mask,
                      &memory, job->options->max_frames))
        return false;
    *more = want_more(job, snapshot, &thread->thread.stack, copied.missed, want);
    return true;
}

/* Name, state and wait channel, before anybody stops it. False when it is gone. */
bool job_look_at(struct job *job, struct fw_process_thread *thread)
{
    struct procfs_stat stat;
    if (!procfs_thread_stat(job->tasks, thread->thread.id, &stat))
        return false;
    thread->thread.state = stat.state;
    memcpy(thread->thread.name, stat.name, sizeof stat.name);
    if (stat.state != 'R' && stat.state != 'Z')
        procfs_wait_channel(job->tasks, thread->thread.id, thread->wait_channel,
                            sizeof thread->wait_channel);
    return true;
}

/* Has the thread ended, whatever ptrace said? A zombie is refused as if permission was lacking. */
static bool has_ended(const struct job *job, pid_t tid)
{
    struct procfs_stat stat;
    return !procfs_thread_stat(job->tasks, tid, &stat) || stat.state == 'Z';
}

/* Lets threads go that stopped after their time was up. */
void job_release_late(struct job *job)
{
    size_t kept = 0;
    for (size_t i = 0; i < job->late.count; i++) {
        struct trace trace = {.tid = job->late.list[i]};
        enum trace_status status = trace_wait(&trace, 0);
        if (status == TRACE_OK)
            trace_release(&trace);
        else if (status == TRACE_TIMEOUT)
            job->late.list[kept++] = trace.tid;
    }
    job->late.count = kept;
}

/* What to do about a thread without a copy. Returns false when its entry is to be dropped. */
bool job_settle_failure(struct job *job, size_t index, const struct snapshot *snapshot)
{
    struct fw_process_thread *thread = &job->process->threads[index];
    pid_t tid = thread->thread.id;
    fw_unavailable reason = snapshot->unavailable;
    if (snapshot->status == TRACE_GONE ||
        (snapshot->status != TRACE_TIMEOUT && has_ended(job, tid))) {
        job->ended++;
        if (tid == job->process->view)
            live_choose_view(job->process);
        if (snapshot->asked && tid != job->process->pid)
            trace_abandon(job->process->pid, trace_clock() + ASLEEP_WAIT_NS);
        if (tid != job->process->pid)
            return false;
        thread->thread.state = 'Z';
        reason = FW_UNAVAILABLE_EXITED;
    } else if (snapshot->status == TRACE_DENIED) {
        job->denied++;
        job->denied_tid = tid;
    }
    if (!thread->thread.stack.frames)
        process_unavailable(thread, reason);
    return true;
}

/* Offers the processor to others now and then, so that our turn does not run out while a thread is
 * stopped. */
static void breathe(struct job *job)
{
    enum { TURN_NS = 2 * 1000 * 1000 };
    uint64_t now = trace_clock();
    if (now - job->breath < TURN_NS)
        return;
    trace_nap();
    job->breath = trace_clock();
}

void job_begin(struct job *job, struct snapshot *snapshot, pid_t tid)
{
    atomic_store_explicit(&job->seizing, tid, memory_order_relaxed);
    snapshot_begin(snapshot, tid);
    atomic_store_explicit(&job->seizing, 0, memory_order_relaxed);
}

/* Stops one thread, copies it and lets it go. */
static void take_one(struct job *job, struct fw_process_thread *thread,
                     const struct snapshot_want *want, struct snapshot_arena *arena,
                     struct snapshot *snapshot)
{
    const struct maps *maps = &job->process->images.maps;
    pid_t tid = thread->thread.id;
    bool asleep = thread->thread.state == 'D';
    uint64_t bound = asleep ? ASLEEP_WAIT_NS : (uint64_t)job->options->timeout_ms * 1000000u;
    arena->used = 0;
    breathe(job);
    job_begin(job, snapshot, tid);
    snapshot_wait(snapshot, snapshot->asked + bound);
    snapshot_copy(snapshot, maps, want, arena);
    snapshot_end(snapshot);
    if (snapshot->status != TRACE_TIMEOUT)
        return;
    tid_list_add(&job->late, tid);
    arena->used = 0;
    fw_unavailable reason = asleep ? FW_UNAVAILABLE_UNINTERRUPTIBLE : snapshot->unavailable;
    snapshot_asleep(snapshot, job->tasks, tid, job->process->arch, maps, want, arena);
    if (snapshot->status == TRACE_TIMEOUT)
        snapshot->unavailable = reason;
}

/* The arena for this much: the small one, ready, or the deep one, made when first needed. */
static struct snapshot_arena *arena_for(struct job *job, const struct snapshot_want *want)
{
    bool small = want->stack_bytes <= job->options->stack_bytes && !want->second;
    if (small)
        return &job->arena;
    if (!job->deep.bytes && !snapshot_arena_create(&job->deep, 2 * DEEP_STACK, 0))
        return NULL;
    return &job->deep;
}

bool job_capture_one(struct job *job, pid_t tid)
{
    size_t index = job->process->count;
    struct fw_process_thread *thread = process_add_thread(job->process, tid);
    if (!thread)
        return false;
    struct snapshot_want want = {.stack_bytes = job->options->stack_bytes};
    bool more = job_look_at(job, thread), keep = more;
    job->ended += !more;
    for (int i = 0; more && i < MAX_TRIES; i++) {
        struct snapshot snapshot;
        struct snapshot_arena *arena = arena_for(job, &want);
        if (!arena)
            break; /* what was walked so far stands */
        take_one(job, thread, &want, arena, &snapshot);
        if (snapshot.pause_ns > thread->pause_ns)
            thread->pause_ns = thread->thread.held_ns = snapshot.pause_ns;
        if (snapshot.status != TRACE_OK) {
            keep = job_settle_failure(job, index, &snapshot);
            break;
        }
        if (!job_walk_copy(job, index, &snapshot, &want, &more))
            return false;
    }
    job_release_late(job);
    if (!keep) {
        free(thread->thread.stack.frames);
        job->process->count--;
    } else if (thread->thread.stack.end != FW_END_UNAVAILABLE) {
        job->captured++;
    }
    return true;
}
