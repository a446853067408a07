/* Decisions of the hang monitor, step by step on a clock turned by hand. */
#include "watch/hand_clock.h"
#include "watch/hang_sites.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hand hand;

#define assert_about(value, wanted, off)                                                           \
    assert_in_range(value, (wanted) > (off) ? (wanted) - (off) : 0, (wanted) + (off))

enum { TICK = HAND_TICK_MS * 1000000 + 100000 }; /* what a begin may be early by */

static struct fw_hang_watch *start(struct fw_hang_options options)
{
    hand_start(&hand, options);
    return hand_watch(&hand, "main");
}

static void short_turns_are_no_hangs(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    for (unsigned i = 0; i < 1000; i++)
        hand_turn(&hand, watch, 100 * MS, 5 * MS);
    assert_int_equal(hand.sampled, 0);
    for (unsigned i = 0; i < 100; i++)
        hand_turn(&hand, watch, 240 * MS, 5 * MS);
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.hangs, 0);
    assert_int_equal(hand.events, 0);
    assert_true(totals.samples >= 100); /* they were looked at */
    for (unsigned i = 0; i < FW_HANG_VETOES; i++)
        assert_int_equal(totals.vetoed[i], 0);
    hand_end(&hand);
}

static void a_hang_is_told_twice(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_pass(&hand, 10000 * MS + 1234567);
    const uint64_t began = hand.now, wall = hand.wall_ms + hand.now / MS;
    hand_turn(&hand, watch, 777 * MS, 1000 * MS);
    assert_int_equal(hand.events, 2);
    assert_false(hand.event[0].ended);
    assert_about(hand.event[0].at - began, 250 * MS, TICK);
    assert_about(hand.event[0].duration_ns, 250 * MS, TICK);
    assert_true(hand.event[1].ended);
    assert_about(hand.event[1].duration_ns, 777 * MS, TICK);
    assert_about(hand.event[1].started_ms, wall, HAND_TICK_MS + 1);
    assert_false(hand.event[1].severe);
    assert_string_equal(hand.event[1].watch, "main");
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.hangs, 1);
    assert_int_equal(totals.severe, 0);
    assert_int_equal(totals.hang_ns, hand.event[1].duration_ns);
    assert_int_equal(totals.longest_ns, hand.event[1].duration_ns);
    assert_int_equal(totals.by_duration[3], 1);
    hand_end(&hand);
}

/* The threshold itself, for several of them: below it nothing, above it one. */
static void thresholds(void **state)
{
    (void)state;
    static const uint32_t ms[] = {50, 100, 250, 2000, 10000};
    for (unsigned i = 0; i < sizeof ms / sizeof ms[0]; i++) {
        struct fw_hang_watch *watch = start((struct fw_hang_options){.threshold_ms = ms[i]});
        hand_turn(&hand, watch, (ms[i] - HAND_TICK_MS - 1) * MS, 3 * MS);
        assert_int_equal(hand_totals(&hand).hangs, 0);
        hand_turn(&hand, watch, ms[i] * MS, 3 * MS);
        assert_int_equal(hand_totals(&hand).hangs, 1);
        hand_end(&hand);
    }
}

/* The monitor's own work, when a hang has ended, is no standstill: another thread hangs on. */
static void a_slow_disk_excuses_nobody(void **state)
{
    (void)state;
    struct fw_hang_watch *first = start((struct fw_hang_options){0});
    struct fw_hang_watch *second = hand_watch(&hand, "second");
    const uint64_t began = hand.now;
    fw_hang_busy(first);
    fw_hang_busy(second);
    hand_pass(&hand, 400 * MS);
    assert_int_equal(hand.events, 2);
    fw_hang_idle(first);
    hand.told_takes = 1000 * MS;
    hand_pass(&hand, 10 * MS);
    assert_int_equal(hand.events, 3);
    hand.told_takes = 0;
    hand_pass(&hand, 500 * MS);
    const uint64_t lasted = hand.now - began;
    fw_hang_idle(second);
    hand_pass(&hand, 10 * MS);
    assert_int_equal(hand.events, 4);
    assert_about(hand.event[3].duration_ns, lasted, TICK);
    hand_end(&hand);
}

static void options_are_checked(void **state)
{
    (void)state;
    struct fw_hang_monitor *monitor;
    static const struct fw_hang_options wrong[] = {
        {.threshold_ms = 49},
        {.threshold_ms = 250, .severe_ms = 249},
        {.threshold_ms = 250, .sample_from_ms = 251},
        {.interval_ms = 4},
        {.frames = 257},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct fw_hang_options options = wrong[i];
        options.size = sizeof options;
        assert_int_equal(fw_hang_start(&options, &monitor), FW_ERR_ARGUMENT);
    }
    assert_int_equal(fw_hang_start(&(struct fw_hang_options){.size = 3}, &monitor),
                     FW_ERR_ARGUMENT);
    assert_int_equal(fw_hang_start(NULL, NULL), FW_ERR_ARGUMENT);
}

/* Samples begin where they are asked to, also when that is late. */
static void sampling_begins(void **state)
{
    (void)state;
    static const uint32_t from[] = {20, 125, 240};
    for (unsigned i = 0; i < 3; i++) {
        struct fw_hang_watch *watch = start((struct fw_hang_options){.sample_from_ms = from[i]});
        const uint64_t began = hand.now;
        hand_turn(&hand, watch, 500 * MS, 0);
        assert_about(hand.sampled_at[0] - began, from[i] * MS, TICK);
        assert_about(hand.monitor->turns[0].samples.first, from[i] * MS, TICK);
        hand_end(&hand);
    }
}

static uint64_t weight_of(uint64_t where)
{
    const struct hang_samples *samples = &hand.monitor->turns[0].samples;
    uint64_t sum = 0;
    for (uint32_t r = 0; r < samples->run_count; r++)
        if (!where || samples->stacks[samples->runs[r].stack].frames[0].address == where)
            sum += samples->runs[r].weight;
    return sum;
}

static uint64_t busy_began;
static uint64_t mostly_a(const struct hand *h) /* 99 ms in A, 1 ms in B */
{
    return (h->now - busy_began) % (100 * MS) < 99 * MS ? 0x3000 : 0x4000;
}

static void weights_blame_the_right_one(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.where_at = mostly_a;
    uint64_t a = 0, b = 0;
    for (unsigned i = 0; i < 50; i++) {
        busy_began = hand.now;
        hand_turn(&hand, watch, 2000 * MS, 20 * MS);
        const struct hang_samples *samples = &hand.monitor->turns[0].samples;
        /* to the nanosecond: all time from the first sample to the end */
        assert_int_equal(weight_of(0), samples->last - samples->first);
        assert_about(samples->last, 2000 * MS, TICK);
        assert_int_equal(hang_samples_heaviest(samples)->frames[0].address, 0x3000);
        a += weight_of(0x3000);
        b += weight_of(0x4000);
    }
    assert_in_range(b * 1000 / (a + b), 1, 40); /* 10 of 1,000 are true */
    hand_end(&hand);
}

static uint64_t a_then_b(const struct hand *h)
{
    return h->now - busy_began < 600 * MS ? 0x3000 : 0x4000;
}

static void runs_are_merged_and_placed(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.where_at = a_then_b;
    busy_began = hand.now;
    hand_turn(&hand, watch, 1000 * MS, 0);
    const struct hang_samples *samples = &hand.monitor->turns[0].samples;
    assert_int_equal(samples->run_count, 2);
    assert_int_equal(samples->runs[0].count + samples->runs[1].count, hand.sampled);
    assert_about(samples->runs[0].weight, 475 * MS, 60 * MS);
    assert_about(samples->runs[1].at, 600 * MS, 110 * MS);
    assert_about(samples->runs[1].weight, 400 * MS, 60 * MS);
    hand_end(&hand);
}

static uint64_t always_new(const struct hand *h)
{
    return 0x100000 + h->sampled * 16;
}

/* An hour with another stack each time: few samples, fixed memory, the whole time accounted for. */
static void a_long_hang_is_thinned_out(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.where_at = always_new;
    hand_turn(&hand, watch, 3600 * 1000 * MS, 0);
    const struct hang_samples *samples = &hand.monitor->turns[0].samples;
    assert_in_range(hand.sampled, 100, 1000);
    assert_int_equal(samples->taken, hand.sampled);
    assert_true(samples->run_count <= HANG_RUNS && samples->stack_count <= HANG_STACKS);
    assert_int_equal(weight_of(0), samples->last - samples->first);
    uint64_t count = 0;
    for (uint32_t r = 0; r < samples->run_count; r++)
        count += samples->runs[r].count;
    assert_int_equal(count, hand.sampled);
    hand_end(&hand);
}

static void sampling_backs_off(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_turn(&hand, watch, 60000 * MS, 0); /* the same stack for a minute */
    assert_in_range(hand.sampled, 20, 120);
    for (unsigned i = 1; i + 1 < hand.sampled; i++) {
        const uint64_t gap = hand.sampled_at[i + 1] - hand.sampled_at[i];
        assert_in_range(gap, 7 * MS, 60000 / 64 * 8 * MS * 5 / 4);
    }
    hand_end(&hand);
}

static void severe_is_counted_once(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){.severe_ms = 1000});
    hand_turn(&hand, watch, 900 * MS, 10 * MS);
    assert_int_equal(hand_totals(&hand).severe, 0);
    fw_hang_busy(watch);
    hand_pass(&hand, 1500 * MS);
    assert_int_equal(hand_totals(&hand).severe, 1); /* already while it lasts */
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    assert_int_equal(hand_totals(&hand).severe, 1);
    assert_true(hand.event[hand.events - 1].severe);
    hand_end(&hand);
}

static void totals_count_a_hang_that_lasts(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 5000 * MS);
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.hangs, 1);
    assert_about(totals.hang_ns, 5000 * MS, TICK);
    assert_about(totals.longest_ns, 5000 * MS, TICK);
    hang_close(hand.monitor); /* stopped meanwhile: as it stands */
    assert_int_equal(hand.events, 2);
    assert_about(hand.event[1].duration_ns, 5000 * MS, TICK);
    hand_end(&hand);
}

static void an_idle_program_is_left_alone(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_turn(&hand, watch, MS, 1000 * MS);
    const unsigned steps = hand.steps;
    assert_int_equal(hand.deadline, UINT64_MAX);
    hand_pass(&hand, UINT64_C(86400000) * MS);
    assert_int_equal(hand.steps, steps);
    fw_hang_busy(watch);
    assert_true(hand.seen != hand.monitor->bell); /* woken */
    hand_pass(&hand, 300 * MS);
    assert_int_equal(hand_totals(&hand).hangs, 1);
    hand_end(&hand);
}

/* A thread that looked too early does not ring; the look before sleeping for ever finds it. */
static void a_missed_wish_is_no_missed_hang(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_turn(&hand, watch, MS, 0);
    while (hand.monitor->quiet != 1)
        hand_pass(&hand, MS);
    watch->want = 0; /* as the thread still saw it */
    fw_hang_busy(watch);
    assert_true(hand.seen == hand.monitor->bell);
    assert_true(hand.deadline != UINT64_MAX);
    hand_pass(&hand, 300 * MS);
    assert_int_equal(hand_totals(&hand).hangs, 1);
    watch->want = 0; /* nor is the end told: the next sample finds it */
    fw_hang_idle(watch);
    hand_pass(&hand, 100 * MS);
    assert_int_equal(hand.events, 2);
    assert_in_range(hand.event[1].duration_ns, 300 * MS, 400 * MS);
    hand_end(&hand);
}

/* Ten loops of a thousand turns a second: a look each half threshold, however many turns. */
static void busy_loops_cost_few_wakeups(void **state)
{
    (void)state;
    struct fw_hang_watch *watch[10];
    watch[0] = start((struct fw_hang_options){0});
    for (unsigned i = 1; i < 10; i++)
        watch[i] = hand_watch(&hand, "loop");
    const unsigned before = hand.steps;
    for (unsigned ms = 0; ms < 10000; ms++) {
        for (unsigned i = 0; i < 10; i++)
            fw_hang_busy(watch[i]);
        hand_pass(&hand, MS / 2);
        for (unsigned i = 0; i < 10; i++)
            fw_hang_idle(watch[i]);
        hand_pass(&hand, MS / 2);
    }
    assert_in_range(hand.steps - before, 70, 120);
    assert_int_equal(hand.sampled, 0);
    hand_end(&hand);
}

static void consecutive_hangs(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    for (unsigned i = 0; i < 3; i++) { /* busy while busy: the next turn */
        fw_hang_busy(watch);
        hand_pass(&hand, (300 + i * 100) * MS);
    }
    fw_hang_idle(watch);
    hand_pass(&hand, 1);
    assert_int_equal(hand.events, 6);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(hand.event[2 * i + 1].ended);
        assert_about(hand.event[2 * i + 1].duration_ns, (300 + i * 100) * MS, TICK);
    }
    assert_int_equal(hand_totals(&hand).hangs, 3);
    hand_end(&hand);
}

/* A dialog's own loop inside a callback: each wait is idle, each return begins a turn. */
static void nested_loops(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 50 * MS);
    for (unsigned i = 0; i < 100; i++) { /* inside: 10 s of waits and short turns */
        fw_hang_idle(watch);
        hand_pass(&hand, 90 * MS);
        fw_hang_busy(watch);
        hand_pass(&hand, 10 * MS);
    }
    hand_pass(&hand, 190 * MS); /* back in the outer callback */
    fw_hang_idle(watch);
    hand_pass(&hand, 1000 * MS);
    assert_int_equal(hand_totals(&hand).hangs, 0);
    hand_end(&hand);
}

static void idle_while_idle_is_nothing(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_idle(watch);
    fw_hang_idle(watch);
    fw_hang_busy(NULL);
    fw_hang_idle(NULL);
    hand_turn(&hand, watch, 300 * MS, 0);
    fw_hang_idle(watch);
    hand_pass(&hand, 1000 * MS);
    assert_int_equal(hand.events, 2);
    hand_end(&hand);
}

static void unwatched_in_a_hang(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 400 * MS);
    fw_hang_unwatch(watch);
    struct fw_hang_watch *other; /* the same place, before the monitor looked */
    assert_int_equal(fw_hang_watch_thread(hand.monitor, fw_thread_self(), "other", &other), FW_OK);
    assert_ptr_equal(other, watch);
    fw_hang_busy(other);
    hand_pass(&hand, 300 * MS);
    fw_hang_idle(other);
    hand_pass(&hand, 10 * MS);
    assert_int_equal(hand.events, 4);
    assert_string_equal(hand.event[1].watch, "main");
    assert_about(hand.event[1].duration_ns, 400 * MS, TICK);
    assert_string_equal(hand.event[3].watch, "other");
    assert_about(hand.event[3].duration_ns, 300 * MS, TICK);
    hand_end(&hand);
}

static void places_are_limited_and_reused(void **state)
{
    (void)state;
    struct fw_hang_watch *watch[FW_HANG_WATCHES], *more;
    hand_start(&hand, (struct fw_hang_options){0});
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < FW_HANG_WATCHES; i++)
            watch[i] = hand_watch(&hand, "one of many, with a name that is far longer than the "
                                         "sixty-three bytes that are kept of it");
        assert_int_equal(fw_hang_watch_thread(hand.monitor, fw_thread_self(), "", &more),
                         FW_ERR_FULL);
        hand_turn(&hand, watch[63], 300 * MS, 10 * MS);
        assert_int_equal(strlen(hand.event[0].watch), 63);
        for (unsigned i = 0; i < FW_HANG_WATCHES; i++)
            fw_hang_unwatch(watch[i]);
    }
    assert_int_equal(hand_totals(&hand).hangs, 3);
    assert_int_equal(fw_hang_watch_thread(hand.monitor, 0x7ffffff0, "", &more), FW_ERR_NOT_FOUND);
    hand_end(&hand);
}

/* Its thread ended in the middle of a turn and nobody unwatched it. */
static void a_thread_that_is_gone(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 50 * MS);
    hand.sample_error = FW_ERR_NOT_FOUND;
    hand_pass(&hand, 60000 * MS);
    assert_int_equal(hand_totals(&hand).hangs, 0);
    assert_int_equal(hand.sampled, 1);
    assert_int_equal(hand.deadline, UINT64_MAX);
    hand_end(&hand);
}

static struct fw_hang_watch *ends_in_sample;
static void end_it(struct hand *h)
{
    (void)h;
    if (ends_in_sample)
        fw_hang_idle(ends_in_sample);
    ends_in_sample = NULL;
}

/* The turn ends while its stack is taken: that stack is nobody's. */
static void a_sample_that_comes_too_late(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.in_sample = end_it;
    ends_in_sample = watch;
    hand_turn(&hand, watch, 600 * MS, 0);
    assert_int_equal(hand_totals(&hand).samples, 0);
    assert_int_equal(hand_totals(&hand).hangs, 0);
    hand_end(&hand);
}

/* No stack can be had: a hang all the same. */
static void without_stacks(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.where = 0;
    hand_turn(&hand, watch, 600 * MS, 0);
    assert_int_equal(hand_totals(&hand).hangs, 1);
    assert_true(hand.monitor->turns[0].samples.taken > 3);
    hand_end(&hand);
}

/* A day of an interactive program: millions of turns below the threshold, pauses of all
 * lengths, and the machine asleep now and then. */
static void a_day_without_false_alarms(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    const uint64_t end = hand.now + UINT64_C(86400000) * MS;
    unsigned turns = 0;
    srand(1);
    while (hand.now < end) {
        const unsigned burst = 200 + (unsigned)rand() % 2000;
        for (unsigned i = 0; i < burst; i++, turns++)
            hand_turn(&hand, watch, (unsigned)rand() % 20000000, (unsigned)rand() % 20000000);
        hand_turn(&hand, watch, (unsigned)rand() % 245 * MS, (unsigned)rand() % 10000 * MS);
        if (rand() % 8 == 0)
            hand_suspend(&hand, (unsigned)rand() % 1000000 * MS);
        if (rand() % 8 == 0)
            hand_freeze(&hand, (unsigned)rand() % 100000 * MS);
        if (rand() % 8 == 0)
            hand.wall_ms += (unsigned)rand() % 1000000 - 500000u;
    }
    assert_true(turns > 2500000);
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.hangs, 0);
    assert_int_equal(hand.events, 0);
    hand_end(&hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_turns_are_no_hangs),
        cmocka_unit_test(a_hang_is_told_twice),
        cmocka_unit_test(thresholds),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(a_slow_disk_excuses_nobody),
        cmocka_unit_test(sampling_begins),
        cmocka_unit_test(weights_blame_the_right_one),
        cmocka_unit_test(runs_are_merged_and_placed),
        cmocka_unit_test(a_long_hang_is_thinned_out),
        cmocka_unit_test(sampling_backs_off),
        cmocka_unit_test(severe_is_counted_once),
        cmocka_unit_test(totals_count_a_hang_that_lasts),
        cmocka_unit_test(an_idle_program_is_left_alone),
        cmocka_unit_test(a_missed_wish_is_no_missed_hang),
        cmocka_unit_test(busy_loops_cost_few_wakeups),
        cmocka_unit_test(consecutive_hangs),
        cmocka_unit_test(nested_loops),
        cmocka_unit_test(idle_while_idle_is_nothing),
        cmocka_unit_test(unwatched_in_a_hang),
        cmocka_unit_test(places_are_limited_and_reused),
        cmocka_unit_test(a_thread_that_is_gone),
        cmocka_unit_test(a_sample_that_comes_too_late),
        cmocka_unit_test(without_stacks),
        cmocka_unit_test(a_day_without_false_alarms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
