/*
 * Which time it is, when the system's clock may be wrong: pure, so that tests set the clocks by
 * hand. Time goes on as the system's uptime does, and follows the wall clock while that agrees.
 *
 *     the wall clock                            time                      things may be removed
 *     as expected, to 5 s                       follows it                yes
 *     is up to a day off                        follows after 2 minutes   yes
 *     is more than a day off                    goes on as before,        when it was followed
 *                                               follows after a day
 *     at the start: later than the newest       follows it                after a day
 *     time in the database by over 2 days
 *     at the start: earlier by over a day       goes on from there,       when it was followed
 *                                               follows after a day
 *     another server counts another time        as before, or that one    no
 *
 * A server that was switched off for long looks like one with a clock that is ahead. Both write the
 * right or wrong time into what comes in, and neither removes anything until a day has passed, or
 * an administrator has said that the clock is right.
 */
#ifndef COLLECTOR_CLOCK_CHECK_H
#define COLLECTOR_CLOCK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CLOCK_AGREES_MS = 5000,
    CLOCK_DRIFT_MS = 60000, /* that many milliseconds of small steps an hour */
    CLOCK_SHORT_MS = 120000,
    CLOCK_DAY_MS = 86400000,
    CLOCK_OFF_MS = 2 * CLOCK_DAY_MS, /* switched off for that long is nothing unusual */
};

enum clock_state {
    CLOCK_FINE,
    CLOCK_JUMPED,   /* while the server ran */
    CLOCK_AHEAD,    /* at the start */
    CLOCK_BEHIND,   /* at the start */
    CLOCK_DISPUTED, /* another server of the database counts another time */
};

struct clock_check { /* all zero: nothing is known */
    bool begun;
    enum clock_state state;
    int64_t now_ms, boot_ms;      /* the time that was told last, and the uptime then */
    int64_t known_ms, known_at;   /* at the start: the newest time of the database, the uptime */
    int64_t step_ms, since_ms;    /* how far the wall clock is off, and since which uptime */
    bool stepped;                 /* it is off */
    int64_t drift_ms, drift_boot; /* of small steps, in the hour that began then */
};

/* What the clocks say, wall clock and uptime, to the time. */
int64_t clock_check_tell(struct clock_check *c, int64_t real_ms, int64_t boot_ms);
/* At the start: the newest time that the database knows of. */
void clock_check_known(struct clock_check *c, int64_t known_ms, int64_t real_ms, int64_t boot_ms);
/* Another server has `other_ms` now. A server whose clock is ahead since its start takes that. */
void clock_check_other(struct clock_check *c, int64_t other_ms, int64_t real_ms, int64_t boot_ms);
/* An administrator says that the wall clock is right. */
void clock_check_confirm(struct clock_check *c, int64_t real_ms, int64_t boot_ms);

#endif
