/*
 * For the agent of `framewalk run`: a word in each report of a hang, a report for each, exec and
 * exit.
 */
#ifndef WATCH_HANG_HOOKS_H
#define WATCH_HANG_HOOKS_H

#include "framewalk/hang.h"
#include "report/fwr_write.h"

/* Called once a hang, in the monitor's thread, while its report is open and before it is first
 * flushed: may add what it knows of `thread` (fwr_script). `at_ns` is the turn's age. Must not
 * allocate, nor take a lock that the watched thread may hold. */
typedef void hang_annotate(void *context, struct fwr_writer *writer, uint64_t thread,
                           uint64_t at_ns);
/* Between fw_hang_start and the first fw_hang_watch_thread. */
void hang_set_annotate(struct fw_hang_monitor *monitor, hang_annotate *annotate, void *context);

/* Equal hangs get a report each, up to reports_per_day: for a run that somebody looks at as a
 * whole. Between fw_hang_start and the first fw_hang_watch_thread. */
void hang_report_every(struct fw_hang_monitor *monitor);

/* Ends the monitor's thread and, as they stand, the hangs that last; false only from hang_resume:
 * it could not be started again. Watches and totals stay. Turns that last are not looked at any
 * more. */
void hang_pause(struct fw_hang_monitor *monitor);
bool hang_resume(struct fw_hang_monitor *monitor, struct fw_reports *reports);

/* Before exec: hangs that last are written with the time until now, and there are no more looks
 * until hang_go_on(); waits for both, at most `ms`. A thread that is asked by signal while it
 * becomes another program would end that one: it has no handler. Async-signal-safe. */
void hang_hold(struct fw_hang_monitor *monitor, unsigned ms);
void hang_go_on(struct fw_hang_monitor *monitor);

/* The caller ends the monitor itself, after the program's exit handlers. After fw_hang_start. */
void hang_outlives_exit(struct fw_hang_monitor *monitor);

#endif
