#include "collector/clock_check.h"

enum { HOUR_MS = 3600000 };

static void follow(struct clock_check *c, int64_t real_ms)
{
    c->now_ms = real_ms;
    c->stepped = false;
    c->state = CLOCK_FINE;
}

/* Whether the wall clock says what may be expected since the start, however it got there. */
static bool as_known(const struct clock_check *c, int64_t real_ms, int64_t boot_ms)
{
    int64_t off = real_ms - (c->known_ms + boot_ms - c->known_at);
    return c->known_ms && off > -CLOCK_DAY_MS && off < CLOCK_OFF_MS;
}

/* A step of less than 5 s: taken, but not time and again, or a clock that runs too fast would take
 * time along. */
static bool small_step(struct clock_check *c, int64_t off, int64_t boot_ms)
{
    if (off < -CLOCK_AGREES_MS || off > CLOCK_AGREES_MS)
        return false;
    if (boot_ms - c->drift_boot > HOUR_MS) {
        c->drift_boot = boot_ms;
        c->drift_ms = 0;
    }
    int64_t drift = c->drift_ms + (off < 0 ? -off : off);
    if (drift > CLOCK_DRIFT_MS)
        return false;
    c->drift_ms = drift;
    return true;
}

/* The wall clock is off by that much; `now_ms` is what it would be without. */
static void step(struct clock_check *c, int64_t off, int64_t real_ms, int64_t boot_ms)
{
    bool far = off < -CLOCK_DAY_MS || off > CLOCK_DAY_MS;
    int64_t moved = off - c->step_ms;
    if (!c->stepped || moved < -CLOCK_AGREES_MS || moved > CLOCK_AGREES_MS) {
        c->stepped = true;
        c->step_ms = off;
        c->since_ms = boot_ms;
    }
    if (far && c->state == CLOCK_FINE)
        c->state = CLOCK_JUMPED;
    else if (!far && c->state == CLOCK_JUMPED)
        c->state = CLOCK_FINE;
    if (boot_ms - c->since_ms >= (far ? CLOCK_DAY_MS : CLOCK_SHORT_MS))
        follow(c, real_ms);
}

int64_t clock_check_tell(struct clock_check *c, int64_t real_ms, int64_t boot_ms)
{
    if (!c->begun) {
        c->begun = true;
        c->now_ms = real_ms;
        c->drift_boot = boot_ms;
    } else {
        c->now_ms += boot_ms - c->boot_ms;
    }
    c->boot_ms = boot_ms;
    int64_t off = real_ms - c->now_ms;
    bool since_start = c->state == CLOCK_AHEAD || c->state == CLOCK_BEHIND;
    if (since_start && as_known(c, real_ms, boot_ms)) {
        follow(c, real_ms);
    } else if (small_step(c, off, boot_ms)) {
        c->now_ms = real_ms;
        c->stepped = false;
        if (c->state == CLOCK_JUMPED ||
            (c->state == CLOCK_AHEAD && boot_ms - c->known_at >= CLOCK_DAY_MS))
            c->state = CLOCK_FINE;
    } else if (c->state != CLOCK_DISPUTED) {
        step(c, off, real_ms, boot_ms);
    }
    return c->now_ms;
}

void clock_check_known(struct clock_check *c, int64_t known_ms, int64_t real_ms, int64_t boot_ms)
{
    *c = (struct clock_check){.begun = true,
                              .now_ms = real_ms,
                              .boot_ms = boot_ms,
                              .known_ms = known_ms,
                              .known_at = boot_ms,
                              .drift_boot = boot_ms};
    if (!known_ms || as_known(c, real_ms, boot_ms))
        return;
    c->state = real_ms > known_ms ? CLOCK_AHEAD : CLOCK_BEHIND;
    if (c->state == CLOCK_BEHIND)
        c->now_ms = known_ms;
}

void clock_check_other(struct clock_check *c, int64_t other_ms, int64_t real_ms, int64_t boot_ms)
{
    int64_t off = clock_check_tell(c, real_ms, boot_ms) - other_ms;
    bool far = off < -CLOCK_DAY_MS || off > CLOCK_DAY_MS;
    int64_t real_off = real_ms - other_ms;
    if (c->state == CLOCK_DISPUTED && real_off > -CLOCK_DAY_MS && real_off < CLOCK_DAY_MS) {
        follow(c, real_ms);
    } else if (far) {
        if (c->state == CLOCK_AHEAD)
            c->now_ms = other_ms;
        c->state = CLOCK_DISPUTED;
        c->stepped = false;
    }
}

void clock_check_confirm(struct clock_check *c, int64_t real_ms, int64_t boot_ms)
{
    clock_check_tell(c, real_ms, boot_ms);
    follow(c, real_ms);
    c->known_ms = 0;
    c->drift_ms = 0;
}
