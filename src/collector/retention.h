/*
 * Retention: what is older than the settings of its project goes (keep_settings.h).
 *
 * Everything goes in transactions of a few hundred rows, so that reports are taken in meanwhile,
 * and each can be the last: what is left is removed by the next run. A blob goes after the row that
 * names it; a server that ends in between leaves a blob that no row names, which the sweeps remove.
 *
 * Rows go by whole days (report.day), and the sums of those days with them: so the sums stay what
 * `report` adds up to (docs/collector.md, "Sums"). Groups that lost reports get their sums anew.
 */
#ifndef COLLECTOR_RETENTION_H
#define COLLECTOR_RETENTION_H

#include "collector/collector.h"
#include "collector/db.h"
#include "collector/keep_settings.h"

enum retention_what {
    RETENTION_BODIES,
    RETENTION_REPORTS,
    RETENTION_DAYS, /* sums of a day */
    RETENTION_SESSIONS,
    RETENTION_CALLS,
    RETENTION_STACKS,
    RETENTION_FLAME,
    RETENTION_NAMES,      /* places whose names no report brought again */
    RETENTION_UNREADABLE, /* reports of the inbox that nobody could read */
    RETENTION_SEEN,
    RETENTION_AUDIT,
    RETENTION_SYMBOLS,
    RETENTION_KINDS
};
extern const char *const retention_names[RETENTION_KINDS]; /* as the API and the audit log say */

struct retention_counts {
    uint64_t of[RETENTION_KINDS];
    uint64_t body_bytes, symbol_bytes; /* of the store */
};

struct retention_run {
    struct collector *c;
    bool (*ours)(void *context); /* asked often; false: FW_ERR_TIMEOUT. NULL: goes on */
    void *context;
    uint64_t now_ms;
    struct retention_counts counts; /* removed so far; of the project that is worked on */
};

/* What the job "retention" would remove now of the project and, with `all`, of what belongs to no
 * project; the disk is not looked at. */
fw_error retention_preview(struct retention_run *run, int64_t project,
                           const struct keep_settings *settings, bool all, struct fw_failure *why);

/* --- between the files of retention --- */

fw_error retention_go_on(const struct retention_run *run, struct fw_failure *why);
/* retention_rows.c. project 0: what belongs to none. `settings` of the project. */
fw_error retention_rows(struct retention_run *run, int64_t project,
                        const struct keep_settings *settings, struct fw_failure *why);
fw_error retention_rows_count(struct retention_run *run, int64_t project,
                              const struct keep_settings *settings, struct fw_failure *why);
/* retention_bodies.c */
fw_error retention_bodies(struct retention_run *run, int64_t project,
                          const struct keep_settings *settings, struct fw_failure *why);
fw_error retention_bodies_count(struct retention_run *run, int64_t project,
                                const struct keep_settings *settings, struct fw_failure *why);
/* Above `share` of the disk the oldest packs go, those of the last day never. */
fw_error retention_disk(struct retention_run *run, double share, struct fw_failure *why);

#endif
