#include "watch/hand_clock.h"

#include "watch/hang_sites.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint64_t now(void *context)
{
    return ((struct hand *)context)->now;
}

static uint64_t coarse(void *context)
{
    const uint64_t at = ((struct hand *)context)->now;
    return at - at % (HAND_TICK_MS * MS);
}

static uint64_t continuous(void *context)
{
    const struct hand *hand = context;
    return hand->now + hand->asleep;
}

static uint64_t wall_ms(void *context)
{
    const struct hand *hand = context;
    return hand->wall_ms + (hand->now + hand->asleep) / MS;
}

static void no_sleep(void *context, uint32_t *word, uint32_t seen, uint64_t deadline)
{
    (void)context;
    (void)word;
    (void)seen;
    (void)deadline;
    fail_msg("the core does not sleep");
}

static void wake(void *context, uint32_t *word)
{
    (void)context;
    (void)word;
}

static fw_error sample(void *context, fw_thread_id thread, struct fw_stack *stack)
{
    struct hand *hand = context;
    (void)thread;
    if (hand->sampled < 1024)
        hand->sampled_at[hand->sampled] = hand->now;
    hand->sampled++;
    if (hand->in_sample)
        hand->in_sample(hand);
    hand->now += hand->sample_takes;
    const uint64_t where = hand->where_at ? hand->where_at(hand) : hand->where;
    if (where == 0) {
        stack->end = FW_END_UNAVAILABLE;
        stack->unavailable = FW_UNAVAILABLE_TIMEOUT;
        return hand->sample_error;
    }
    stack->frames[0] = (struct fw_frame){.address = where, .kind = FW_FRAME_EXACT};
    stack->frames[1] = (struct fw_frame){.address = 0x2000, .kind = FW_FRAME_RETURN};
    stack->frames[2] = (struct fw_frame){.address = 0x1000, .kind = FW_FRAME_RETURN};
    stack->count = stack->head = 3;
    stack->end = FW_END_ROOT;
    stack->id = fw_stack_id(stack->frames, 3);
    return hand->sample_error;
}

static void load(void *context, fw_thread_id thread, struct hang_load *load)
{
    struct hand *hand = context;
    (void)thread;
    const uint64_t passed = hand->now - hand->loaded;
    hand->loaded = hand->now;
    hand->load.cpu_ns += passed * hand->run_share / 100;
    hand->load.delay_ns += passed - passed * hand->run_share / 100;
    *load = hand->load;
}

static uint64_t waited(void *context)
{
    return ((struct hand *)context)->waited;
}

static bool debugged(void *context)
{
    return ((struct hand *)context)->debugged;
}

static void on_hang(void *context, const struct fw_hang_event *event)
{
    struct hand *hand = context;
    hand->now += hand->told_takes;
    if (hand->events >= HAND_EVENTS)
        return;
    struct hand_event *e = &hand->event[hand->events++];
    *e = (struct hand_event){
        event->duration_ns, event->started_ms, hand->now, event->ended, event->severe, "", ""};
    strcpy(e->watch, event->watch);
    strcpy(e->report_id, event->report_id);
}

static struct watch_clock clock_of(struct hand *hand)
{
    return (struct watch_clock){.now = now,
                                .coarse = coarse,
                                .continuous = continuous,
                                .wall_ms = wall_ms,
                                .sleep = no_sleep,
                                .wake = wake,
                                .context = hand};
}

static struct watch_clock the_clock;
static struct hang_system the_system;

static void step(struct hand *hand)
{
    hand->seen = hand->monitor->bell;
    hand->deadline = hang_step(hand->monitor);
    hand->steps++;
}

void hand_start(struct hand *hand, struct fw_hang_options options)
{
    memset(hand, 0, sizeof *hand);
    hand->now = 1000 * MS;
    hand->wall_ms = UINT64_C(1790000000000);
    hand->where = 0x3000;
    hand->run_share = 100;
    the_clock = clock_of(hand);
    the_system = (struct hang_system){
        .sample = sample, .load = load, .waited = waited, .debugged = debugged, .context = hand};
    options.size = sizeof options;
    options.on_hang = on_hang;
    options.context = hand;
    assert_int_equal(hang_create(&options, &the_clock, &the_system, &hand->monitor), FW_OK);
    assert_true(hang_sites_add(HAND_WAIT, HAND_WAIT_END));
    step(hand);
}

void hand_end(struct hand *hand)
{
    hang_close(hand->monitor);
    hang_destroy(hand->monitor);
}

struct fw_hang_watch *hand_watch(struct hand *hand, const char *name)
{
    struct fw_hang_watch *watch;
    assert_int_equal(fw_hang_watch_thread(hand->monitor, fw_thread_self(), name, &watch), FW_OK);
    hand_pass(hand, 1);
    return watch;
}

void hand_pass(struct hand *hand, uint64_t ns)
{
    const uint64_t end = hand->now + ns;
    for (;;) {
        if (hand->seen != hand->monitor->bell) {
            step(hand);
            continue;
        }
        if (hand->deadline > end)
            break;
        if (hand->deadline > hand->now)
            hand->now = hand->deadline;
        step(hand);
    }
    if (hand->now < end)
        hand->now = end;
}

void hand_freeze(struct hand *hand, uint64_t ns)
{
    hand->now += ns;
}

void hand_starve(struct hand *hand, uint64_t ns)
{
    const uint64_t end = hand->now + ns;
    if (hand->seen == hand->monitor->bell && hand->deadline > end) {
        hand->now = end; /* it sleeps all the time */
        return;
    }
    if (hand->seen == hand->monitor->bell && hand->deadline > hand->now)
        hand->now = hand->deadline;
    hand->waited += end - hand->now;
    hand->now = end;
}

void hand_suspend(struct hand *hand, uint64_t ns)
{
    hand->asleep += ns;
}

void hand_turn(struct hand *hand, struct fw_hang_watch *watch, uint64_t ns, uint64_t idle_ns)
{
    fw_hang_busy(watch);
    hand_pass(hand, ns);
    fw_hang_idle(watch);
    hand_pass(hand, idle_ns);
}

struct fw_hang_totals hand_totals(const struct hand *hand)
{
    struct fw_hang_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_hang_totals(hand->monitor, &totals), FW_OK);
    return totals;
}
