/*
 * Capture of a running process.
 *
 *     list threads ──> each new one: look at it in /proc, stop, copy, release ──> walk the copy
 *          ^─────────────────────────── until a listing brings no new thread ──────────────┘
 *
 * With `consistent` all threads are stopped before the first copy and released after the last one.
 *
 * The work is done on a thread of its own, which ends with the capture: ptrace belongs to a thread,
 * and its end releases whatever could not be released by request (a thread that was asked to stop
 * and sleeps uninterruptibly). So nothing is left behind on any path.
 *
 * A walk that runs off the copy names the address that it missed; the thread is then stopped once
 * more and copied with more bytes, or with the second stack.
 */
#include "capture/live_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

fw_error job_out_of_memory(struct job *job)
{
    return failure_say(job->why, FW_ERR_MEMORY, 0, "out of memory");
}

fw_error job_vanished(struct job *job)
{
    return failure_say(job->why, FW_ERR_VANISHED, 0,
                       "process %d ended during the capture; %zu of its threads were captured",
                       (int)job->process->pid, job->captured);
}

static int by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return x < y ? -1 : x > y;
}

/* Leaves in job->found what is not in job->seen, and adds it there. */
static bool keep_new(struct job *job)
{
    size_t known = job->seen.count, kept = 0;
    for (size_t i = 0; i < job->found.count; i++) {
        pid_t tid = job->found.list[i];
        if (job->options->only && tid != job->options->only)
            continue;
        if (known && bsearch(&tid, job->seen.list, known, sizeof tid, by_number))
            continue;
        job->found.list[kept++] = tid;
        if (!tid_list_add(&job->seen, tid)) {
            errno = ENOMEM;
            return false;
        }
    }
    job->found.count = kept;
    if (kept)
        qsort(job->seen.list, job->seen.count, sizeof *job->seen.list, by_number);
    return true;
}

/* Lists the threads and leaves in job->found those that are new, in the kernel's order. */
bool job_list_new(struct job *job)
{
    if (!procfs_list_tasks(job->tasks, &job->found))
        return false;
    pthread_mutex_lock(&job->lock);
    bool kept = keep_new(job);
    pthread_mutex_unlock(&job->lock);
    return kept;
}

fw_error job_listing_failed(struct job *job)
{
    return errno == ENOMEM ? job_out_of_memory(job) : job_vanished(job);
}

void job_report_progress(const struct job *job, size_t done, size_t total)
{
    if (job->options->progress)
        job->options->progress(job->options->context, done, total);
}

static fw_error capture_each(struct job *job)
{
    if (!snapshot_arena_create(&job->arena, job->options->stack_bytes, job->options->stack_bytes))
        return job_out_of_memory(job);
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        if (!job_list_new(job))
            return job_listing_failed(job);
        if (!job->found.count)
            break;
        size_t done = job->seen.count - job->found.count;
        for (size_t i = 0; i < job->found.count; i++) {
            if (!job_capture_one(job, job->found.list[i]))
                return job_out_of_memory(job);
            job_report_progress(job, ++done, job->seen.count);
        }
    }
    return FW_OK;
}

/* Why nothing, or not everything, could be captured. */
static fw_error judge(struct job *job)
{
    const struct fw_process *process = job->process;
    if (job->options->only && !process->count)
        return failure_say(job->why, FW_ERR_NOT_FOUND, 0, "process %d has no thread %d",
                           (int)process->pid, (int)job->options->only);
    if (job->ended && !live_choose_view(job->process))
        return job_vanished(job);
    if (job->captured)
        return FW_OK;
    if (job->denied) {
        failure_say(job->why, FW_ERR_PERMISSION, EPERM, "permission denied");
        if (job->why)
            procfs_explain_denial(process->pid, job->denied_tid, job->why->message,
                                  sizeof job->why->message);
        return FW_ERR_PERMISSION;
    }
    for (size_t i = 0; i < process->count; i++)
        if (process->threads[i].thread.state != 'Z')
            return FW_OK; /* each says why it is unavailable */
    return job_vanished(job);
}

static void *run(void *argument)
{
    struct job *job = argument;
    trace_begin_thread();
    job->error = job->options->consistent ? job_capture_group(job) : capture_each(job);
    if (job->error == FW_OK)
        job->error = judge(job);
    return NULL;
}

/* A thread that executes a program holds a lock until all others of its process have ended, and
 * those that we trace end only when that is taken. Whoever seizes one more thread then waits for
 * the lock: both would wait for ever. So the caller takes the ends, while the job is held up. */
static void help(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    for (size_t i = 0; i < job->seen.count; i++)
        trace_reap(job->seen.list[i]);
    pthread_mutex_unlock(&job->lock);
}

static void wait_for(struct job *job, pthread_t thread)
{
    enum { LOOK_NS = 20 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };
    pid_t before = 0;
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / SECOND_NS;
        until.tv_nsec %= SECOND_NS;
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT)
            return;
        pid_t now = atomic_load_explicit(&job->seizing, memory_order_relaxed);
        if (now && now == before)
            help(job);
        before = now;
    }
}

/* Runs the job on a thread of its own that takes none of the program's signals. Each stop raises
 * SIGCHLD; blocked here, it does not wake this thread in the middle of a pause. */
static bool run_apart(struct job *job)
{
    sigset_t all, child, before;
    pthread_t thread;
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, job);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return false;
    pthread_sigmask(SIG_BLOCK, &child, NULL);
    wait_for(job, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return true;
}

/* Sets errno when the process has ended, also when another one has its number now. */
static bool is_same_process(const struct job *job)
{
    struct procfs_stat stat;
    if (!procfs_thread_stat(job->tasks, job->process->pid, &stat))
        return false;
    errno = ESRCH;
    return stat.start == job->process->start;
}

static fw_error cannot_look(struct job *job)
{
    int error = errno;
    if (error == EACCES || error == EPERM) {
        failure_say(job->why, FW_ERR_PERMISSION, error, "permission denied");
        if (job->why)
            procfs_explain_denial(job->process->pid, job->process->pid, job->why->message,
                                  sizeof job->why->message);
        return FW_ERR_PERMISSION;
    }
    if (error == ENOENT || error == ESRCH)
        return failure_say(job->why, FW_ERR_VANISHED, error, "process %d has ended",
                           (int)job->process->pid);
    if (error == ENOMEM)
        return job_out_of_memory(job);
    return failure_say(job->why, FW_ERR_SYSTEM, error, "cannot read the mappings of process %d: %s",
                       (int)job->process->pid, strerror(error));
}

fw_error live_capture(struct fw_process *process, const struct fw_process_options *options,
                      struct fw_failure *why)
{
    struct job job = {.process = process,
                      .options = options,
                      .why = why,
                      .tasks = -1,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    fw_error error;
    job.tasks = procfs_open_tasks(process->pid);
    if (job.tasks < 0 || !is_same_process(&job) || !live_read_maps(process))
        error = cannot_look(&job);
    else
        error = run_apart(&job) ? job.error : job_out_of_memory(&job);
    process->images.reloads = 0; /* names are those of the moment of capture */
    if (job.tasks >= 0)
        close(job.tasks);
    snapshot_arena_destroy(&job.arena);
    snapshot_arena_destroy(&job.deep);
    free(job.found.list);
    free(job.seen.list);
    free(job.late.list);
    return error;
}

/* The architecture that the executable's ELF header names, NULL when it cannot be told. */
static const struct arch *executable_arch(pid_t view)
{
    enum { EI_CLASS_AT = 4, E_MACHINE_AT = 18, CLASS_64 = 2 };
    char path[64], header[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)view);
    ssize_t size = procfs_read(AT_FDCWD, path, header, sizeof header);
    struct reader reader = reader_over(header, size > 0 ? (size_t)size : 0);
    reader_seek(&reader, E_MACHINE_AT);
    const struct arch *arch = arch_of_elf(reader_u16(&reader));
    if (reader.failed || !arch || memcmp(header, "\177ELF", 4) != 0)
        return NULL;
    return (header[EI_CLASS_AT] == CLASS_64) == (arch->pointer_size == 8) ? arch : NULL;
}

static char *read_command(pid_t pid)
{
    enum { COMMAND_LIMIT = 1 << 20 };
    char path[64];
    size_t size;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    char *text = procfs_read_all(AT_FDCWD, path, COMMAND_LIMIT, &size);
    if (!text)
        return NULL;
    while (size && !text[size - 1])
        size--;
    for (size_t i = 0; i < size; i++)
        if (!text[i])
            text[i] = ' ';
    return text;
}

static void read_identity(struct fw_process *process)
{
    char path[4352];
    static const char mark[] = " (deleted)";
    if (procfs_link(process->view, "exe", path, sizeof path)) {
        size_t length = strlen(path), tail = sizeof mark - 1;
        if (length > tail && !strcmp(path + length - tail, mark))
            path[length - tail] = 0;
        process->executable = strdup(path);
        images_note(&process->images, process->executable ? FW_OK : FW_ERR_MEMORY);
    }
    process->command = read_command(process->view);
    if (!process->command && errno == ENOMEM)
        images_note(&process->images, FW_ERR_MEMORY);
    process->arch = process->images.arch = executable_arch(process->view);
}

fw_error live_open(struct fw_process *process, pid_t pid, struct fw_failure *why)
{
    uint64_t leader;
    if (!procfs_status(pid, "Tgid", 10, &leader)) {
        if (kill(pid, 0) == 0 || errno == EPERM)
            return failure_say(why, FW_ERR_PERMISSION, 0,
                               "process %d exists, but /proc does not show it: mounted with "
                               "hidepid, or not mounted%s",
                               (int)pid, geteuid() ? "; run as root" : "");
        return failure_say(why, FW_ERR_NOT_FOUND, errno, "there is no process %d", (int)pid);
    }
    process->pid = process->view = (pid_t)leader;
    if (process->pid == getpid())
        return failure_say(why, FW_ERR_ARGUMENT, 0,
                           "process %d is this program, which cannot stop itself",
                           (int)process->pid);
    if (!live_choose_view(process))
        return failure_say(why, FW_ERR_VANISHED, 0,
                           "process %d has ended; it is a zombie until its parent waits for it",
                           (int)process->pid);
    int tasks = procfs_open_tasks(process->pid);
    struct procfs_stat stat = {0};
    if (tasks >= 0) {
        procfs_thread_stat(tasks, process->pid, &stat);
        close(tasks);
    }
    process->start = stat.start;
    if (stat.kernel)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                           "%d is a thread of the kernel: it has no stack of its own here",
                           (int)process->pid);
    read_identity(process);
    if (process->arch && process->arch->pointer_size > sizeof(void *))
        return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                           "process %d is a 64-bit %s program and this is a 32-bit one",
                           (int)process->pid, process->arch->name);
    process->images.source = live_source(process);
    return FW_OK;
}
