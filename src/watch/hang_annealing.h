/*
 * Which hangs get a report of their own: the 1st, 10th, 100th ... with the same stack, and no more
 * than so many a day. What is left out is summed up, and goes into the next report.
 *
 * Fixed memory: the 256 stacks used last. A day is one of the wall clock; when that jumps back, a
 * day is over after 24 hours of the clock that never jumps, so jumps can neither silence reports
 * nor multiply them.
 */
#ifndef WATCH_HANG_ANNEALING_H
#define WATCH_HANG_ANNEALING_H

#include <stdbool.h>
#include <stdint.h>

enum { ANNEALING_KEYS = 256 };

struct annealing_key {
    uint64_t key;   /* of the stack; 0: free */
    uint64_t used;  /* number of its last use: the smallest is given up first */
    uint64_t count; /* hangs with it */
};

struct annealing {
    bool every; /* none is left out for its stack alone */
    uint64_t uses;
    uint64_t day;       /* since 1970 */
    uint64_t day_began; /* by the clock that never jumps; ns */
    uint32_t today;     /* reports */
    /* Left out since the last report. */
    uint64_t left_out, left_out_ns, left_out_longest_ns;
    struct annealing_key keys[ANNEALING_KEYS];
};

enum annealing_answer { ANNEALING_REPORT, ANNEALING_SAME, ANNEALING_CAPPED };

/* A hang with the stack `key` passed its threshold. `now` is in ns of the clock that never jumps.
 */
enum annealing_answer annealing_ask(struct annealing *a, uint64_t key, uint64_t now,
                                    uint64_t wall_ms, uint32_t per_day);
/* How long one took that got no report. */
void annealing_left_out(struct annealing *a, uint64_t duration_ns);
/* The sums are in a report now. */
void annealing_told(struct annealing *a);

#endif
