/*
 * The insides of <framewalk/reports.h> for those who write: hang monitor, call watch, agent.
 * No function here allocates or takes a lock of malloc, stdio or the loader; memory comes from
 * fw_reports_open.
 */
#ifndef WATCH_SESSION_H
#define WATCH_SESSION_H

#include "framewalk/reports.h"
#include "report/fwr_write.h"

/* Did process `pid`, which left a report that begins at `started_ms`, end by itself: by exit or
 * exec, and not by a signal? Then *until_ms is when, on the same clock, or stays 0. */
typedef bool spool_ended(void *context, uint32_t pid, uint64_t started_ms, uint64_t *until_ms);
/* fw_reports_open for who knows: a hang that such a process left was not over (FWR_STOPPED) and not
 * fatal (FWR_KILLED). */
fw_error spool_open_knowing(const struct fw_reports_options *options, spool_ended *ended,
                            void *context, struct fw_reports **reports, struct fw_failure *why);

/* How many reports could not be written: fw_reports_totals.refused. */
uint64_t spool_refused(const struct fw_reports *reports);

struct spool_report; /* a report that is being written: ID.part, open */

/* A new report in the folder, its writer begun with all that is known of the process, and the keys.
 * `kind` and `started_ms` go into it. At most SPOOL_OPEN_MAX at a time. NULL when the folder cannot
 * be written (counted), or too many are open. Any thread; each report then belongs to one thread.
 */
enum { SPOOL_OPEN_MAX = 4 };
struct spool_report *spool_begin(struct fw_reports *reports, enum fwr_kind kind,
                                 uint64_t started_ms);
struct fwr_writer *spool_writer(struct spool_report *report);
const char *spool_id(const struct spool_report *report); /* 32 digits */
/* fwr_flush, and with `durable` until the disk has it (fdatasync): what is acknowledged then
 * survives a crash of the machine; without, one of the process. */
bool spool_flush(struct spool_report *report, bool durable);
/* Ends it in order and gives it its final name. True: acknowledged, it is whole on disk. */
bool spool_finish(struct spool_report *report);
/* Removes it: it was none. */
void spool_discard(struct spool_report *report);

/* fwr_locate for this process: images by address, without the loader's lock (watch/locate_*.c).
 * `context` is a struct locate. On ELF `base` is the load bias, so that offsets are link-time
 * addresses. */
struct locate {
    uint8_t id[64];
    char path[512];
    const char *program; /* path of the executable, which the loader has no name for (Linux) */
};
bool watch_locate(void *context, uint64_t address, struct fwr_image *image);

#endif
