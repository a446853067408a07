/*
 * The hang monitor without real time: a clock whose hands the test turns, and a watched program
 * whose stack, load and debugger are what the test says. hand_pass lets time pass as it does for a
 * real monitor: a step whenever its sleep is over or somebody rings.
 */
#ifndef TESTS_WATCH_HAND_CLOCK_H
#define TESTS_WATCH_HAND_CLOCK_H

#include "framewalk/stack_table.h"
#include "watch/hang.h"

#define MS UINT64_C(1000000)

enum {
    HAND_EVENTS = 64,
    HAND_TICK_MS = 4,   /* of the coarse clock */
    HAND_WAIT = 0x5000, /* code that waits: a registered site */
    HAND_WAIT_END = 0x5100,
};

struct hand_event {
    uint64_t duration_ns, started_ms, at;
    bool ended, severe;
    char watch[64];
    char report_id[FW_REPORT_ID_SIZE];
};

struct hand {
    uint64_t now, asleep, wall_ms; /* what the clocks show; continuous = now + asleep */
    uint64_t deadline;             /* until when the monitor sleeps */
    uint32_t seen;                 /* the bell before it went to sleep */
    unsigned steps, sampled;
    struct fw_hang_monitor *monitor;

    uint64_t where; /* innermost frame of every watched thread; 0: none */
    uint64_t (*where_at)(const struct hand *); /* or a function of time */
    fw_error sample_error;
    uint64_t sample_takes; /* ns */
    uint64_t told_takes;   /* ns: of a program's on_hang, or of a disk that is slow */
    void (*in_sample)(struct hand *);
    bool debugged;
    struct hang_load load;
    uint64_t waited;    /* what the monitor waited for a processor, in all */
    uint64_t run_share; /* of 100: what a runnable thread gets of the processor */
    uint64_t loaded;

    struct hand_event event[HAND_EVENTS];
    unsigned events;
    uint64_t sampled_at[1024]; /* now, of the first samples */
};

/* Starts; fields of `options` but on_hang and context are used. */
void hand_start(struct hand *hand, struct fw_hang_options options);
void hand_end(struct hand *hand);
struct fw_hang_watch *hand_watch(struct hand *hand, const char *name);

/* Time passes; the monitor does what it does. */
void hand_pass(struct hand *hand, uint64_t ns);
/* Time passes and nobody runs, as after SIGSTOP. */
void hand_freeze(struct hand *hand, uint64_t ns);
/* Time passes and the monitor, which was to run, gets no processor; the others go on. */
void hand_starve(struct hand *hand, uint64_t ns);
/* The machine sleeps: only the continuous and the wall clock go on. */
void hand_suspend(struct hand *hand, uint64_t ns);
/* A turn of that length, and then the wait. */
void hand_turn(struct hand *hand, struct fw_hang_watch *watch, uint64_t ns, uint64_t idle_ns);

struct fw_hang_totals hand_totals(const struct hand *hand);

#endif
