/*
 * The interface of the hang monitor: options, who is watched, totals.
 *
 * All memory is allocated here, in callers' threads, at the start; the frames of samples lie in
 * pages that are not touched, and so not there, before somebody hangs.
 */
#include "watch/hang.h"

#include "os/threads.h"
#include "watch/hang_exit.h"
#include "watch/hang_hooks.h"
#include "watch/hang_sites.h"
#include "watch/hang_thread.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES_DEFAULT = 128, FRAMES_MOST = 256, NS_PER_MS = 1000000 };

/* Options of this or an older version: what the caller's struct does not have is zero. */
static bool read_options(const struct fw_hang_options *given, struct fw_hang_options *o)
{
    memset(o, 0, sizeof *o);
    if (given) {
        if (given->size < offsetof(struct fw_hang_options, reports) || given->size > 4096)
            return false;
        memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
    }
    o->threshold_ms = o->threshold_ms ? o->threshold_ms : 250;
    o->sample_from_ms = o->sample_from_ms ? o->sample_from_ms : o->threshold_ms / 2;
    o->interval_ms = o->interval_ms ? o->interval_ms : 10;
    o->reports_per_day = o->reports_per_day ? o->reports_per_day : 100;
    o->frames = o->frames ? o->frames : FRAMES_DEFAULT;
    if (!o->severe_ms)
        o->severe_ms = o->threshold_ms > 2000 ? o->threshold_ms : 2000;
    return o->threshold_ms >= 50 && o->severe_ms >= o->threshold_ms &&
           o->sample_from_ms <= o->threshold_ms && o->interval_ms >= 5 && o->frames <= FRAMES_MOST;
}

static struct hang_settings settings_of(const struct fw_hang_options *o)
{
    struct hang_settings set = {
        .threshold = (uint64_t)o->threshold_ms * NS_PER_MS,
        .severe = (uint64_t)o->severe_ms * NS_PER_MS,
        .sample_from = (uint64_t)o->sample_from_ms * NS_PER_MS,
        .interval = (uint64_t)o->interval_ms * NS_PER_MS,
        .reports_per_day = o->reports_per_day,
        .frames = o->frames,
        .other_threads = !o->no_other_threads,
        .watch_debugged = o->watch_debugged,
        .keep_starved = o->keep_starved,
        .on_hang = o->on_hang,
        .context = o->context,
        .reports = o->reports,
    };
    set.look_from = set.sample_from < set.threshold / 2 ? set.sample_from : set.threshold / 2;
    /* A busy machine delays a sleeper by a few milliseconds. */
    set.late = set.threshold / 8 > 20 * NS_PER_MS ? set.threshold / 8 : 20 * NS_PER_MS;
    return set;
}

/* Zeroed, on lines of its own. */
static void *on_lines(size_t size)
{
    void *memory = NULL;
    if (posix_memalign(&memory, MARK_LINE, size) != 0)
        return NULL;
    return memset(memory, 0, size);
}

static bool allocate(struct fw_hang_monitor *m)
{
    const size_t stacks = (size_t)FW_HANG_WATCHES * HANG_STACKS;
    m->watches = on_lines(FW_HANG_WATCHES * sizeof *m->watches);
    m->turns = calloc(FW_HANG_WATCHES, sizeof *m->turns);
    m->frames = calloc(m->set.frames, sizeof *m->frames);
    m->sample_frames = calloc(stacks * m->set.frames, sizeof *m->sample_frames);
    m->other_ids = calloc(HANG_OTHERS, sizeof *m->other_ids);
    m->other_frames = calloc(HANG_OTHER_FRAMES, sizeof *m->other_frames);
    m->own = calloc(1, sizeof *m->own);
    return m->watches && m->turns && m->frames && m->sample_frames && m->other_ids &&
           m->other_frames && m->own && pthread_mutex_init(&m->own->registrations, NULL) == 0;
}

fw_error hang_create(const struct fw_hang_options *options, const struct watch_clock *clock,
                     const struct hang_system *system, struct fw_hang_monitor **monitor)
{
    struct fw_hang_options o;
    if (!monitor || !read_options(options, &o))
        return FW_ERR_ARGUMENT;
    struct fw_hang_monitor *m = on_lines(sizeof *m);
    if (!m)
        return FW_ERR_MEMORY;
    m->clock = clock;
    m->system = system;
    m->set = settings_of(&o);
    m->pid = (int32_t)getpid();
    if (!allocate(m)) {
        hang_destroy(m);
        return FW_ERR_MEMORY;
    }
    const uint64_t now = hang_now(m);
    m->planned = now; /* its thread looks at once, or late */
    m->checked = now;
    m->continued = clock->continuous(clock->context) - now;
    for (unsigned i = 0; i < FW_HANG_WATCHES; i++) {
        struct fw_hang_watch *w = &m->watches[i];
        w->coarse = clock->coarse;
        w->clock = clock;
        w->epoch = now - ((uint64_t)1 << MARK_UNIT_SHIFT); /* below the coarse clock's first tick */
        w->bell = &m->bell;
        w->monitor = m;
        hang_samples_init(&m->turns[i].samples,
                          m->sample_frames + (size_t)i * HANG_STACKS * m->set.frames,
                          m->set.frames);
    }
    hang_sites_add_own();
    *monitor = m;
    return FW_OK;
}

static void tell_end(struct fw_hang_watch *w)
{
    void (*ended)(void) = w->ended;
    w->ended = NULL;
    if (ended)
        ended();
}

void hang_destroy(struct fw_hang_monitor *m)
{
    for (unsigned i = 0; m->watches && i < FW_HANG_WATCHES; i++) {
        tell_end(&m->watches[i]);
        if (m->watches[i].generation & 1)
            os_thread_release((fw_thread_id)m->watches[i].thread);
    }
    free(m->watches);
    free(m->turns);
    free(m->frames);
    free(m->sample_frames);
    free(m->other_ids);
    free(m->other_frames);
    free(m->own);
    free(m);
}

fw_error fw_hang_start(const struct fw_hang_options *options, struct fw_hang_monitor **monitor)
{
    const fw_error error = hang_create(options, watch_clock_system(), hang_system_real(), monitor);
    if (error != FW_OK)
        return error;
    if (hang_thread_start(*monitor)) {
        hang_exit_remember(*monitor);
        return FW_OK;
    }
    hang_destroy(*monitor);
    *monitor = NULL;
    return FW_ERR_SYSTEM;
}

void fw_hang_stop(struct fw_hang_monitor *m)
{
    if (!m)
        return;
    hang_exit_forget(m);
    if (m->pid == (int32_t)getpid()) /* else its thread is the parent's */
        hang_thread_stop(m);
    hang_destroy(m);
}

void hang_pause(struct fw_hang_monitor *m)
{
    hang_thread_stop(m);
    m->set.reports = NULL;
}

bool hang_resume(struct fw_hang_monitor *m, struct fw_reports *reports)
{
    const uint64_t now = hang_now(m);
    m->set.reports = reports;
    m->stop = m->closed = 0;
    m->planned = now; /* the pause was no standstill */
    m->checked = now;
    return hang_thread_start(m);
}

void hang_set_annotate(struct fw_hang_monitor *m, hang_annotate *annotate, void *context)
{
    m->annotate_context = context;
    m->annotate = annotate;
}

void hang_outlives_exit(struct fw_hang_monitor *m)
{
    hang_exit_forget(m);
}

void hang_report_every(struct fw_hang_monitor *m)
{
    m->annealing.every = true;
}

/* Under the lock: the watch is nobody's. Whoever reads one of these words sees the even generation
 * before it. */
static void fill_in(struct fw_hang_watch *w, fw_thread_id thread, const char *name)
{
    uint64_t words[MARK_NAME_WORDS] = {0};
    const size_t length = name ? strlen(name) : 0, most = sizeof words - 1;
    if (length)
        memcpy(words, name, length < most ? length : most);
    for (unsigned i = 0; i < MARK_NAME_WORDS; i++)
        __atomic_store_n(&w->name[i], words[i], __ATOMIC_RELEASE);
    __atomic_store_n(&w->thread, (uint32_t)thread, __ATOMIC_RELEASE);
    __atomic_fetch_add(&w->generation, 1, __ATOMIC_RELEASE);
}

fw_error fw_hang_watch_thread(struct fw_hang_monitor *m, fw_thread_id thread, const char *name,
                              struct fw_hang_watch **watch)
{
    if (!m || !watch)
        return FW_ERR_ARGUMENT;
    if (m->pid != (int32_t)getpid() || !os_thread_keep(thread))
        return FW_ERR_NOT_FOUND;
    *watch = NULL;
    pthread_mutex_lock(&m->own->registrations);
    for (uint32_t i = 0; i < FW_HANG_WATCHES && !*watch; i++) {
        if (m->watches[i].generation & 1)
            continue;
        *watch = &m->watches[i];
        fill_in(*watch, thread, name);
        if (i >= m->used)
            __atomic_store_n(&m->used, i + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&m->own->registrations);
    if (!*watch) {
        os_thread_release(thread);
        return FW_ERR_FULL;
    }
    marks_ring(*watch); /* a monitor that sleeps for ever must ask this one to wake it, too */
    return FW_OK;
}

void fw_hang_unwatch(struct fw_hang_watch *w)
{
    if (!w || w->monitor->pid != (int32_t)getpid())
        return;
    tell_end(w);
    fw_hang_idle(w);
    pthread_mutex_lock(&w->monitor->own->registrations);
    if (w->generation & 1) {
        os_thread_release((fw_thread_id)w->thread);
        __atomic_fetch_add(&w->generation, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&w->monitor->own->registrations);
    marks_ring(w);
}

void fw_hang_set_background(struct fw_hang_monitor *m, bool background)
{
    if (!background && __atomic_load_n(&m->background, __ATOMIC_ACQUIRE))
        __atomic_store_n(&m->background_until, hang_now(m), __ATOMIC_RELEASE);
    __atomic_store_n(&m->background, background, __ATOMIC_RELEASE);
}

_Static_assert(sizeof(struct hang_counters) == offsetof(struct fw_hang_totals, wakeups) + 8 -
                                                   offsetof(struct fw_hang_totals, hangs),
               "the same counters");

fw_error fw_hang_totals(struct fw_hang_monitor *m, struct fw_hang_totals *totals)
{
    struct fw_hang_totals all = {.size = sizeof all};
    if (!m || !totals || totals->size < sizeof(size_t) || totals->size > 4096)
        return FW_ERR_ARGUMENT;
    const hang_word *from = &m->totals.hangs;
    uint64_t *to = &all.hangs;
    for (size_t i = 0; i < sizeof m->totals / sizeof *from; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    const uint64_t now = hang_now(m);
    for (unsigned i = 0; i < FW_HANG_WATCHES; i++) {
        const uint64_t so_far = hang_lasting(&m->turns[i], now);
        all.hang_ns += so_far;
        if (so_far > all.longest_ns)
            all.longest_ns = so_far;
    }
    const size_t size = totals->size;
    memcpy(totals, &all, size < sizeof all ? size : sizeof all);
    totals->size = size;
    return FW_OK;
}
