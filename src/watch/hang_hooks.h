/*
 * For the agent of `framewalk run`: a word in each report of a hang, and a report for each.
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

#endif
