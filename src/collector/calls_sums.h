/*
 * Calls of watched functions as sums, so that questions about callers read a few rows of what is
 * there, however many stacks and builds called.
 *
 *     intake: call_site (a place), call_day (its calls in a version and on a day)
 *     job "calls": names places, and adds them to call_caller_day (a caller's calls on a day)
 *
 * Invariant: call_caller_day is what call_day adds up to over the places that have the caller.
 * Intake keeps it by adding to both; who gives a place another caller is alone with the sums
 * (db_pass_gate) and moves them in the same transaction. A place that has not been named yet, or
 * whose names may be others by now, says so (todo & 1): views name it themselves until then, so an
 * answer is right at any moment.
 */
#ifndef COLLECTOR_CALLS_SUMS_H
#define COLLECTOR_CALLS_SUMS_H

#include "collector/collector.h"
#include "collector/db.h"

/* Callers of a project; further ones count as "(other)". */
enum { CALLS_CALLERS = 100000 };

/* Another map is in use for a row of `image`, in the caller's transaction: names of its places may
 * be others. project 0: for all. */
fw_error calls_rename(struct db_conn *conn, int64_t project, int64_t image, struct fw_failure *why);

#endif
