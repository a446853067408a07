/*
 * Reports of hangs: begun at the threshold and flushed at once, so that a process that is killed
 * leaves what is known; gone on with at most once a second; ended when the thread comes back.
 *
 * Order at the threshold: the hang and its samples, flushed; then what the agent and the other
 * threads have to say, flushed; so nothing waits for a thread that does not answer.
 *
 * Flushed, a report survives its process. When the hang turns severe it also waits for the disk,
 * once: people switch off a machine that does not answer. Not before, as a hang may come from a
 * disk that is overloaded, and meanwhile no samples are taken.
 */
#include "watch/hang_core.h"

#include "os/threads.h"

#include <string.h>

static void write_samples(struct fwr_writer *w, struct hang_samples *samples)
{
    uint32_t number[HANG_STACKS];
    for (uint32_t i = 0; i < samples->stack_count; i++)
        number[i] = UINT32_MAX;
    for (uint32_t r = 0; r < samples->run_count; r++) {
        const struct hang_run *run = &samples->runs[r];
        const struct fw_stack *stack = &samples->stacks[run->stack];
        if (!run->count && !run->weight)
            continue;
        if (number[run->stack] == UINT32_MAX)
            number[run->stack] = stack->count ? fwr_stack(w, stack) : 0;
        fwr_sample(w, &(struct fwr_sample){.stack = number[run->stack],
                                           .count = run->count,
                                           .at_ns = run->at,
                                           .weight_ns = run->weight,
                                           .until_ns = samples->last});
    }
    hang_samples_drained(samples);
}

static bool is_watched(const struct fw_hang_monitor *m, fw_thread_id id)
{
    for (uint32_t i = 0; i < FW_HANG_WATCHES; i++)
        if ((m->turns[i].generation & 1) && m->turns[i].thread == id)
            return true;
    return false;
}

/* Every thread but ours, once. */
static void write_threads(struct fw_hang_monitor *m, struct fwr_writer *w)
{
    size_t count = 0;
    const fw_thread_id self = fw_thread_self(), first = fw_thread_main();
    fw_threads_list(m->other_ids, HANG_OTHERS, &count);
    if (count > HANG_OTHERS)
        count = HANG_OTHERS;
    for (size_t i = 0; i < count; i++) {
        struct fw_thread thread = {.id = m->other_ids[i], .state = '?'};
        struct fw_stack stack = {.frames = m->other_frames,
                                 .capacity = HANG_OTHER_FRAMES,
                                 .tail = HANG_OTHER_FRAMES / 4};
        if (thread.id == self || !os_thread_keep(thread.id))
            continue;
        os_thread_describe(&thread, true);
        const fw_error error = m->system->sample(m->system->context, thread.id, &stack);
        os_thread_release(thread.id);
        if (error == FW_ERR_NOT_FOUND)
            continue;
        const bool have = error == FW_OK && stack.end != FW_END_UNAVAILABLE;
        fwr_thread(w, &(struct fwr_thread){.id = thread.system_id,
                                           .name = thread.name,
                                           .queue = thread.queue,
                                           .state = thread.state,
                                           .is_main = thread.id == first,
                                           .is_watched = is_watched(m, thread.id),
                                           .stack = have ? fwr_stack(w, &stack) : 0,
                                           .unavailable = stack.unavailable});
    }
}

struct named_total {
    const char *name;
    uint64_t value;
};

static void write_named(struct fwr_writer *w, const struct named_total *totals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fwr_total(w, totals[i].name, totals[i].value);
}

/* Counters of this process until now, with what lasts. Written again they replace the old ones. */
static void write_totals(const struct fw_hang_monitor *m, struct fwr_writer *w)
{
    const struct hang_counters *t = &m->totals;
    const uint64_t now = hang_now(m);
    uint64_t lasting = 0;
    for (uint32_t i = 0; i < FW_HANG_WATCHES; i++)
        lasting += hang_lasting(&m->turns[i], now);
    const struct named_total totals[] = {
        {"hangs", t->hangs},
        {"hangs.severe", t->severe},
        {"hangs.ns", t->hang_ns + lasting},
        {"hangs.reported", t->reported},
        {"hangs.annealed", t->annealed},
        {"hangs.capped", t->capped},
        {"hangs.samples", t->samples},
        {"vetoed.stopped", t->vetoed[FW_HANG_VETO_STOPPED]},
        {"vetoed.starved", t->vetoed[FW_HANG_VETO_STARVED]},
        {"vetoed.debugged", t->vetoed[FW_HANG_VETO_DEBUGGED]},
        {"vetoed.background", t->vetoed[FW_HANG_VETO_BACKGROUND]},
        {"vetoed.idle_stack", t->vetoed[FW_HANG_VETO_IDLE_STACK]},
    };
    write_named(w, totals, sizeof totals / sizeof totals[0]);
}

/* What got no report of its own since the last one. */
static void write_left_out(const struct fw_hang_monitor *m, struct fwr_writer *w)
{
    const struct named_total totals[] = {
        {"left_out", m->annealing.left_out},
        {"left_out.ns", m->annealing.left_out_ns},
        {"left_out.longest_ns", m->annealing.left_out_longest_ns},
    };
    write_named(w, totals, sizeof totals / sizeof totals[0]);
}

void hang_report_begin(struct fw_hang_monitor *m, struct hang_turn *t, uint64_t so_far)
{
    if (!m->set.reports)
        return;
    t->report = spool_begin(m->set.reports, FWR_KIND_HANG, t->started_ms);
    if (!t->report)
        return;
    memcpy(t->report_id, spool_id(t->report), FW_REPORT_ID_SIZE);
    hang_count(&m->totals.reported, 1);
    struct fw_thread thread = {.id = t->thread};
    os_thread_describe(&thread, false);
    struct fwr_writer *w = spool_writer(t->report);
    fwr_hang(w, &(struct fwr_hang){.thread = thread.system_id,
                                   .watch = t->name,
                                   .threshold_ns = m->set.threshold,
                                   .severe_ns = m->set.severe,
                                   .so_far_ns = so_far,
                                   .unsampled_ns = t->samples.first});
    write_samples(w, &t->samples);
    write_totals(m, w);
    write_left_out(m, w);
    spool_flush(t->report, false);
    if (m->annotate)
        m->annotate(m->annotate_context, w, thread.system_id, so_far);
    if (m->set.other_threads)
        write_threads(m, w);
    spool_flush(t->report, false);
    annealing_told(&m->annealing);
}

void hang_report_go_on(struct hang_turn *t, bool durable)
{
    if (!t->report)
        return;
    write_samples(spool_writer(t->report), &t->samples);
    spool_flush(t->report, durable);
}

void hang_report_end(struct fw_hang_monitor *m, struct hang_turn *t, enum fwr_ending ending,
                     uint64_t duration)
{
    if (!t->report)
        return;
    struct fwr_writer *w = spool_writer(t->report);
    write_samples(w, &t->samples);
    fwr_hang_end(w, &(struct fwr_hang_end){.ending = ending,
                                           .duration_ns = duration,
                                           .starved_ns = t->starved,
                                           .samples = t->samples.taken});
    write_totals(m, w);
    spool_finish(t->report);
    t->report = NULL;
}

void hang_report_discard(struct fw_hang_monitor *m, struct hang_turn *t)
{
    if (!t->report)
        return;
    hang_count(&m->totals.reported, (uint64_t)-1);
    spool_discard(t->report);
    t->report = NULL;
}
