/*
 * Collecting answers on Linux (collect.h).
 *
 * Invariant: each question ends in exactly one of three ways: an answer is dealt out, the reason
 * why there is none is written down, or (only with either of these) its slot is left to a handler
 * that is still at it. Each has a deadline of its own; nothing here waits longer than that for
 * anybody.
 */
#include "capture/collect.h"

#include "capture/asleep.h"
#include "capture/slot.h"
#include "framewalk/capture.h"
#include "os/linux/doorbell.h"
#include "os/linux/sys.h"
#include "os/linux/tasks.h"

#include <errno.h>

/* A thread that is not in trouble answers within microseconds, or when it next gets a processor:
 * only then is it worth reading /proc to learn what is wrong, less and less often. One that sleeps
 * must be seen asleep twice, so that a short sleep, or a signal blocked for a moment (in our own
 * handler for another caller, for instance), is not taken for a state. */
enum { FIRST_LOOK_NS = 2000000, SECOND_LOOK_NS = 1000000 };

struct question {
    struct fw_thread *thread;
    int slot;
    uint64_t deadline;  /* monotonic, ns; the time of giving up */
    uint64_t look_at;   /* of the next look into /proc */
    uint64_t look_step; /* doubles */
    uint64_t switches;  /* of the thread at the last look, when it slept; else UINT64_MAX */
    bool rung;          /* a signal is on its way, or waits in the thread's queue */
    bool refused;       /* the system does not let us ring */
    bool opaque;        /* the kernel does not say where the thread sleeps */
};

struct collection {
    const struct collect_settings *settings;
    struct collect_room *room;
    int32_t pid;
    int collector;
    int signal;
    bool replaced; /* the handler was, and no other signal is free */
    unsigned count;
    struct question asked[SLOT_COUNT];
};

static void set_unavailable(struct fw_thread *thread, fw_unavailable reason)
{
    thread->stack = (struct fw_stack){
        .frames = thread->stack.frames, .end = FW_END_UNAVAILABLE, .unavailable = (uint8_t)reason};
}

static void remove_question(struct collection *c, unsigned i)
{
    c->asked[i] = c->asked[--c->count];
}

/* The slot holds the answer and is ours. */
static void settle_answer(struct collection *c, unsigned i)
{
    struct question *q = &c->asked[i];
    const struct slot *slot = slot_at(q->slot);
    q->thread->held_ns = slot->held_ns;
    collect_deal(c->room, &slot->stack, &q->thread->stack);
    slot_free(q->slot);
    remove_question(c, i);
}

/* There is no answer; a handler that comes late finds nothing to do. */
static void settle_unavailable(struct collection *c, unsigned i, fw_unavailable reason)
{
    struct question *q = &c->asked[i];
    enum slot_state state = slot_abandon(q->slot);
    if (state == SLOT_DONE) {
        settle_answer(c, i);
        return;
    }
    set_unavailable(q->thread, reason);
    if (state != SLOT_ORPHANED) {
        doorbell_note_waiting(q->thread->id, q->rung && reason != FW_UNAVAILABLE_EXITED);
        slot_free(q->slot);
    }
    remove_question(c, i);
}

static bool waits_in_queue(const struct collection *c, const struct task_status *status)
{
    return status->pending >> (c->signal - 1) & 1;
}

/* Rings unless an earlier ring still waits, which will do. False when there is no such thread. */
static bool ring(struct collection *c, struct question *q)
{
    fw_thread_id id = q->thread->id;
    if (doorbell_may_wait(id)) {
        struct task_status status;
        if (tasks_status(id, &status) == FW_OK && waits_in_queue(c, &status)) {
            q->rung = true;
            q->look_at = 0; /* it is known to block the signal */
            return true;
        }
        doorbell_note_waiting(id, false);
    }
    long result = doorbell_ring(c->pid, id, c->signal, (uint32_t)q->slot);
    q->rung = result == 0;
    q->refused = result == -EPERM || result == -ENOSYS;
    if (!q->rung)
        q->look_at = 0;
    return result != -ESRCH;
}

static void ask(struct collection *c, struct fw_thread *thread, int slot, uint64_t now)
{
    uint64_t timeout = c->settings->timeout_ns;
    struct question *q = &c->asked[c->count++];
    *q = (struct question){.thread = thread, .slot = slot, .deadline = now + timeout};
    q->switches = UINT64_MAX;
    q->look_step = timeout < FIRST_LOOK_NS ? timeout : FIRST_LOOK_NS;
    q->look_at = now + q->look_step;
    slot_post(slot, thread->id, c->settings->frames, c->settings->tail);
    if (!ring(c, q))
        settle_unavailable(c, c->count - 1, FW_UNAVAILABLE_EXITED);
}

static bool harvest(struct collection *c)
{
    unsigned before = c->count;
    for (unsigned i = c->count; i-- > 0;)
        if (slot_state(c->asked[i].slot) == SLOT_DONE)
            settle_answer(c, i);
    return c->count != before;
}

/* Reads the stack of a thread that sleeps in the kernel, while nobody can answer in its slot. One
 * that has slept since the last look is taken when it is whole, or when nothing better can come;
 * the last look takes what there is. */
static bool settle_asleep(struct collection *c, unsigned i, bool hopeless, bool last)
{
    struct question *q = &c->asked[i];
    fw_thread_id id = q->thread->id;
    if (q->opaque || !slot_withdraw(q->slot))
        return false;
    struct fw_stack *stack = &slot_at(q->slot)->stack;
    struct task_status status;
    fw_error error = asleep_capture(id, stack, &status);
    bool slept = error == FW_OK && status.switches == q->switches;
    if (error == FW_OK && (last || (slept && (hopeless || stack->end == FW_END_ROOT)))) {
        doorbell_note_waiting(id, q->rung);
        settle_answer(c, i);
        return true;
    }
    q->switches = error == FW_OK ? status.switches : UINT64_MAX;
    q->opaque = error == FW_ERR_UNSUPPORTED || error == FW_ERR_PERMISSION;
    slot_post(q->slot, id, c->settings->frames, c->settings->tail);

    /* A ring that came while there was no question is spent. */
    if (!q->refused && tasks_status(id, &status) == FW_OK && !waits_in_queue(c, &status))
        ring(c, q);
    return false;
}

/* The right reason for a thread that did not answer in time. */
static fw_unavailable reason_of(const struct collection *c, const struct question *q,
                                const struct task_status *status)
{
    if (c->replaced)
        return FW_UNAVAILABLE_REPLACED;
    if (q->refused)
        return FW_UNAVAILABLE_PERMISSION;
    if (status->blocked >> (c->signal - 1) & 1)
        return FW_UNAVAILABLE_BLOCKED;
    return status->state == 'D' ? FW_UNAVAILABLE_UNINTERRUPTIBLE : FW_UNAVAILABLE_TIMEOUT;
}

/* Finds out why a thread does not answer, and settles what can be settled. */
static void look(struct collection *c, unsigned i, uint64_t now)
{
    struct question *q = &c->asked[i];
    struct task_status status;
    fw_error error = tasks_status(q->thread->id, &status);
    if (error == FW_ERR_NOT_FOUND || status.state == 'Z' || status.state == 'X') {
        settle_unavailable(c, i, FW_UNAVAILABLE_EXITED);
        return;
    }
    bool last = now >= q->deadline;
    bool stopped = status.state == 'T' || status.state == 't';
    bool cannot = (status.blocked >> (c->signal - 1) & 1) || q->refused || c->replaced;
    if ((cannot || stopped || status.state == 'D') && settle_asleep(c, i, cannot || stopped, last))
        return;
    if (last) {
        settle_unavailable(c, i, reason_of(c, q, &status));
        return;
    }
    if (!q->rung && !q->refused)
        ring(c, q);
    q->look_step *= 2;
    uint64_t step = q->switches == UINT64_MAX ? q->look_step : SECOND_LOOK_NS;
    q->look_at = now + step < q->deadline ? now + step : q->deadline;
}

/* Somebody installed a handler of theirs over ours: asks again with another signal. */
static void mend_signal(struct collection *c)
{
    if (c->replaced || doorbell_is_ours(c->signal))
        return;
    c->replaced = doorbell_ensure(slot_answer, &c->signal) != FW_OK;
    for (unsigned i = c->count; !c->replaced && i-- > 0;)
        if (!ring(c, &c->asked[i]))
            settle_unavailable(c, i, FW_UNAVAILABLE_EXITED);
}

/* Sleeps until `answers` of those asked have answered, or one of them is to be looked at. */
static void wait_and_look(struct collection *c, uint32_t seen, uint32_t answers)
{
    uint64_t until = UINT64_MAX;
    for (unsigned i = 0; i < c->count; i++)
        if (c->asked[i].look_at < until)
            until = c->asked[i].look_at;
    slot_wait_answers(c->collector, seen, answers, until);
    harvest(c);

    uint64_t now = sys_monotonic_ns();
    if (now < until || c->count == 0)
        return;
    mend_signal(c);
    for (unsigned i = c->count; i-- > 0;)
        if (now >= c->asked[i].look_at)
            look(c, i, now);
}

/* The next thread to ask, from *next on; NULL when there is none. */
static struct fw_thread *next_thread(struct fw_thread *threads, size_t count, size_t *next)
{
    while (*next < count && threads[*next].is_self)
        (*next)++;
    return *next < count ? &threads[*next] : NULL;
}

static void collect_all(struct collection *c, struct fw_thread *threads, size_t count)
{
    size_t next = 0;
    uint64_t starved = 0; /* since when no slot could be had, and when that is too long */
    struct fw_thread *thread;
    while ((thread = next_thread(threads, count, &next)) || c->count) {
        uint32_t seen = slot_answers(c->collector);
        int slot;
        uint64_t now = thread ? sys_monotonic_ns() : 0;
        unsigned share = slot_share();
        while (thread && c->count < share && (slot = slot_take(c->collector)) >= 0) {
            ask(c, thread, slot, now);
            next++;
            thread = next_thread(threads, count, &next);
        }
        if (c->count == 0 && thread) { /* others hold all slots */
            starved = starved ? starved : now + c->settings->timeout_ns;
            if (!slot_wait_free(starved))
                break;
            continue;
        }
        starved = 0;
        /* With more to ask, half of the batch is reason enough to get up. */
        if (c->count && !harvest(c))
            wait_and_look(c, seen, thread ? (c->count + 1) / 2 : c->count);
    }
    for (; (thread = next_thread(threads, count, &next)); next++)
        set_unavailable(thread, FW_UNAVAILABLE_TIMEOUT);
}

/* What the handler calls is bound and warm before a thread is held for it. */
static void warm_up(void)
{
    static _Atomic int32_t done;
    if (done)
        return;
    struct fw_frame frame;
    struct fw_stack stack = {.frames = &frame, .capacity = 1};
    fw_capture(&stack, 0);
    done = 1;
}

fw_error collect_check(const struct collect_settings *settings)
{
    return settings->at_once ? FW_ERR_UNSUPPORTED : FW_OK;
}

fw_error collect_threads(struct fw_thread *threads, size_t count,
                         const struct collect_settings *settings, struct collect_room *room)
{
    struct collection c = {.settings = settings, .room = room, .pid = sys_getpid()};
    size_t first = 0;
    struct fw_thread *thread = next_thread(threads, count, &first);
    if (!thread)
        return FW_OK;
    fw_error error = doorbell_ensure(slot_answer, &c.signal);
    if (error != FW_OK)
        return error;
    warm_up();
    doorbell_set_process(c.pid);
    c.collector = slot_enter(c.pid, sys_monotonic_ns() + settings->timeout_ns);
    if (c.collector < 0) {
        for (; (thread = next_thread(threads, count, &first)); first++)
            set_unavailable(thread, FW_UNAVAILABLE_TIMEOUT);
        return FW_OK;
    }
    collect_all(&c, threads, count);
    slot_leave(c.collector);
    return FW_OK;
}

int fw_threads_signal(void)
{
    return doorbell_number();
}

fw_error fw_threads_set_signal(int signal)
{
    int chosen;
    return signal ? doorbell_choose(slot_answer, signal) : doorbell_ensure(slot_answer, &chosen);
}
