/* See loop.h. */
#include "watch/agent/loop.h"

enum { STACK_SPAN = 8 << 20 }; /* two places further apart are on different stacks */

static bool is_same_stack(const struct loop_place *a, const struct loop_place *b)
{
    uintptr_t apart = a->sp > b->sp ? a->sp - b->sp : b->sp - a->sp;
    return apart <= STACK_SPAN;
}

static bool is_same_place(const struct loop_place *a, const struct loop_place *b)
{
    return a->site == b->site && a->sp == b->sp && a->object == b->object;
}

static void remember_caller(struct loop *loop, struct loop_place *place)
{
    if (place->caller == 0 && loop->caller)
        place->caller = loop->caller();
}

/* The same loop, further in. */
static bool is_nested(struct loop *loop, struct loop_place *place)
{
    const struct loop_place *own = &loop->own;
    if (place->site != own->site || place->object != own->object)
        return false;
    remember_caller(loop, place);
    return place->caller == own->caller || (loop->alike && loop->alike(place->caller, own->caller));
}

static bool is_own(struct loop *loop, struct loop_place *place)
{
    if (is_same_stack(place, &loop->own) && place->sp >= loop->own.sp)
        return true;
    return is_nested(loop, place);
}

static void begin(struct loop *loop, struct loop_place *place, uint32_t count)
{
    remember_caller(loop, place);
    loop->own = *place;
    loop->count = count;
    loop->challenges = 0;
}

/* The loop itself waits, or looks. */
static void own_waits(struct loop *loop, struct loop_place *place)
{
    bool further_out = is_same_stack(place, &loop->own) && place->sp > loop->own.sp;
    if (further_out)
        begin(loop, place, 1);
    else if (loop->count < UINT32_MAX)
        loop->count++;
    loop->challenges = 0;
}

/* A wait further in, at another place: true when that makes it the loop. */
static bool takes_over(struct loop *loop, struct loop_place *place)
{
    if (loop->challenges == 0 || !is_same_place(&loop->challenger, place)) {
        loop->challenger = *place;
        loop->challenges = 0;
    }
    loop->challenges++;
    uint32_t needed = loop->count < LOOP_OLD ? loop->count : LOOP_OLD;
    if (loop->challenges < (needed > LOOP_TAKE_OVER ? needed : LOOP_TAKE_OVER))
        return false;
    uint32_t count = loop->challenges;
    if (loop->in_handler && loop->in_handler()) {
        loop->challenges = 0;
        return false;
    }
    begin(loop, place, count);
    return true;
}

static enum loop_wait zero_wait(struct loop *loop, struct loop_place *place)
{
    if (loop->count > 0 && is_own(loop, place)) {
        /* Further out it may be anything that looks at a descriptor. */
        if (!loop->waited || place->site == loop->own.site)
            own_waits(loop, place);
        return place->site == loop->own.site ? LOOP_TURN : LOOP_INSIDE;
    }
    if (loop->waited)
        return LOOP_INSIDE;
    if (loop->count == 0)
        begin(loop, place, 1);
    else
        takes_over(loop, place);
    return LOOP_INSIDE;
}

enum loop_wait loop_wait(struct loop *loop, struct loop_place *place, bool zero)
{
    if (zero)
        return zero_wait(loop, place);
    if (!loop->waited || loop->count == 0) { /* the first in earnest is worth more than any look */
        bool looked = loop->count > 0 && is_own(loop, place);
        loop->waited = true;
        if (!looked || place->sp != loop->own.sp)
            begin(loop, place, 1);
        else
            own_waits(loop, place);
        return LOOP_IDLE;
    }
    if (is_own(loop, place)) {
        own_waits(loop, place);
        return LOOP_IDLE;
    }
    if (takes_over(loop, place))
        return LOOP_IDLE;
    return loop_is_settled(loop) ? LOOP_INSIDE : LOOP_IDLE;
}
