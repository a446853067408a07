/* What is no hang, on a clock turned by hand; and the scenarios that hang trackers of the field
 * test themselves with. */
#include "watch/hand_clock.h"
#include "watch/hang_sites.h"
#include "watch/hang_veto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct hand hand;
#define assert_about(value, wanted, off)                                                           \
    assert_in_range(value, (wanted) > (off) ? (wanted) - (off) : 0, (wanted) + (off))
enum { TICK = HAND_TICK_MS * 1000000 + 100000 };

static struct fw_hang_watch *start(struct fw_hang_options options)
{
    hand_start(&hand, options);
    return hand_watch(&hand, "main");
}

/* Ends the scenario: so many hangs, and one veto of `veto` unless that is NONE. */
static void expect(uint64_t hangs, fw_hang_veto veto)
{
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.hangs, hangs);
    for (unsigned i = 1; i < FW_HANG_VETOES; i++)
        assert_int_equal(totals.vetoed[i], i == (unsigned)veto);
    assert_int_equal(hand.events, 2 * hangs);
    hand_end(&hand);
}

/* Stopped for any time, at any moment of a short turn. */
static void stopped(void **state)
{
    (void)state;
    static const uint64_t at[] = {0, 20, 100, 124, 130, 200};
    static const uint64_t ms[] = {250, 500, 1000, 10000, 3600000};
    for (unsigned a = 0; a < 6; a++)
        for (unsigned i = 0; i < 5; i++) {
            struct fw_hang_watch *watch = start((struct fw_hang_options){0});
            fw_hang_busy(watch);
            hand_pass(&hand, at[a] * MS);
            hand_freeze(&hand, ms[i] * MS);
            hand_pass(&hand, 15 * MS);
            fw_hang_idle(watch);
            hand_pass(&hand, 1000 * MS);
            assert_int_equal(hand_totals(&hand).hangs, 0);
            assert_int_equal(hand.events, 0);
            hand_end(&hand);
        }
}

static void stopped_is_counted(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 140 * MS);
    hand_freeze(&hand, 5000 * MS);
    hand_pass(&hand, 50 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    expect(0, FW_HANG_VETO_STOPPED);
}

/* Woken by the first mark after a long sleep, but stopped before it could look. */
static void stopped_at_the_bell(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_pass(&hand, 10000 * MS);
    assert_int_equal(hand.deadline, UINT64_MAX);
    fw_hang_busy(watch);
    hand_freeze(&hand, 60000 * MS);
    hand_pass(&hand, 130 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    expect(0, FW_HANG_VETO_STOPPED);
}

/* Stopped while the monitor itself takes a sample. */
static void freeze_once(struct hand *h)
{
    if (h->sampled == 2)
        hand_freeze(h, 60000 * MS);
}

static void stopped_in_a_sample(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.in_sample = freeze_once;
    fw_hang_busy(watch);
    hand_pass(&hand, 220 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    expect(0, FW_HANG_VETO_STOPPED);
}

/* Stopped for a while in a real hang: found, and the stop is not in its duration. */
static void stopped_in_a_hang(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 400 * MS);
    hand_freeze(&hand, 60000 * MS);
    hand_pass(&hand, 400 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    assert_about(hand.event[1].duration_ns, 800 * MS, TICK + 100 * MS);
    expect(1, FW_HANG_VETO_NONE);
}

static void the_machine_slept(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 150 * MS);
    hand_suspend(&hand, 3600000 * MS);
    hand_pass(&hand, 200 * MS); /* the turn counts anew from there */
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    expect(0, FW_HANG_VETO_STOPPED);

    watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 150 * MS);
    hand_suspend(&hand, 3600000 * MS);
    hand_pass(&hand, 900 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    expect(1, FW_HANG_VETO_NONE);
}

static void debugged(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.debugged = true;
    hand_turn(&hand, watch, 5000 * MS, 10 * MS);
    expect(0, FW_HANG_VETO_DEBUGGED);

    watch = start((struct fw_hang_options){.watch_debugged = true});
    hand.debugged = true;
    hand_turn(&hand, watch, 5000 * MS, 10 * MS);
    expect(1, FW_HANG_VETO_NONE);
}

static void background(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_set_background(hand.monitor, true);
    hand_turn(&hand, watch, 5000 * MS, 10 * MS);
    expect(0, FW_HANG_VETO_BACKGROUND);

    watch = start((struct fw_hang_options){0}); /* goes and comes back within one turn */
    fw_hang_busy(watch);
    hand_pass(&hand, 100 * MS);
    fw_hang_set_background(hand.monitor, true);
    hand_pass(&hand, 1);
    fw_hang_set_background(hand.monitor, false);
    hand_pass(&hand, 1000 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    hand_turn(&hand, watch, 1000 * MS, 10 * MS); /* the next one counts */
    expect(1, FW_HANG_VETO_BACKGROUND);
}

static void starved_as_the_kernel_counts(void **state)
{
    (void)state;
    for (unsigned counted = 0; counted < 2; counted++) {
        struct fw_hang_watch *watch = start((struct fw_hang_options){0});
        hand.load = (struct hang_load){.known = true, .has_delay = counted, .runnable = true};
        hand.run_share = 5;
        hand_turn(&hand, watch, 900 * MS, 10 * MS);
        expect(0, FW_HANG_VETO_STARVED);

        watch = start((struct fw_hang_options){.keep_starved = true});
        hand.load = (struct hang_load){.known = true, .has_delay = counted, .runnable = true};
        hand.run_share = 5;
        hand_turn(&hand, watch, 900 * MS, 10 * MS);
        assert_about(hand.event[1].duration_ns, 900 * MS, TICK);
        assert_about(hand.monitor->turns[0].starved, 700 * MS, 60 * MS);
        expect(1, FW_HANG_VETO_NONE);

        watch = start((struct fw_hang_options){0}); /* half of it is its own doing */
        hand.load = (struct hang_load){.known = true, .has_delay = counted, .runnable = true};
        hand.run_share = 50;
        hand_turn(&hand, watch, 2000 * MS, 10 * MS);
        assert_about(hand.event[1].duration_ns, 2000 * MS, TICK);
        expect(1, FW_HANG_VETO_NONE);
    }
}

static uint64_t starved(struct hang_load a, struct hang_load b, uint64_t elapsed)
{
    struct hang_starving s = {.before = 5};
    assert_int_equal(hang_starving_look(&s, &a, 100), 5);
    return hang_starving_look(&s, &b, 100 + elapsed) - 5;
}

static void starving_is_not_guessed(void **state)
{
    (void)state;
    const struct hang_load a = {.known = true, .runnable = true, .cpu_ns = 100, .voluntary = 7};
    struct hang_load b = a;
    b.cpu_ns = 150;
    assert_int_equal(starved(a, b, 1000), 950);
    b.voluntary = 8; /* it slept in between */
    assert_int_equal(starved(a, b, 1000), 0);
    b = a;
    b.runnable = false;
    assert_int_equal(starved(a, b, 1000), 0);
    b = a;
    b.known = false;
    assert_int_equal(starved(a, b, 1000), 0);
    b = a;
    b.cpu_ns = 0; /* a clock that goes back */
    assert_int_equal(starved(a, b, 1000), 1000);
    b.cpu_ns = 5000;
    assert_int_equal(starved(a, b, 1000), 0);
    const struct hang_load c = {.known = true, .has_delay = true, .delay_ns = 10};
    const struct hang_load d = {.known = true, .has_delay = true, .delay_ns = 410};
    assert_int_equal(starved(c, d, 1000), 400);
    assert_int_equal(starved(c, d, 300), 300);
    assert_int_equal(starved(d, c, 1000), 0);
}

/* The kernel's count comes late and all at once: nothing is counted twice. */
static void starving_is_counted_once(void **state)
{
    (void)state;
    struct hang_starving s = {.before = 0};
    struct hang_load load = {.known = true, .has_delay = true, .runnable = true};
    hang_starving_look(&s, &load, 1000);
    assert_int_equal(hang_starving_look(&s, &load, 2000), 1000);
    assert_int_equal(hang_starving_look(&s, &load, 3000), 2000);
    load.delay_ns = 2000;
    load.cpu_ns = 900;
    assert_int_equal(hang_starving_look(&s, &load, 3900), 2000);
    hang_starving_leave_out(&s, 5100);
    hang_starving_look(&s, &load, 9000);
    load.delay_ns += 50;
    load.cpu_ns += 100;
    load.voluntary++;
    assert_int_equal(hang_starving_look(&s, &load, 10000), 2050);
}

/* Left out is what we slept ourselves: around it the thread starved all the same, and not twice. */
static void starving_goes_on_around_what_is_left_out(void **state)
{
    (void)state;
    struct hang_starving s = {.before = 0};
    struct hang_load load = {.known = true, .has_delay = true, .runnable = true};
    hang_starving_look(&s, &load, 1000);
    hang_starving_leave_out(&s, 600);
    assert_int_equal(hang_starving_look(&s, &load, 2000), 400);
    hang_starving_leave_out(&s, 700);
    load.delay_ns = 800; /* of which 700 may be those left out */
    load.cpu_ns = 150;
    load.voluntary++;
    assert_int_equal(hang_starving_look(&s, &load, 3000), 400);
}

/* A mark was missed: the loop waits, whatever was said. Hours of it, and few looks. */
static void idle_stack(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.where = HAND_WAIT + 0x10;
    hand_turn(&hand, watch, 3600000 * MS, 10 * MS);
    assert_in_range(hand.sampled, 2, 3600 / 8 + 20);
    expect(0, FW_HANG_VETO_IDLE_STACK);
}

/* And then it does hang, without a mark: only that counts. */
static void idle_stack_then_hang(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.where = HAND_WAIT + 0x10;
    fw_hang_busy(watch);
    hand_pass(&hand, 20000 * MS);
    hand.where = 0x3000;
    hand_pass(&hand, 15000 * MS);
    assert_int_equal(hand.events, 1);
    hand.where = HAND_WAIT + 0x10; /* it is over, and again nobody says so */
    hand_pass(&hand, 20000 * MS);
    assert_int_equal(hand.events, 2);
    assert_in_range(hand.event[1].duration_ns, 7000 * MS, 25000 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    expect(1, FW_HANG_VETO_IDLE_STACK);
}

static void told_without_stacks_then_idle(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.where = 0;
    fw_hang_busy(watch);
    hand_pass(&hand, 400 * MS);
    assert_int_equal(hand_totals(&hand).hangs, 1);
    hand.where = HAND_WAIT;
    hand_pass(&hand, 1000 * MS);
    assert_int_equal(hand_totals(&hand).hangs, 0);
    assert_int_equal(hand.events, 2);
    assert_true(hand.event[1].ended);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    assert_int_equal(hand_totals(&hand).vetoed[FW_HANG_VETO_IDLE_STACK], 1);
    hand_end(&hand);
}

static void idle_stacks_are_recognised(void **state)
{
    (void)state;
    struct fw_frame frames[8] = {
        {.address = 0x9000, .kind = FW_FRAME_EXACT},
        {.address = HAND_WAIT_END, .kind = FW_FRAME_RETURN}, /* the call lies before it */
        {.address = 0x1000, .kind = FW_FRAME_RETURN},
    };
    struct fw_stack stack = {.frames = frames, .count = 3};
    assert_true(hang_sites_idle(&stack));
    frames[1].kind = FW_FRAME_EXACT;
    assert_false(hang_sites_idle(&stack));
    frames[1] = (struct fw_frame){.address = HAND_WAIT + 8, .kind = FW_FRAME_RETURN};
    assert_true(hang_sites_idle(&stack));
    frames[0].flags = FW_FRAME_SIGNAL; /* a handler runs in the wait */
    assert_false(hang_sites_idle(&stack));
    for (unsigned i = 0; i < 8; i++)
        frames[i] = (struct fw_frame){.address = i == HANG_SITE_DEPTH ? HAND_WAIT : 0x1000};
    stack.count = 8; /* far out: the loop called something */
    assert_false(hang_sites_idle(&stack));
}

/* The wall clock jumps in both directions: only begins are told by it. */
static void the_wall_clock_jumps(void **state)
{
    (void)state;
    static const int64_t jumps[] = {-86400000, 86400000, -3600000, 1000, INT32_MAX};
    for (unsigned i = 0; i < 5; i++) {
        struct fw_hang_watch *watch = start((struct fw_hang_options){0});
        fw_hang_busy(watch);
        hand_pass(&hand, 100 * MS);
        hand.wall_ms += (uint64_t)jumps[i];
        hand_pass(&hand, 500 * MS);
        const uint64_t wall = hand.wall_ms + hand.now / MS;
        fw_hang_idle(watch);
        hand_pass(&hand, 10 * MS);
        assert_about(hand.event[1].duration_ns, 600 * MS, TICK);
        assert_about(hand.event[1].started_ms, wall - 600, HAND_TICK_MS + 1);
        hand_turn(&hand, watch, 100 * MS, 10 * MS);
        expect(1, FW_HANG_VETO_NONE);
    }
}

/* The monitor was a little late all the time: nothing is lost, nothing is invented. */
static void a_loaded_machine(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.sample_takes = 3 * MS;
    for (unsigned i = 0; i < 200; i++) {
        fw_hang_busy(watch);
        for (unsigned ms = 0; ms < 200; ms += 20) {
            hand_freeze(&hand, 15 * MS);
            hand_pass(&hand, 5 * MS);
        }
        fw_hang_idle(watch);
        hand_pass(&hand, 5 * MS);
    }
    assert_int_equal(hand.events, 0);
    fw_hang_busy(watch);
    for (unsigned ms = 0; ms < 1000; ms += 20) {
        hand_freeze(&hand, 15 * MS);
        hand_pass(&hand, 5 * MS);
    }
    fw_hang_idle(watch);
    hand_pass(&hand, 5 * MS);
    assert_about(hand.event[1].duration_ns, 1000 * MS, 100 * MS);
    assert_int_equal(hand_totals(&hand).hangs, 1);
    hand_end(&hand);
}

/* A busy machine: the monitor gets a processor `late` too late each time. The thread sleeps for
 * `asleep`, so nothing of that is the monitor's business. */
static uint64_t told_when_late(uint64_t late, uint64_t asleep)
{
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_turn(&hand, watch, 5 * MS, 5 * MS); /* turns are taken: the monitor wakes by itself */
    const uint64_t end = hand.now + asleep;
    fw_hang_busy(watch);
    while (hand.now < end) {
        const uint64_t due = hand.deadline > hand.now ? hand.deadline - hand.now : 0;
        const uint64_t span = due + late < end - hand.now ? due + late : end - hand.now;
        hand_starve(&hand, span);
        if (hand.now < end)
            hand_pass(&hand, 0);
    }
    fw_hang_idle(watch);
    hand_starve(&hand, late);
    hand_pass(&hand, 10 * MS);
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.vetoed[FW_HANG_VETO_STOPPED], 0);
    assert_int_equal(totals.hangs, 1);
    assert_int_equal(hand.events, 2);
    hand_end(&hand);
    return hand.event[1].duration_ns;
}

static void a_late_monitor_shortens_nothing(void **state)
{
    (void)state;
    static const uint64_t late[] = {20, 32, 40, 80, 100, 120};
    static const uint64_t ms[] = {600, 1200, 5000};
    for (unsigned i = 0; i < sizeof late / sizeof late[0]; i++)
        for (unsigned k = 0; k < sizeof ms / sizeof ms[0]; k++)
            assert_about(told_when_late(late[i] * MS, ms[k] * MS), ms[k] * MS, TICK);
}

/* The mark rings, and the monitor gets no processor for a while. */
static void late_at_the_bell(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_pass(&hand, 10000 * MS);
    assert_int_equal(hand.deadline, UINT64_MAX);
    fw_hang_busy(watch);
    hand_starve(&hand, 100 * MS);
    hand_pass(&hand, 1100 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    assert_about(hand.event[1].duration_ns, 1200 * MS, TICK);
    expect(1, FW_HANG_VETO_NONE);
}

/* A turn of little work, on a machine on which neither the thread nor the monitor gets a processor:
 * how long the thread starved before the monitor's first look nobody knows. */
static void both_get_no_processor(void **state)
{
    (void)state;
    for (unsigned rings = 0; rings < 2; rings++) {
        struct fw_hang_watch *watch = start((struct fw_hang_options){0});
        hand.load = (struct hang_load){.known = true, .has_delay = true, .runnable = true};
        hand.run_share = 5;
        if (rings)
            hand_pass(&hand, 10000 * MS);
        else
            hand_turn(&hand, watch, 5 * MS, 5 * MS);
        fw_hang_busy(watch);
        hand_starve(&hand, 380 * MS);
        hand_pass(&hand, 200 * MS);
        fw_hang_idle(watch);
        hand_pass(&hand, 10 * MS);
        expect(0, FW_HANG_VETO_STARVED);
    }
}

static void starve_in_samples(struct hand *h)
{
    h->waited += 200 * MS;
    hand_freeze(h, 200 * MS);
}

/* Without a processor in the middle of a sample. */
static void late_in_a_sample(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand.in_sample = starve_in_samples;
    const uint64_t began = hand.now;
    fw_hang_busy(watch);
    hand_pass(&hand, 1200 * MS);
    fw_hang_idle(watch);
    const uint64_t lasted = hand.now - began;
    hand_pass(&hand, 10 * MS);
    assert_about(hand.event[1].duration_ns, lasted, TICK);
    expect(1, FW_HANG_VETO_NONE);
}

/* Both: stopped on a busy machine, in a hang and before it could be one. */
static void stopped_and_late(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_turn(&hand, watch, 5 * MS, 5 * MS);
    fw_hang_busy(watch);
    hand_pass(&hand, 400 * MS);
    hand_starve(&hand, 100 * MS);
    hand_freeze(&hand, 60000 * MS); /* SIGCONT, and again no processor */
    hand_starve(&hand, 100 * MS);
    hand_pass(&hand, 200 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    assert_about(hand.event[1].duration_ns, 800 * MS, TICK + 100 * MS);
    expect(1, FW_HANG_VETO_NONE);

    watch = start((struct fw_hang_options){0});
    hand_turn(&hand, watch, 5 * MS, 5 * MS);
    fw_hang_busy(watch);
    hand_starve(&hand, 170 * MS);
    hand_freeze(&hand, 60000 * MS);
    hand_starve(&hand, 40 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    expect(0, FW_HANG_VETO_NONE); /* 210 ms were the thread's */
}

/*
 * Scenarios that other trackers name in their tests, as lists of what happens (in ms), and what is
 * to be told.
 */
enum act { END, BUSY, IDLE, PASS, FREEZE, SUSPEND, HIDE, SHOW };
struct scenario {
    const char *name;
    struct {
        enum act act;
        unsigned ms;
    } acts[24];
    unsigned hangs;
    unsigned duration_ms; /* of the last one */
};

static const struct scenario scenarios[] = {
    /* Sentry, ANR trackers: 22 and 16 scenarios; those about its own threads and delegates have no
     * counterpart here. */
    {"continuous short turns",
     {{BUSY, 0}, {PASS, 16}, {IDLE, 0}, {PASS, 1}, {BUSY, 0}, {PASS, 16}, {IDLE, 0}, {PASS, 500}},
     0,
     0},
    {"blocked main thread", {{BUSY, 0}, {PASS, 2500}, {IDLE, 0}, {PASS, 10}}, 1, 2500},
    {"blocked several times",
     {{BUSY, 0}, {PASS, 400}, {IDLE, 0}, {PASS, 5}, {BUSY, 0}, {PASS, 600}, {IDLE, 0}, {PASS, 10}},
     2,
     600},
    {"blocked again right away",
     {{BUSY, 0}, {PASS, 400}, {BUSY, 0}, {PASS, 300}, {IDLE, 0}, {PASS, 10}},
     2,
     300},
    {"almost, many times",
     {{BUSY, 0},
      {PASS, 240},
      {BUSY, 0},
      {PASS, 240},
      {BUSY, 0},
      {PASS, 240},
      {BUSY, 0},
      {PASS, 240},
      {IDLE, 0},
      {PASS, 10}},
     0,
     0},
    {"suspended app, then awake",
     {{BUSY, 0}, {PASS, 10}, {FREEZE, 816000}, {PASS, 10}, {IDLE, 0}, {PASS, 300}},
     0,
     0},
    {"suspended while idle",
     {{BUSY, 0},
      {PASS, 1},
      {IDLE, 0},
      {PASS, 1},
      {FREEZE, 816000},
      {BUSY, 0},
      {PASS, 100},
      {IDLE, 0},
      {PASS, 10}},
     0,
     0},
    {"in the background", {{HIDE, 0}, {BUSY, 0}, {PASS, 3000}, {IDLE, 0}, {PASS, 10}}, 0, 0},
    {"to the foreground, then blocked",
     {{HIDE, 0},
      {PASS, 1000},
      {SHOW, 0},
      {PASS, 10},
      {BUSY, 0},
      {PASS, 500},
      {IDLE, 0},
      {PASS, 10}},
     1,
     500},
    {"to the background in a blocked turn",
     {{BUSY, 0}, {PASS, 100}, {HIDE, 0}, {PASS, 3000}, {SHOW, 0}, {IDLE, 0}, {PASS, 10}},
     0,
     0},
    {"to the background after it was told",
     {{BUSY, 0}, {PASS, 400}, {HIDE, 0}, {PASS, 100}, {IDLE, 0}, {PASS, 10}},
     1,
     500},
    {"machine asleep for hours",
     {{BUSY, 0}, {PASS, 20}, {SUSPEND, 7200000}, {PASS, 200}, {IDLE, 0}, {PASS, 10}},
     0,
     0},
    {"blocked after the machine slept",
     {{SUSPEND, 7200000}, {BUSY, 0}, {PASS, 700}, {IDLE, 0}, {PASS, 10}},
     1,
     700},
    /* Bugsnag, app_hangs.feature. */
    {"hang above the threshold", {{BUSY, 0}, {PASS, 3000}, {IDLE, 0}, {PASS, 10}}, 1, 3000},
    {"hang below the threshold", {{BUSY, 0}, {PASS, 200}, {IDLE, 0}, {PASS, 10}}, 0, 0},
    {"hang before the first wait", {{BUSY, 0}, {PASS, 5000}, {IDLE, 0}, {PASS, 1000}}, 1, 5000},
    {"fatal: never comes back", {{BUSY, 0}, {PASS, 10000}}, 1, 10000},
    {"background hang, off by default",
     {{HIDE, 0}, {BUSY, 0}, {PASS, 10000}, {SHOW, 0}, {PASS, 10}, {IDLE, 0}, {PASS, 10}},
     0,
     0},
    {"each unit of work for itself",
     {{BUSY, 0},
      {PASS, 150},
      {BUSY, 0},
      {PASS, 150},
      {BUSY, 0},
      {PASS, 150},
      {IDLE, 0},
      {PASS, 10}},
     0,
     0},
    {"woken more than a second late",
     {{BUSY, 0}, {PASS, 200}, {FREEZE, 1500}, {PASS, 10}, {IDLE, 0}, {PASS, 10}},
     0,
     0},
};

static void scenarios_of_the_field(void **state)
{
    (void)state;
    for (unsigned s = 0; s < sizeof scenarios / sizeof scenarios[0]; s++) {
        const struct scenario *it = &scenarios[s];
        struct fw_hang_watch *watch = start((struct fw_hang_options){0});
        for (unsigned i = 0; it->acts[i].act != END; i++) {
            const uint64_t ns = it->acts[i].ms * MS;
            switch (it->acts[i].act) {
            case BUSY: fw_hang_busy(watch); break;
            case IDLE: fw_hang_idle(watch); break;
            case PASS: hand_pass(&hand, ns); break;
            case FREEZE: hand_freeze(&hand, ns); break;
            case SUSPEND: hand_suspend(&hand, ns); break;
            case HIDE: fw_hang_set_background(hand.monitor, true); break;
            case SHOW: fw_hang_set_background(hand.monitor, false); break;
            case END: break;
            }
        }
        hang_close(hand.monitor);
        if (hand_totals(&hand).hangs != it->hangs || hand.events != 2 * it->hangs)
            fail_msg("%s: %u events", it->name, hand.events);
        if (it->hangs)
            assert_about(hand.event[hand.events - 1].duration_ns, it->duration_ms * MS, TICK);
        hand_end(&hand);
    }
}

static void vetoes_have_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FW_HANG_VETOES; i++)
        assert_true(strlen(fw_hang_veto_text((fw_hang_veto)i)) > 3);
    assert_string_equal(fw_hang_veto_text((fw_hang_veto)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped),
        cmocka_unit_test(stopped_is_counted),
        cmocka_unit_test(stopped_at_the_bell),
        cmocka_unit_test(stopped_in_a_sample),
        cmocka_unit_test(stopped_in_a_hang),
        cmocka_unit_test(the_machine_slept),
        cmocka_unit_test(debugged),
        cmocka_unit_test(background),
        cmocka_unit_test(starved_as_the_kernel_counts),
        cmocka_unit_test(starving_is_not_guessed),
        cmocka_unit_test(starving_is_counted_once),
        cmocka_unit_test(starving_goes_on_around_what_is_left_out),
        cmocka_unit_test(idle_stack),
        cmocka_unit_test(idle_stack_then_hang),
        cmocka_unit_test(told_without_stacks_then_idle),
        cmocka_unit_test(idle_stacks_are_recognised),
        cmocka_unit_test(the_wall_clock_jumps),
        cmocka_unit_test(a_loaded_machine),
        cmocka_unit_test(a_late_monitor_shortens_nothing),
        cmocka_unit_test(late_at_the_bell),
        cmocka_unit_test(both_get_no_processor),
        cmocka_unit_test(late_in_a_sample),
        cmocka_unit_test(stopped_and_late),
        cmocka_unit_test(scenarios_of_the_field),
        cmocka_unit_test(vetoes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
