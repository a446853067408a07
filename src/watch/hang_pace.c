/*
 * How the time passed for the monitor itself: what of it counts for no turn.
 *
 * The monitor asks to be woken at a moment and notices when it is. What it comes late by is either
 * a standstill (the process was stopped or frozen, the machine stood still), during which the
 * watched thread could do nothing either, or a machine that is so busy that the monitor had to wait
 * for a processor. Only the first is left out of turns. The two are told apart by the kernel's
 * account of how long this thread was ready and did not run: a thread that is stopped is not ready.
 *
 * The account is read where a sleep begins and where it ends, so it covers the sleep and no more.
 * In the midst of a step it is read only when far more time has passed than a step may take; it
 * then holds the waits since the step began, and what it has too much only makes the standstill
 * shorter.
 */
#include "watch/hang_core.h"

/* How long this thread has waited for a processor since the last look. */
static uint64_t waited_since(struct fw_hang_monitor *m)
{
    const uint64_t now = m->system->waited(m->system->context);
    const uint64_t more = now > m->waited ? now - m->waited : 0;
    m->waited = now;
    return more;
}

struct hang_moment hang_pace_wake(struct fw_hang_monitor *m)
{
    struct hang_moment moment = {.prompt = m->quiet == 2};
    const uint64_t now = hang_now(m), away = m->clock->continuous(m->clock->context) - now;
    const uint64_t late = m->planned < now ? now - m->planned : 0;
    if (late > m->set.late || moment.prompt)
        moment.waited = waited_since(m);
    if (late > m->set.late)
        m->delayed += late < moment.waited ? late : moment.waited;
    if (late > moment.waited && late - moment.waited > m->set.late) {
        const uint64_t stood = late - moment.waited;
        const uint64_t slept = m->planned > m->checked ? m->planned - m->checked : 0;
        m->stalled += stood;
        /* It began while we slept, nobody knows when: a turn that is not told yet is not to blame
         * for that time either. A standstill of a hang's length shows in `stood` by half. */
        m->doubtful += slept < stood ? slept : stood;
    }
    m->checked = now;
    if ((int64_t)(away - m->continued) > (int64_t)m->set.late)
        moment.asleep = away - m->continued;
    m->continued = away;
    m->seen_away = __atomic_load_n(&m->background, __ATOMIC_ACQUIRE)
                       ? UINT64_MAX
                       : __atomic_load_n(&m->background_until, __ATOMIC_ACQUIRE);
    return moment;
}

uint64_t hang_pace_tick(struct fw_hang_monitor *m)
{
    const uint64_t now = hang_now(m), most = HANG_SAMPLE_NS + m->set.late;
    const uint64_t passed = now > m->checked ? now - m->checked : 0;
    if (passed > most) {
        const uint64_t waited = waited_since(m);
        if (passed > waited && passed - waited > most)
            m->stalled += passed - waited;
    }
    m->checked = now;
    return now;
}

void hang_pace_worked(struct fw_hang_monitor *m)
{
    m->checked = hang_now(m);
}

void hang_pace_rest(struct fw_hang_monitor *m, uint64_t deadline)
{
    const uint64_t now = hang_now(m);
    m->planned = deadline > now ? deadline : now;
    waited_since(m);
}
