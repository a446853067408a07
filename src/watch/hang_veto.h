/*
 * How long a thread has starved: was ready to run and had no processor.
 *
 * Two witnesses, of which each may know less than the truth and none more, so the larger counts.
 * The kernel's own count (run delay) grows when the thread gets a processor at last, not while it
 * waits. And a thread that was runnable at two looks and did not once go to sleep in between was
 * ready all the time: what it did not run it waited. Where it did sleep, this one does not know.
 */
#ifndef WATCH_HANG_VETO_H
#define WATCH_HANG_VETO_H

#include "watch/hang_system.h"

struct hang_starving {
    struct hang_load first, last; /* looks without a pause in between */
    uint64_t first_at, last_at;
    uint64_t seen;     /* by the second witness since `first`; ns */
    uint64_t before;   /* starved before `first`; ns */
    uint64_t left_out; /* since `last`; ns */
};

/* One more look at `now`; returns how long the thread has starved in all, in ns. */
uint64_t hang_starving_look(struct hang_starving *s, const struct hang_load *load, uint64_t now);
/* Of the time between the last look and the next, `span` does not count; the rest does. */
void hang_starving_leave_out(struct hang_starving *s, uint64_t span);

#endif
