/*
 * The call watch's reports: what was counted since the last one, as a report of kind
 * FWR_KIND_CALLS, and the thread that writes one each so often when something is new. Before code
 * is unloaded, whose frames have no name afterwards, a part of the next one is written
 * (calls_flush).
 *
 * Only the process that began the watch writes: a child that was forked has its parent's counts,
 * and no right to its parent's reports. What the writing itself calls is counted without a stack.
 */
#include "watch/calls_internal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "watch/calls_busy.h"
#include "watch/own_threads.h"
#include "watch/session.h"

#if defined(__APPLE__) /* waits by the wall clock alone */
#define WAIT_CLOCK CLOCK_REALTIME
#else
#define WAIT_CLOCK CLOCK_MONOTONIC
#endif

struct calls_writer {
    pthread_t thread;
    pthread_mutex_t writing; /* one report at a time */
    pthread_mutex_t lock;    /* of what follows */
    pthread_cond_t wake;
    struct spool_report *open; /* begun by calls_flush(), for more to come; under `writing` */
    bool runs, stop;
    uint64_t since_ms; /* when the last report was written, or the watch began */
};

static uint64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool calls_has_news(const struct fw_calls *calls)
{
    const uint32_t count = calls_table_count(&calls->table);
    for (uint32_t i = 0; i < count; i++) {
        const struct noted *noted = calls_table_get(&calls->table, i);
        if (noted && noted_count(noted) != atomic_load(&noted->written))
            return true;
    }
    for (uint32_t i = 0; i < calls->names; i++) {
        const struct calls_name *name = &calls->name[i];
        if (atomic_load(&name->dropped) + atomic_load(&name->nested) + atomic_load(&name->others) !=
            atomic_load(&name->written))
            return true;
    }
    return false;
}

/* What is written of an entry now; kept until the report is whole. */
static void write_entry(struct fwr_writer *w, const struct noted *noted, uint64_t count,
                        uint32_t api, uint64_t since_ms)
{
    const struct fw_stack stack = {.frames = (struct fw_frame *)(uintptr_t)noted->frame,
                                   .capacity = noted->frame_count,
                                   .count = noted->frame_count,
                                   .head = noted->frame_count,
                                   .id = noted->id,
                                   .end = noted->end};
    const struct fwr_call call = {
        .api = api,
        .stack = fwr_stack(w, &stack),
        .thread = noted->thread,
        .count = count,
        .first_ms = atomic_load(&noted->written) ? since_ms : noted->first_ms,
        .last_ms = atomic_load(&noted->last_ms),
    };
    fwr_call(w, &call);
}

/* Calls of each name since the last report: those with a stack in `counts`, and the others. */
static uint64_t news_of(const struct calls_name *name, uint64_t stacks)
{
    return stacks + atomic_load(&name->dropped) + atomic_load(&name->nested) +
           atomic_load(&name->others) - atomic_load(&name->written);
}

/* The rows of the names: in a report's first part all, then those with calls since. */
static void fill_names(struct fw_calls *calls, struct fwr_writer *w, const uint64_t *stacks,
                       uint32_t *api)
{
    const bool first = !calls->writer->open;
    for (uint32_t i = 0; i < calls->names; i++) {
        const uint64_t news = news_of(&calls->name[i], stacks[i]);
        struct pointers_count count;
        if (!first && !news)
            continue;
        calls_lock();
        pointers_count(calls->pointers, i, &count);
        calls_unlock();
        api[i] = fwr_api(w, calls->text[i], news, count.pointers, count.inside, count.found);
    }
}

/* Fills a report, or the next part of one; *seen gets the counts that went into it, one for each
 * entry. */
static void fill(struct fw_calls *calls, struct fwr_writer *w, uint32_t entries, uint64_t *seen)
{
    uint64_t stacks[FW_CALLS_NAMES] = {0};
    uint32_t api[FW_CALLS_NAMES];
    for (uint32_t i = 0; i < entries; i++) {
        const struct noted *noted = calls_table_get(&calls->table, i);
        seen[i] = noted ? noted_count(noted) : 0;
        if (noted)
            stacks[noted->name] += seen[i] - atomic_load(&noted->written);
    }
    fill_names(calls, w, stacks, api);
    for (uint32_t i = 0; i < entries; i++) {
        const struct noted *noted = calls_table_get(&calls->table, i);
        if (noted && seen[i] != atomic_load(&noted->written))
            write_entry(w, noted, seen[i] - atomic_load(&noted->written), api[noted->name],
                        calls->writer->since_ms);
    }
}

static void fill_totals(struct fw_calls *calls, struct fwr_writer *w)
{
    uint64_t dropped = 0, nested = 0;
    for (uint32_t i = 0; i < calls->names; i++) {
        dropped += atomic_load(&calls->name[i].dropped);
        nested += atomic_load(&calls->name[i].nested);
    }
    fwr_total(w, "calls_dropped", dropped);
    fwr_total(w, "calls_nested", nested);
}

/* The report is whole: what went into it is not news any more. */
static void settle(struct fw_calls *calls, uint32_t entries, const uint64_t *seen)
{
    for (uint32_t i = 0; i < entries; i++) {
        struct noted *noted = calls_table_get(&calls->table, i);
        if (noted)
            atomic_store(&noted->written, seen[i]);
    }
    for (uint32_t i = 0; i < calls->names; i++) {
        struct calls_name *name = &calls->name[i];
        atomic_store(&name->written, atomic_load(&name->dropped) + atomic_load(&name->nested) +
                                         atomic_load(&name->others));
    }
}

/* What was counted since goes into the report. */
static bool write_part(struct fw_calls *calls, struct spool_report *report)
{
    const uint32_t entries = calls_table_count(&calls->table);
    const size_t bytes = ((size_t)entries + 1) * sizeof(uint64_t);
    uint64_t *seen = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED)
        return false;
    fill(calls, spool_writer(report), entries, seen);
    const bool written = spool_flush(report, false);
    if (written)
        settle(calls, entries, seen);
    munmap(seen, bytes);
    return written;
}

static fw_error write_report(struct fw_calls *calls, bool whole)
{
    struct calls_writer *writer = calls->writer;
    struct spool_report *report =
        writer->open ? writer->open : spool_begin(calls->reports, FWR_KIND_CALLS, writer->since_ms);
    if (!report)
        return FW_ERR_SYSTEM;
    if (!writer->open)
        fwr_recheck_images(spool_writer(report));
    const bool written = !calls_has_news(calls) || write_part(calls, report);
    writer->open = report;
    if (written && !whole && !fwr_is_filling(spool_writer(report)))
        return FW_OK;
    fill_totals(calls, spool_writer(report));
    writer->open = NULL;
    writer->since_ms = wall_ms();
    return spool_finish(report) && written ? FW_OK : FW_ERR_SYSTEM;
}

static fw_error write_now(struct fw_calls *calls, bool whole)
{
    if (!calls->reports || getpid() != calls->pid)
        return FW_OK;
    const bool entered = calls_busy_enter();
    pthread_mutex_lock(&calls->writer->writing);
    fw_error error = FW_OK;
    if (calls_has_news(calls) || (whole && calls->writer->open))
        error = write_report(calls, whole);
    pthread_mutex_unlock(&calls->writer->writing);
    if (entered)
        calls_busy_leave();
    return error;
}

fw_error fw_calls_write(struct fw_calls *calls)
{
    return calls ? write_now(calls, true) : FW_ERR_ARGUMENT;
}

void calls_flush(struct fw_calls *calls)
{
    write_now(calls, false);
}

/* Sleeps until a time of WAIT_CLOCK; false when it is to end. */
static bool writer_sleep(struct calls_writer *writer, const struct timespec *until)
{
    pthread_mutex_lock(&writer->lock);
    int result = 0;
    while (!writer->stop && result == 0)
        result = pthread_cond_timedwait(&writer->wake, &writer->lock, until);
    const bool goes_on = !writer->stop;
    pthread_mutex_unlock(&writer->lock);
    return goes_on;
}

static uint64_t all_calls(struct fw_calls *calls)
{
    struct fw_calls_totals totals = {.size = sizeof totals};
    return fw_calls_totals(calls, &totals) == FW_OK ? totals.calls : 0;
}

enum { MANY = 10000 /* calls a second */, HALF_A_SECOND = 500000000 };

/* What the last look at the counts saw. */
struct look {
    uint64_t calls, ns; /* WAIT_CLOCK */
};

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* Beats once more when calls were many since the last look, else no longer. */
static void look(struct fw_calls *calls, struct look *last, uint64_t ns)
{
    const uint64_t now = all_calls(calls), ms = (ns - last->ns) / 1000000 + 1;
    const bool many = CALLS_HOT && (now - last->calls) * 1000 / ms > MANY;
    atomic_store(&calls->beat, many ? (atomic_load(&calls->beat) + 1) | 1u << 31 : 0);
    *last = (struct look){now, ns};
}

/* Waits for the time of the next report; meanwhile beats as long as calls are many. */
static bool writer_wait(struct fw_calls *calls, uint64_t until, struct look *last)
{
    while (last->ns < until) {
        uint64_t next = last->ns + HALF_A_SECOND;
        if (!atomic_load(&calls->beat) || next > until)
            next = until;
        const struct timespec at = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
        struct timespec now;
        if (!writer_sleep(calls->writer, &at))
            return false;
        clock_gettime(WAIT_CLOCK, &now);
        look(calls, last, ns_of(&now));
    }
    return true;
}

static void *writer_main(void *context)
{
    struct fw_calls *calls = context;
    struct timespec now;
    clock_gettime(WAIT_CLOCK, &now);
    struct look last = {0, ns_of(&now)};
    struct own_threads_end end = {0};
    unsigned again_ms;
    bool alone = false;
    if (!own_thread_begin())
        return NULL;
    while (!(alone = own_threads_alone(&end, &again_ms)) &&
           writer_wait(calls, last.ns + (uint64_t)calls->write_seconds * 1000000000, &last)) {
        calls_images_changed();
        fw_calls_write(calls);
    }
    if (alone)
        own_thread_leave(&end);
    else
        own_thread_end();
    return NULL;
}

/* A child has no thread that beats. */
static void in_child(void)
{
    struct fw_calls *calls = atomic_load(&calls_current);
    if (calls)
        atomic_store(&calls->beat, 0);
}

static void register_child(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static void prepare_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_child);
}

/* No signal of the program's is handled in our thread. */
static bool start_thread(struct fw_calls *calls)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    own_thread_announce(1);
    const bool done = pthread_create(&calls->writer->thread, NULL, writer_main, calls) == 0;
    if (!done)
        own_thread_announce(-1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

bool calls_writer_start(struct fw_calls *calls)
{
    struct calls_writer *writer =
        mmap(NULL, sizeof *writer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (writer == MAP_FAILED)
        return false;
    calls->writer = writer;
    pthread_condattr_t attributes;
    writer->since_ms = wall_ms();
    pthread_mutex_init(&writer->writing, NULL);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_condattr_init(&attributes);
#if !defined(__APPLE__)
    pthread_condattr_setclock(&attributes, WAIT_CLOCK);
#endif
    pthread_cond_init(&writer->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    writer->runs = calls->write_seconds != 0;
    if (writer->runs)
        prepare_forks();
    if (!writer->runs || start_thread(calls))
        return true;
    calls_writer_free(calls);
    return false;
}

bool calls_writer_resume(struct fw_calls *calls, struct fw_reports *reports)
{
    struct calls_writer *writer = calls->writer;
    calls->reports = reports;
    writer->stop = false;
    writer->runs = calls->write_seconds != 0;
    writer->runs = writer->runs && start_thread(calls);
    return writer->runs || calls->write_seconds == 0;
}

void calls_writer_free(struct fw_calls *calls)
{
    if (calls->writer)
        munmap(calls->writer, sizeof *calls->writer);
    calls->writer = NULL;
}

void calls_writer_stop(struct fw_calls *calls)
{
    struct calls_writer *writer = calls->writer;
    if (!writer->runs || getpid() != calls->pid)
        return;
    pthread_mutex_lock(&writer->lock);
    writer->stop = true;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    writer->runs = false;
    atomic_store(&calls->beat, 0);
}
