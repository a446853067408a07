/*
 * Reports of this process: a folder (the spool) into which hang monitor and call watch write, and
 * from which uploads take.
 *
 *     struct fw_reports *reports;
 *     struct fw_failure why;
 *     struct fw_reports_options options = {.size = sizeof options, .app = "shop",
 *                                          .version = "2.1", .folder = "/var/lib/shop/reports"};
 *     if (fw_reports_open(&options, &reports, &why) != FW_OK)
 *         puts(why.message);
 *
 * A report is a file ID.fwr, ID being 32 random hexadecimal digits; while it is written it is
 * called ID.part. docs/report-format.md says what is in it: checksummed records, valid up to the
 * last whole one. What a process that was killed has left as .part is recognised by the next
 * process that opens the folder: it is completed with the record that says so (a hang that did not
 * end is fatal then) and becomes ID.fwr. Any number of processes may share a folder; a report is
 * locked for as long as it is written, so nobody takes a living process's reports for left ones.
 * docs/spool.md has the rules.
 *
 * When there are too many, the least valuable go first, the oldest of them before newer ones:
 * snapshots, calls, hangs, severe hangs, fatal hangs.
 *
 * fork(): in the child the parent's session is dead: nothing is written, functions return
 * FW_ERR_UNSUPPORTED. The child may open its own.
 *
 * Nothing personal is written by default: no addresses, arguments, user or host names; home folders
 * in paths become "~".
 *
 * Functions are thread-safe; none is async-signal-safe.
 */
#ifndef FRAMEWALK_REPORTS_H
#define FRAMEWALK_REPORTS_H

#include "error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fw_reports;

enum {
    FW_REPORT_ID_SIZE = 33, /* with the terminating zero */
    FW_REPORT_KEYS = 32,    /* user keys at the most */
    FW_REPORT_KEY_SIZE = 64,
    FW_REPORT_VALUE_SIZE = 256,
};

struct fw_reports_options {
    size_t size;        /* sizeof(struct fw_reports_options) */
    const char *folder; /* made, with mode 0700, when it is not there (its parent must be) */
    uint32_t max_files; /* 0 = 20 */
    uint64_t max_bytes; /* of all finished reports; 0 = 4 MB */
    /* Who this is, for the reports; NULL: found out where that can be (the executable's name), else
     * left out. Copied; at most 127 bytes each are kept. */
    const char *app;          /* "com.example.shop", "shop" */
    const char *version;      /* "2.1.0" */
    const char *build;        /* "20261122.1" */
    const char *device_class; /* "phone", "server", "Pixel 8": never a serial number */
    bool no_recovery;         /* leave what other processes left alone */
    /* Names of the app's own functions into reports: for internal builds, of which there are too
     * many for a debug file of each. The symbol tables of the executable and of the libraries that
     * came with it, as they are loaded now, are read once a process, by the first session that
     * wants them: milliseconds, and on Linux files are opened. What is loaded later, or is a
     * library without a build id, has no names. A report takes up to 1,024 of them and 128 KiB.
     * A stripped program has no names to write. See docs/report-format.md. */
    bool own_names;
    uint8_t reserved[6]; /* zero */
};

/* Opens the folder, recovers what dead processes left, and makes room. FW_ERR_PERMISSION and
 * FW_ERR_SYSTEM (full, read-only, a file system without locks) say the folder in `why`, which may
 * be NULL; FW_ERR_MEMORY; FW_ERR_FULL beyond 16 open ones. Foreign files in the
 * folder are left alone; damaged reports are kept up to their last whole record, or counted and
 * removed when there is none. */
FW_API fw_error fw_reports_open(const struct fw_reports_options *options,
                                struct fw_reports **reports, struct fw_failure *why);
/* After all that write to it have stopped. NULL is fine. */
FW_API void fw_reports_close(struct fw_reports *reports);

/* A key of the program's own in all reports that begin from now on ("screen" = "checkout"); value
 * NULL removes it. Longer ones are cut. FW_ERR_FULL beyond FW_REPORT_KEYS. */
FW_API fw_error fw_reports_set_key(struct fw_reports *reports, const char *key, const char *value);

struct fw_reports_totals {
    size_t size;        /* set it before the call */
    uint64_t files;     /* whole reports in the folder now, of all processes */
    uint64_t bytes;     /* and theirs */
    uint64_t recovered; /* left by dead processes and completed by this one */
    uint64_t damaged;   /* removed or cut at recovery: not a whole record in it, or behind it */
    uint64_t evicted;   /* removed by this process to make room; the folder keeps the sum of all
                           processes, which the next report carries */
    uint64_t refused;   /* not written: the folder could not be written, or the disk is full */
};
FW_API fw_error fw_reports_totals(struct fw_reports *reports, struct fw_reports_totals *totals);

#ifdef __cplusplus
}
#endif
#endif
