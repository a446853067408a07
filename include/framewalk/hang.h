/*
 * Hang monitor: notices that a watched thread stays in one turn of its loop for too long, samples
 * what it does meanwhile, and writes a report that survives when the process is killed.
 *
 *     struct fw_hang_monitor *monitor;
 *     struct fw_hang_watch *watch;
 *     fw_hang_start(&(struct fw_hang_options){.size = sizeof(struct fw_hang_options)}, &monitor);
 *     fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch);
 *     for (;;) {
 *         fw_hang_idle(watch);
 *         int ready = epoll_wait(loop, events, 64, -1);
 *         fw_hang_busy(watch);
 *         ...
 *     }
 *
 * For real loops there are adapters: hang_glib.h and hang_uv.h, headers that the program compiles;
 * fw_hang_watch_run_loop() on Apple platforms; fw_hang_poll() and its kin for plain loops.
 *
 * How it works. The watched thread stores when a turn began, and that it ended: no lock, no system
 * call, no wake-up while the monitor sleeps anyway. The monitor, a thread of its own, sleeps until
 * the earliest moment at which a turn could become too long; when no watched thread took a turn for
 * a while it sleeps for ever, and the next turn wakes it. Samples are taken from half the threshold
 * on, at an interval that grows while the hang lasts and while the stack stays the same.
 *
 * What is no hang, is counted and not reported (enum fw_hang_veto).
 *
 * Threads: every function is thread-safe unless it says otherwise. fw_hang_busy and fw_hang_idle
 * belong to the watched thread alone; they are async-signal-safe and keep errno. None of the others
 * may be called in a signal handler. While a hang is watched the monitor does not allocate, and
 * takes no lock of malloc, stdio or the loader: a thread that hangs inside malloc() or dlopen() is
 * watched like any other.
 *
 * fork(): the child has no monitor; marks there cost what they did and have no effect. It may start
 * a monitor of its own.
 */
#ifndef FRAMEWALK_HANG_H
#define FRAMEWALK_HANG_H

#include "reports.h"
#include "threads.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fw_hang_monitor;
struct fw_hang_watch;

enum { FW_HANG_WATCHES = 64 }; /* threads that one monitor watches at the most */

/* Why a turn that looked too long was not reported. */
typedef enum fw_hang_veto {
    FW_HANG_VETO_NONE = 0,
    FW_HANG_VETO_STOPPED,    /* the process was stopped, or the machine slept: the monitor itself
                                came late, or the clocks disagree */
    FW_HANG_VETO_STARVED,    /* the thread wanted to run and got no processor (Linux) */
    FW_HANG_VETO_DEBUGGED,   /* a debugger is attached */
    FW_HANG_VETO_BACKGROUND, /* the program says that nobody sees it, or paused the monitor */
    FW_HANG_VETO_IDLE_STACK, /* every sample shows the loop's own wait: a mark was missed */
    FW_HANG_VETOES,
} fw_hang_veto;
FW_API const char *fw_hang_veto_text(fw_hang_veto veto);

/* A hang, as told to the program; only for the time of the call. */
struct fw_hang_event {
    const char *watch;     /* the watched thread's name */
    uint64_t duration_ns;  /* so far, or in all when `ended` */
    uint64_t started_ms;   /* wall clock, milliseconds since 1970 */
    bool ended;            /* the thread came back */
    bool severe;           /* longer than severe_ms */
    uint8_t reserved[6];   /* zero */
    const char *report_id; /* of the report on disk, 32 hexadecimal digits; "" when none is kept:
                              annealed, capped for the day, or no folder */
};

struct fw_hang_options {
    size_t size;                /* sizeof(struct fw_hang_options) */
    struct fw_reports *reports; /* where reports go; NULL: none are written. Must outlive the
                                   monitor */
    uint32_t threshold_ms;      /* 0 = 250; at least 50 */
    uint32_t severe_ms;         /* 0 = 2,000; not below the threshold */
    uint32_t sample_from_ms;    /* a turn's age at its first sample; 0 = half the threshold */
    uint32_t interval_ms;       /* between samples at first; 0 = 10; at least 5 */
    uint32_t reports_per_day;   /* hangs with a report of their own; 0 = 100. What is above counts
                                   in the totals alone */
    uint32_t frames;            /* of a stack; 0 = 128, at most 256 */
    bool no_other_threads; /* do not capture the other threads (once a hang, at the threshold) */
    bool watch_debugged;   /* report also while a debugger is attached */
    bool keep_starved;     /* report also what FW_HANG_VETO_STARVED would leave out */
    uint8_t reserved[5];   /* zero */
    /* Called from the monitor's thread at the threshold, and at the end of a hang that was told.
     * The watched thread may hang in malloc meanwhile: so must not allocate. May be NULL. */
    void (*on_hang)(void *context, const struct fw_hang_event *event);
    void *context; /* handed to on_hang */
};

/* Starts a monitor with its thread. `options` may be NULL. FW_ERR_ARGUMENT; FW_ERR_MEMORY;
 * FW_ERR_SYSTEM when no thread could be started. */
FW_API fw_error fw_hang_start(const struct fw_hang_options *options,
                              struct fw_hang_monitor **monitor);
/* Ends it: a hang that lasts is written as it stands. Watches become invalid; nobody may mark them
 * any more. NULL is fine.
 *
 * A program that ends by exit(), main's return or quick_exit() need not call it: hangs are ended as
 * they stand, which may wait a second for the disk, and later ones are not seen. Call it before
 * _exit() and exec. */
FW_API void fw_hang_stop(struct fw_hang_monitor *monitor);

/* Watches a thread, which is idle until it says fw_hang_busy. `name` (at most 63 bytes are kept)
 * stands in reports. FW_ERR_FULL beyond FW_HANG_WATCHES; FW_ERR_NOT_FOUND: no such thread. */
FW_API fw_error fw_hang_watch_thread(struct fw_hang_monitor *monitor, fw_thread_id thread,
                                     const char *name, struct fw_hang_watch **watch);
/* From the watched thread, or when it has ended. NULL is fine. */
FW_API void fw_hang_unwatch(struct fw_hang_watch *watch);

/* A turn begins / ends. Busy while busy begins the next turn; idle while idle is nothing. Nested
 * loops need nothing special: each wait is idle, and each return from it begins a turn. NULL is
 * fine. */
FW_API void fw_hang_busy(struct fw_hang_watch *watch);
FW_API void fw_hang_idle(struct fw_hang_watch *watch);

/* poll() with idle before and busy behind it, and the same for others: what a plain loop calls. The
 * stack of a thread in here is known as idle. Signal-safe as the call itself. */
struct pollfd;
FW_API int fw_hang_poll(struct fw_hang_watch *watch, struct pollfd *fds, unsigned long count,
                        int timeout_ms);
#if defined(__linux__)
struct epoll_event;
FW_API int fw_hang_epoll_wait(struct fw_hang_watch *watch, int epoll, struct epoll_event *events,
                              int capacity, int timeout_ms);
#endif

#if defined(__APPLE__)
/* Watches the main run loop: observers in all common modes and in the one in which applications
 * start, first and last in order. Call it on the main thread, as early as can be; the turn in which
 * it is called counts. FW_ERR_UNSUPPORTED where the program has no CoreFoundation. */
FW_API fw_error fw_hang_watch_run_loop(struct fw_hang_monitor *monitor,
                                       struct fw_hang_watch **watch);
#endif

/* Nobody sees the program now (true), or somebody does: turns that run meanwhile are no hangs. Any
 * thread. On Apple platforms fw_hang_watch_run_loop notices by itself what UIKit, AppKit, WatchKit
 * and app extensions tell; what was said last holds. */
FW_API void fw_hang_set_background(struct fw_hang_monitor *monitor, bool background);

enum { FW_HANG_BUCKETS = 8 };
struct fw_hang_totals { /* exact, whatever was annealed or capped */
    size_t size;        /* set it before the call */
    uint64_t hangs;     /* turns over the threshold, without those vetoed */
    uint64_t severe;    /* of these, over severe_ms */
    uint64_t hang_ns;   /* sum of their durations, to the end of each or to now */
    uint64_t longest_ns;
    uint64_t reported;                     /* with a report of their own */
    uint64_t annealed;                     /* the same stack as one reported before */
    uint64_t capped;                       /* over reports_per_day */
    uint64_t samples;                      /* stacks taken */
    uint64_t vetoed[FW_HANG_VETOES];       /* by enum fw_hang_veto */
    uint64_t by_duration[FW_HANG_BUCKETS]; /* hangs below 100, 250, 500, 1,000, 2,000, 5,000, 8,000
                                              ms, and longer ones */
    uint64_t wakeups;                      /* times the monitor's thread woke up */
};
FW_API fw_error fw_hang_totals(struct fw_hang_monitor *monitor, struct fw_hang_totals *totals);

#ifdef __cplusplus
}
#endif
#endif
