/*
 * The hang monitor's insides: the state of every watched thread's turn, and the step that decides.
 *
 *            busy                look_from                threshold, no veto
 *     IDLE ───────> YOUNG ───────────────────> WATCHED ────────────────────> TOLD
 *       ^             │                          │  │ veto for the whole turn   │
 *       │             │                          │  └──────────> SETTLED       │
 *       └─────────────┴──────────────────────────┴───── idle ──────┴───────────┘
 *
 * hang_step is a function of the marks, the clock and the system's answers: both come through
 * tables, so tests run days of it in a second. It belongs to one thread (the monitor's, or a
 * test's); everything that others touch is accessed atomically: the marks, the registrations
 * (struct fw_hang_watch), the totals, and the few words at the end of struct fw_hang_monitor.
 *
 * Two times of a turn. Its age counts from its begin. Its effective age leaves out what the thread
 * is not to blame for: that the process was stopped, the machine slept, the thread starved, or that
 * it was seen waiting. The threshold is a matter of the effective age, and so is the duration told,
 * except that starving is left in it and told beside it.
 *
 * How long the thread starved is known from the first look on. Before it, where the monitor itself
 * had to wait for a processor, so may the thread have: that time does not count for the threshold,
 * and is part of the duration.
 */
#ifndef WATCH_HANG_CORE_H
#define WATCH_HANG_CORE_H

#include "watch/hang_annealing.h"
#include "watch/hang_hooks.h"
#include "watch/hang_marks.h"
#include "watch/hang_samples.h"
#include "watch/hang_veto.h"
#include "watch/session.h"

/* Options as they are used; times in ns. */
struct hang_settings {
    uint64_t threshold, severe;
    uint64_t sample_from; /* a turn's age at its first sample */
    uint64_t look_from;   /* and at the first look: not above half the threshold */
    uint64_t interval;
    uint64_t late; /* the monitor came late, not just a little */
    uint32_t reports_per_day;
    uint32_t frames;
    bool other_threads, watch_debugged, keep_starved;
    void (*on_hang)(void *context, const struct fw_hang_event *event);
    void *context;
    struct fw_reports *reports;
};

/* The counters of struct fw_hang_totals, in the same order. */
struct hang_counters {
    hang_word hangs, severe, hang_ns, longest_ns, reported, annealed, capped, samples;
    hang_word vetoed[FW_HANG_VETOES], by_duration[FW_HANG_BUCKETS];
    hang_word wakeups;
};

enum hang_phase {
    HANG_IDLE,    /* no turn */
    HANG_YOUNG,   /* nothing known but when it began */
    HANG_WATCHED, /* its end will be told to us; sampled from sample_from on */
    HANG_TOLD,    /* a hang */
    HANG_SETTLED, /* vetoed until it ends, or its thread is gone */
};

struct hang_turn {
    /* Of the watch, as adopted. */
    uint32_t generation;
    fw_thread_id thread;
    char name[MARK_NAME_WORDS * 8];

    enum hang_phase phase;
    uint64_t mark;      /* as last seen */
    uint64_t began;     /* ns of watch_clock.now */
    uint64_t since;     /* from when it counts: later than `began` after it was seen waiting */
    uint64_t stalled;   /* fw_hang_monitor.stalled, as far as it is in `paused` */
    uint64_t doubtful;  /* the same of fw_hang_monitor.doubtful */
    uint64_t delayed;   /* the same of fw_hang_monitor.delayed, in `presumed` */
    uint64_t paused;    /* time after `since` in which the process did not run */
    uint64_t asleep;    /* time after `began` that `now` does not count: the machine slept */
    uint64_t starved;   /* time after `since` in which the thread was ready and did not run */
    uint64_t presumed;  /* the same before anybody looked: as long as the monitor itself waited */
    fw_hang_veto blame; /* why the last of these was left out */
    struct hang_starving starving;

    uint64_t next; /* sample, when phase is WATCHED or TOLD */
    uint64_t step; /* the last interval, grown while the stack stays the same */
    bool waits;    /* seen waiting: look rarely */
    bool seen;     /* a stack was taken that is not the loop's wait */
    struct hang_samples samples;

    /* TOLD. */
    uint64_t started_ms;
    bool severe;                 /* counted as such */
    bool capped_or_annealed;     /* no report of its own */
    uint64_t flushed;            /* when samples were last written */
    struct spool_report *report; /* or NULL */
    char report_id[FW_REPORT_ID_SIZE];
    hang_word hanging_from; /* for fw_hang_totals: 0, or now - this is the duration; atomic */
};

enum { HANG_OTHERS = 256, HANG_OTHER_FRAMES = 48 };

struct fw_hang_monitor {
    const struct watch_clock *clock;
    const struct hang_system *system;
    struct hang_settings set;
    int32_t pid; /* of the process that started it */

    struct fw_hang_watch *watches; /* FW_HANG_WATCHES */
    struct hang_turn *turns;
    struct fw_frame *frames; /* one stack's */
    struct fw_frame *sample_frames;
    fw_thread_id *other_ids;
    struct fw_frame *other_frames;

    /* The sleep before this step. */
    uint64_t checked;   /* the clock, when it was last read */
    uint64_t waited;    /* hang_system.waited, when it was last asked */
    uint64_t stalled;   /* sum of all times in which the process or the machine stood still */
    uint64_t doubtful;  /* and of those before them in which it may have: it slept */
    uint64_t delayed;   /* sum of all times by which this thread got a processor too late */
    uint64_t planned;   /* when it was to end; UINT64_MAX: never */
    uint64_t continued; /* continuous - now, at the last step */
    bool lost;          /* a watched thread ended without saying so */
    unsigned quiet;     /* looks in a row at which nothing had happened, at most 2 */
    uint64_t seen_away; /* background_until as read for this step */

    struct annealing annealing;
    hang_annotate *annotate;
    void *annotate_context;

    /* Shared with other threads; atomic. */
    struct hang_counters totals;
    uint32_t used; /* watches from the first on that were ever in use */
    uint32_t bell; /* counts reasons to wake up; the sleep's word */
    uint32_t background;
    hang_word background_until; /* turns that began before were in the background */
    uint32_t stop;
    uint32_t hold;           /* no looks for now */
    uint32_t held;           /* the last look is over; whoever waits for that sleeps on this word */
    uint32_t closed;         /* it looks no more; whoever waits for that sleeps on this word */
    struct hang_thread *own; /* hang_thread.c's */
};

/* One look at everything. Returns when the next one is due, UINT64_MAX: when the bell rings. */
uint64_t hang_step(struct fw_hang_monitor *monitor);
/* Writes hangs that last as they stand, and they go on. */
void hang_flush(struct fw_hang_monitor *monitor);
/* Ends hangs that last, as they stand, and those that ended since the last step. */
void hang_close(struct fw_hang_monitor *monitor);

/* The turn's age as far as the thread is to blame, except for starving. */
static inline uint64_t hang_age(const struct hang_turn *turn, uint64_t now)
{
    const uint64_t out = turn->since + turn->paused;
    return now > out ? now - out : 0;
}

/* How long the hang that lasts has lasted; 0: there is none. Any thread. */
static inline uint64_t hang_lasting(const struct hang_turn *turn, uint64_t now)
{
    const uint64_t begin = __atomic_load_n(&turn->hanging_from, __ATOMIC_RELAXED);
    return begin && begin < now ? now - begin : 0;
}

/* Adds to a counter that only the monitor's thread writes. */
static inline void hang_count(hang_word *counter, uint64_t more)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

static inline uint64_t hang_now(const struct fw_hang_monitor *monitor)
{
    return monitor->clock->now(monitor->clock->context);
}

/* hang_pace.c: what a step began with. */
struct hang_moment {
    uint64_t asleep; /* so long the machine slept since the last step; 0 when that was little */
    uint64_t waited; /* so long this thread waited for a processor; read only where it matters */
    bool prompt;     /* a turn that began meanwhile rang for us */
};
struct hang_moment hang_pace_wake(struct fw_hang_monitor *monitor);
/* The time. When far more of it has passed than a sample may take, the process was stopped in the
 * middle of our work. */
uint64_t hang_pace_tick(struct fw_hang_monitor *monitor);
/* The disk, and the program's on_hang, took what they took: that is no standstill. */
void hang_pace_worked(struct fw_hang_monitor *monitor);
/* Before a sleep until `deadline`. */
void hang_pace_rest(struct fw_hang_monitor *monitor, uint64_t deadline);

/* hang_report.c: nothing happens where there are no reports. */
void hang_report_begin(struct fw_hang_monitor *monitor, struct hang_turn *turn, uint64_t so_far);
/* Appends the samples taken since. `durable`: and waits until the disk has all of it. */
void hang_report_go_on(struct hang_turn *turn, bool durable);
void hang_report_end(struct fw_hang_monitor *monitor, struct hang_turn *turn,
                     enum fwr_ending ending, uint64_t duration);
void hang_report_discard(struct fw_hang_monitor *monitor, struct hang_turn *turn);

#endif
