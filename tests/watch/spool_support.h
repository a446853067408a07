/*
 * Real folders of reports under the build tree, and what is in them, looked at with the survey that
 * readers trust.
 */
#ifndef TESTS_WATCH_SPOOL_SUPPORT_H
#define TESTS_WATCH_SPOOL_SUPPORT_H

#include "watch/spool_internal.h"

struct spool_contents {
    unsigned parts, whole, foreign; /* names by their kind; spool.state is not counted */
    unsigned ended, broken;         /* of the whole ones: with FWR_END, without */
    unsigned unreadable;            /* no report in it, or bytes behind the last record */
    unsigned killed, hangs, calls;
};

/* A new, empty folder's path (not made yet: fw_reports_open does), or of one with mode 0700. */
const char *spool_new_path(void);
const char *spool_new_folder(void);
/* Removes it with all that is in it. */
void spool_remove_folder(const char *path);
void spool_look(const char *path, struct spool_contents *contents);
/* Path of a report's file in it. */
const char *spool_path(const char *folder, const char *id, const char *suffix);

struct fw_reports *spool_open(const char *folder, uint32_t max_files);
/* Says of `report` that it is a hang of that duration, with a stack of this program. */
void spool_say_hang(struct spool_report *report, uint64_t duration_ns);
void spool_say_end(struct spool_report *report, enum fwr_ending ending, uint64_t duration_ns);
/* A finished hang report; false when it was not acknowledged. Its id goes to `id` when not NULL. */
bool spool_write_hang(struct fw_reports *reports, uint64_t started_ms, uint64_t duration_ns,
                      char *id);
bool spool_write_calls(struct fw_reports *reports, uint64_t started_ms, char *id);

#endif
