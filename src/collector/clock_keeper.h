/*
 * What the database knows of the time, for clock.h: the newest time that a server was sure of (the
 * setting "clock_seen", written every ten seconds), and when an administrator confirmed a clock
 * ("clock_confirmed"), which holds for each server whose clock agrees. Says in the log when the
 * clock comes into doubt, and when it is over.
 */
#ifndef COLLECTOR_CLOCK_KEEPER_H
#define COLLECTOR_CLOCK_KEEPER_H

#include "collector/collector.h"
#include "collector/db.h"

struct clock_keeper;

/* Before whatever goes by the time. With a clock that is ahead it waits for some seconds, to see
 * whether another server is there whose clock is not. */
fw_error clock_keeper_start(struct collector *c, struct clock_keeper **keeper,
                            struct fw_failure *why);
void clock_keeper_stop(struct clock_keeper *keeper); /* NULL is fine */

/* The clock of this machine is right: in the caller's transaction, then clock_confirm(). */
fw_error clock_keeper_confirm(struct db_conn *conn, struct fw_failure *why);

#endif
