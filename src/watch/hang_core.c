/*
 * The decisions of the hang monitor: see hang_core.h.
 *
 * Sleeping for ever without a fence on the watched side. A thread stores its mark and then looks at
 * `want`; we set `want` and then look at the mark. Without fences both may look too early: the
 * thread sees no wish, we see no mark, and the turn would go unseen. But a store does not stay in a
 * processor's buffer: it is visible within nanoseconds, at the latest when the processor takes an
 * interrupt or switches threads. So after `want` is set we sleep once more for a bounded time (tens
 * of milliseconds) and look again. A mark whose look at `want` came too early was stored before, so
 * the second look sees it; every later one sees `want`. Only then do we sleep for ever.
 *
 * The same for MARK_WANT_END: whoever misses it is seen at the next sample; and when that sample
 * was taken by a signal, or with the thread stopped, the thread has been in the kernel since, so
 * any later mark of its sees the wish.
 */
#include "watch/hang_core.h"

#include "watch/hang_sites.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

enum {
    AGE_SHARE = 64,  /* an interval is not shorter than this part of the age: 250 ms at 16 s */
    SAME_GROWS = 8,  /* with the same stack it grows to so many times that */
    WAIT_LOOK_S = 8, /* a loop that was seen waiting is looked at not more rarely than that */
    FLUSH_EVERY_S = 1,
};

static void veto(struct fw_hang_monitor *m, fw_hang_veto reason)
{
    hang_count(&m->totals.vetoed[reason], 1);
}

static void say(const struct fw_hang_monitor *m, const struct hang_turn *t, uint64_t duration,
                bool ended)
{
    const struct fw_hang_event event = {
        .watch = t->name,
        .duration_ns = duration,
        .started_ms = t->started_ms,
        .ended = ended,
        .severe = duration >= m->set.severe,
        .report_id = t->report_id,
    };
    if (m->set.on_hang)
        m->set.on_hang(m->set.context, &event);
}

/* It is a hang. */
static void tell_begin(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t now)
{
    const uint64_t age = hang_age(t, now);
    const uint64_t wall = m->clock->wall_ms(m->clock->context);
    t->phase = HANG_TOLD;
    t->started_ms = wall - (now - t->since + t->asleep) / 1000000;
    hang_count(&m->totals.hangs, 1);
    __atomic_store_n(&t->hanging_from, now - age, __ATOMIC_RELAXED);
    t->report_id[0] = '\0';
    t->severe = false;

    const struct fw_stack *heaviest = hang_samples_heaviest(&t->samples);
    const enum annealing_answer answer = annealing_ask(&m->annealing, heaviest ? heaviest->id : 0,
                                                       now, wall, m->set.reports_per_day);
    t->capped_or_annealed = answer != ANNEALING_REPORT;
    if (answer == ANNEALING_SAME)
        hang_count(&m->totals.annealed, 1);
    else if (answer == ANNEALING_CAPPED)
        hang_count(&m->totals.capped, 1);
    else
        hang_report_begin(m, t, age);
    t->flushed = now;
    say(m, t, age, false);
    hang_pace_worked(m);
}

/* At the threshold. */
static void decide(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t now)
{
    fw_hang_veto reason = FW_HANG_VETO_NONE;
    if (t->began < m->seen_away)
        reason = FW_HANG_VETO_BACKGROUND;
    else if (!m->set.watch_debugged && m->system->debugged(m->system->context))
        reason = FW_HANG_VETO_DEBUGGED;
    if (reason == FW_HANG_VETO_NONE) {
        tell_begin(m, t, now);
        return;
    }
    veto(m, reason);
    t->phase = HANG_SETTLED;
}

static void tell_end(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t end,
                     enum fwr_ending ending)
{
    static const uint16_t below_ms[FW_HANG_BUCKETS - 1] = {100, 250, 500, 1000, 2000, 5000, 8000};
    const uint64_t duration = hang_age(t, end);
    unsigned bucket = 0;
    while (bucket < FW_HANG_BUCKETS - 1 && duration >= below_ms[bucket] * UINT64_C(1000000))
        bucket++;
    hang_count(&m->totals.by_duration[bucket], 1);
    hang_count(&m->totals.hang_ns, duration);
    __atomic_store_n(&t->hanging_from, 0, __ATOMIC_RELAXED);
    if (duration > m->totals.longest_ns)
        hang_count(&m->totals.longest_ns, duration - m->totals.longest_ns);
    if (duration >= m->set.severe && !t->severe)
        hang_count(&m->totals.severe, 1);
    if (t->capped_or_annealed)
        annealing_left_out(&m->annealing, duration);
    hang_samples_close(&t->samples, duration);
    hang_report_end(m, t, ending, duration);
    say(m, t, duration, true);
    hang_pace_worked(m);
}

/* What the threshold leaves out because the thread had no processor. */
static uint64_t without_processor(const struct fw_hang_monitor *m, const struct hang_turn *t)
{
    return m->set.keep_starved ? 0 : t->starved + t->presumed;
}

/* How long the thread has starved since the last look. */
static void look_at_load(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t now, bool ended)
{
    struct hang_load load = {.known = false};
    m->system->load(m->system->context, t->thread, &load);
    if (ended && t->starved && load.voluntary == t->starving.last.voluntary + 1) {
        load.voluntary--; /* the wait after the turn */
        load.runnable = true;
    }
    t->starved = hang_starving_look(&t->starving, &load, now);
    const uint64_t out = without_processor(m, t);
    if (out > t->paused && (t->blame == FW_HANG_VETO_NONE || out >= m->set.threshold / 2))
        t->blame = FW_HANG_VETO_STARVED;
}

/* The age that counts for the threshold. */
static uint64_t effective(const struct fw_hang_monitor *m, const struct hang_turn *t, uint64_t now)
{
    const uint64_t age = hang_age(t, now), out = without_processor(m, t);
    return age > out ? age - out : 0;
}

/* The turn is over, or none any more. */
static void end_turn(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t end)
{
    if (t->phase == HANG_WATCHED) {
        if (effective(m, t, end) >= m->set.threshold)
            look_at_load(m, t, end, true);
        if (effective(m, t, end) >= m->set.threshold && !t->waits)
            decide(m, t, end); /* it ended before we came */
        else if (end - t->began + t->asleep >= m->set.threshold && t->blame)
            veto(m, t->blame);
    }
    if (t->phase == HANG_TOLD)
        tell_end(m, t, end, FWR_RECOVERED);
    t->phase = HANG_IDLE;
}

/* Counts anew from `now`. */
static void restart(struct hang_turn *t, uint64_t now, fw_hang_veto blame)
{
    t->since = now;
    t->paused = t->starved = t->presumed = 0;
    t->starving = (struct hang_starving){.before = 0};
    t->blame = blame;
    t->seen = false;
    hang_samples_reset(&t->samples);
}

/* Time since the last look that the clock, or the kernel, says was no use to us. */
struct lost {
    uint64_t stood;  /* the process or the machine stood still */
    uint64_t waited; /* the monitor waited for a processor */
};

static void begin_turn(struct fw_hang_monitor *m, const struct fw_hang_watch *w,
                       struct hang_turn *t, uint64_t now, struct lost lost,
                       const struct hang_moment *moment)
{
    const uint64_t age = mark_age(w, t->mark, now);
    t->phase = HANG_YOUNG;
    t->began = now - age;
    t->asleep = 0;
    t->waits = false;
    restart(t, t->began, FW_HANG_VETO_NONE);
    if (moment->prompt && age > m->set.late) { /* it rang, and we came late */
        lost.waited = moment->waited;
        if (age > moment->waited && age - moment->waited > m->set.late)
            lost.stood = age - moment->waited;
    }
    t->presumed = lost.waited < age ? lost.waited : age;
    if (lost.stood) {
        t->paused = lost.stood < age ? lost.stood : age;
        t->blame = FW_HANG_VETO_STOPPED;
    }
}

/* The process did not run for `late`, or the machine slept: no turn is to blame for that. */
static void excuse(struct hang_turn *t, uint64_t now, uint64_t late, uint64_t asleep)
{
    if (t->phase == HANG_IDLE || (!late && !asleep))
        return;
    t->paused += late;
    t->asleep += asleep;
    hang_starving_leave_out(&t->starving, late + asleep); /* `paused` and `asleep` have it */
    if (t->phase == HANG_TOLD) {
        __atomic_store_n(&t->hanging_from, now - hang_age(t, now), __ATOMIC_RELAXED);
        return;
    }
    if (asleep)
        restart(t, now, FW_HANG_VETO_STOPPED);
    if (t->paused >= t->starved && t->blame != FW_HANG_VETO_IDLE_STACK)
        t->blame = FW_HANG_VETO_STOPPED;
}

/* Reads the clock, and excuses the turn for what it tells. */
static struct lost catch_up(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t *now)
{
    *now = hang_pace_tick(m);
    const struct lost lost = {m->stalled - t->stalled, m->delayed - t->delayed};
    const uint64_t doubt = m->doubtful - t->doubtful;
    t->stalled = m->stalled;
    t->doubtful = m->doubtful;
    t->delayed = m->delayed;
    if (t->phase == HANG_YOUNG || t->phase == HANG_WATCHED)
        t->paused += doubt;
    if (t->phase == HANG_YOUNG)
        t->presumed += lost.waited;
    excuse(t, *now, lost.stood, 0);
    return lost;
}

/* When the turn of mark t->mark ended: as its thread stored it, or just now. */
static uint64_t end_of(const struct fw_hang_watch *w, const struct hang_turn *t, uint64_t now)
{
    if (__atomic_load_n(&w->ended_mark, __ATOMIC_ACQUIRE) != t->mark)
        return now;
    const uint64_t at = __atomic_load_n(&w->ended_at, __ATOMIC_RELAXED);
    return at < now && at >= t->began ? at : now;
}

/* Takes over who is watched here. Returns whether that changed. */
static bool adopt(struct fw_hang_monitor *m, struct fw_hang_watch *w, struct hang_turn *t,
                  uint64_t now)
{
    const uint32_t generation = __atomic_load_n(&w->generation, __ATOMIC_ACQUIRE);
    if (generation == t->generation)
        return false;
    if (t->phase != HANG_IDLE)
        end_turn(m, t, end_of(w, t, now));
    uint64_t name[MARK_NAME_WORDS];
    for (unsigned i = 0; i < MARK_NAME_WORDS; i++)
        name[i] = __atomic_load_n(&w->name[i], __ATOMIC_ACQUIRE); /* before the second look */
    t->thread = (fw_thread_id)__atomic_load_n(&w->thread, __ATOMIC_ACQUIRE);
    t->generation = 0;
    if (__atomic_load_n(&w->generation, __ATOMIC_RELAXED) != generation)
        return true; /* changed meanwhile: next time, for that rings */
    memcpy(t->name, name, sizeof t->name);
    t->generation = generation;
    t->mark = 0;
    return true;
}

/* The next sample's distance: longer the older the turn is and the longer its stack is the same;
 * give or take a quarter, so as not to beat in time with what is sampled. */
static void plan_next(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t now, bool same)
{
    uint64_t base = m->set.interval;
    if (hang_age(t, now) / AGE_SHARE > base)
        base = hang_age(t, now) / AGE_SHARE;
    t->step = same && t->step >= base ? t->step + t->step / 2 : base;
    if (t->step > base * SAME_GROWS)
        t->step = base * SAME_GROWS;
    t->next = now + t->step * 3 / 4 + hang_samples_draw(&t->samples, t->step / 2 + 1);
    if (t->phase == HANG_WATCHED) {
        /* Not later than at the threshold. Of one that starves nobody knows when that will be. */
        const uint64_t out = without_processor(m, t);
        const uint64_t at = t->since + t->paused + out + m->set.threshold;
        const uint64_t soonest = now + (out ? m->set.interval / 2 : 0);
        if (at > now && at < t->next)
            t->next = at > soonest ? at : soonest;
    }
}

/* The loop was waiting: it has not hung until now, whatever its mark says. */
static void seen_waiting(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t now)
{
    if (t->phase == HANG_TOLD) {
        if (t->seen) {
            tell_end(m, t, now, FWR_RECOVERED);
            t->began = now;
        } else { /* no other stack was ever seen: it was none */
            hang_count(&m->totals.hangs, (uint64_t)-1);
            if (t->severe)
                hang_count(&m->totals.severe, (uint64_t)-1);
            __atomic_store_n(&t->hanging_from, 0, __ATOMIC_RELAXED);
            hang_report_discard(m, t);
            say(m, t, hang_age(t, now), true);
            hang_pace_worked(m);
        }
        t->phase = HANG_WATCHED;
    }
    restart(t, now, FW_HANG_VETO_IDLE_STACK);
    t->step = t->waits ? t->step * 2 : m->set.look_from;
    if (t->step > WAIT_LOOK_S * SECOND)
        t->step = WAIT_LOOK_S * SECOND;
    t->waits = true;
    t->next = now + t->step;
}

/* One sample of the thread. False when the turn ended meanwhile. */
static bool take_sample(struct fw_hang_monitor *m, const struct fw_hang_watch *w,
                        struct hang_turn *t)
{
    uint64_t now;
    struct fw_stack stack = {
        .frames = m->frames, .capacity = m->set.frames, .tail = m->set.frames / 4};
    const fw_error error = m->system->sample(m->system->context, t->thread, &stack);
    catch_up(m, t, &now);
    if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != t->mark)
        return false;
    if (error == FW_ERR_NOT_FOUND) { /* its last turn ended with it; the program may go on */
        if (t->phase == HANG_TOLD)
            tell_end(m, t, now, FWR_RECOVERED);
        t->phase = HANG_SETTLED;
        m->lost = true;
        return true;
    }
    hang_count(&m->totals.samples, 1);
    if (error == FW_OK && hang_sites_idle(&stack)) {
        seen_waiting(m, t, now);
        return true;
    }
    look_at_load(m, t, now, false);
    const struct fw_stack *last = hang_samples_last(&t->samples);
    const bool same = last && last->id == stack.id;
    t->seen |= stack.end != FW_END_UNAVAILABLE;
    t->waits = false;
    hang_samples_add(&t->samples, &stack, hang_age(t, now));
    plan_next(m, t, now, same);
    return true;
}

/* A turn that lasts. False when it ended meanwhile. */
static bool go_on(struct fw_hang_monitor *m, struct fw_hang_watch *w, struct hang_turn *t)
{
    uint64_t now;
    catch_up(m, t, &now);
    if (t->phase == HANG_YOUNG) {
        t->next = t->since + t->paused + m->set.look_from;
        if (now < t->next)
            return true;
        t->phase = HANG_WATCHED;
        t->step = 0;
        __atomic_fetch_or(&w->want, MARK_WANT_END, __ATOMIC_RELEASE);
        look_at_load(m, t, now, false);
        t->next = t->since + t->paused + m->set.sample_from;
    }
    if (t->phase == HANG_SETTLED || now < t->next)
        return true;
    __atomic_fetch_or(&w->want, MARK_WANT_END, __ATOMIC_RELEASE);
    if (!take_sample(m, w, t))
        return false;
    catch_up(m, t, &now);
    if (t->phase == HANG_WATCHED && effective(m, t, now) >= m->set.threshold)
        decide(m, t, now);
    if (t->phase == HANG_TOLD) {
        const bool turns_severe = hang_age(t, now) >= m->set.severe && !t->severe;
        if (turns_severe) {
            t->severe = true;
            hang_count(&m->totals.severe, 1);
        }
        if (turns_severe || now - t->flushed >= FLUSH_EVERY_S * SECOND) {
            t->flushed = now;
            hang_report_go_on(t, turns_severe);
            hang_pace_worked(m);
        }
    }
    return __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == t->mark;
}

/* Looks at one watch. Returns whether something had happened since the last look. */
static bool look(struct fw_hang_monitor *m, struct fw_hang_watch *w, struct hang_turn *t,
                 const struct hang_moment *moment)
{
    uint64_t now;
    struct lost lost = catch_up(m, t, &now);
    bool active = adopt(m, w, t, now);
    if (!(t->generation & 1))
        return active;
    excuse(t, now, 0, moment->asleep);
    /* A thread that takes turns faster than we look is left to the next step. */
    for (unsigned tries = 0; tries < 4; tries++) {
        const uint64_t mark = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE);
        const struct lost more = catch_up(m, t, &now);
        lost.stood += more.stood;
        lost.waited += more.waited;
        if (mark != t->mark) {
            active = true;
            if (t->phase != HANG_IDLE)
                end_turn(m, t, end_of(w, t, now));
            t->mark = mark;
            if (mark & MARK_BUSY)
                begin_turn(m, w, t, now, lost, moment);
        }
        if (t->phase == HANG_IDLE || go_on(m, w, t))
            break;
    }
    return active;
}

static uint64_t deadline_of(const struct hang_turn *t)
{
    const bool due = t->phase == HANG_YOUNG || t->phase == HANG_WATCHED || t->phase == HANG_TOLD;
    return (t->generation & 1) && due ? t->next : UINT64_MAX;
}

/* Asks all threads to wake us with their next mark, or not to any more. */
static void want_wake(struct fw_hang_monitor *m, uint32_t used, bool on)
{
    for (uint32_t i = 0; i < used; i++) {
        if (on)
            __atomic_fetch_or(&m->watches[i].want, MARK_WANT_WAKE, __ATOMIC_SEQ_CST);
        else
            __atomic_fetch_and(&m->watches[i].want, ~(uint32_t)MARK_WANT_WAKE, __ATOMIC_RELAXED);
    }
}

uint64_t hang_step(struct fw_hang_monitor *m)
{
    const struct hang_moment moment = hang_pace_wake(m);
    const uint32_t used = __atomic_load_n(&m->used, __ATOMIC_ACQUIRE);
    bool active = false;
    uint64_t deadline = UINT64_MAX;
    for (uint32_t i = 0; i < used; i++)
        active |= look(m, &m->watches[i], &m->turns[i], &moment);
    for (uint32_t i = 0; i < used; i++)
        if (deadline_of(&m->turns[i]) < deadline)
            deadline = deadline_of(&m->turns[i]);

    const uint64_t now = hang_now(m), look_again = now + m->set.look_from;
    if (active) {
        if (m->quiet)
            want_wake(m, used, false);
        m->quiet = 0;
    } else if (m->quiet < 2 && ++m->quiet == 1) {
        want_wake(m, used, true);
    }
    if (m->quiet < 2 && look_again < deadline) /* the last look before sleeping for ever, too */
        deadline = look_again;
    hang_pace_rest(m, deadline);
    return deadline;
}

void hang_flush(struct fw_hang_monitor *m)
{
    for (uint32_t i = 0; i < FW_HANG_WATCHES; i++) {
        struct hang_turn *t = &m->turns[i];
        if (t->phase != HANG_TOLD)
            continue;
        hang_samples_close(&t->samples, hang_age(t, hang_now(m)));
        hang_report_go_on(t, false);
    }
}

void hang_close(struct fw_hang_monitor *m)
{
    for (uint32_t i = 0; i < FW_HANG_WATCHES; i++) {
        struct fw_hang_watch *w = &m->watches[i];
        struct hang_turn *t = &m->turns[i];
        const uint64_t now = hang_now(m);
        if (t->phase != HANG_IDLE && __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != t->mark)
            end_turn(m, t, end_of(w, t, now));
        else if (t->phase == HANG_TOLD)
            tell_end(m, t, now, FWR_STOPPED);
        t->phase = HANG_IDLE;
    }
}
