/* Reports of hangs, read back: what is in them, how many there are, and what was left out. On a
 * clock turned by hand. */
#include "watch/hand_clock.h"
#include "watch/spool_support.h"

#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hand hand;
static const char *folder;
static struct fw_reports *reports;
static char *text;

static struct fw_hang_watch *start(struct fw_hang_options options)
{
    folder = spool_new_folder();
    reports = spool_open(folder, 1000);
    options.reports = reports;
    hand_start(&hand, options);
    return hand_watch(&hand, "main");
}

static void finish(void)
{
    hand_end(&hand);
    fw_reports_close(reports);
    spool_remove_folder(folder);
}

static struct report *read_file(const char *id, const char *suffix)
{
    struct report *report;
    FILE *file = fopen(spool_path(folder, id, suffix), "rb");
    assert_non_null(file);
    text = malloc(1 << 20);
    const size_t size = fread(text, 1, 1 << 20, file);
    fclose(file);
    assert_int_equal(
        report_read((struct span){.data = (const uint8_t *)text, .size = size}, &report, NULL),
        FW_OK);
    return report;
}

static struct report *read_report(const char *id)
{
    return read_file(id, ".fwr");
}

/* While it is written. */
static struct report *read_part(const char *id)
{
    return read_file(id, ".part");
}

static uint64_t total_in(const struct report *report, const char *name)
{
    for (size_t i = 0; i < report->total_count; i++)
        if (strcmp(report->totals[i].key, name) == 0)
            return report->totals[i].number;
    fail_msg("no total %s", name);
    return 0;
}

/* Code of this program, so that its image is in the report. */
static uint64_t here(const struct hand *h)
{
    return h->now / (700 * MS) % 2 ? (uintptr_t)&hand_pass : (uintptr_t)&hand_freeze;
}

static void what_is_in_a_report(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){.threshold_ms = 300});
    hand.where_at = here;
    const uint64_t wall = hand.wall_ms + hand.now / MS;
    hand_turn(&hand, watch, 5000 * MS, 10 * MS);
    assert_int_equal(hand.events, 2);
    assert_int_equal(strlen(hand.event[0].report_id), 32);
    assert_string_equal(hand.event[0].report_id, hand.event[1].report_id);
    assert_int_equal(hand_totals(&hand).reported, 1);
    struct report *report = read_report(hand.event[1].report_id);
    assert_int_equal(report->about, FWR_KIND_HANG);
    assert_in_range(report->started_ms, wall - HAND_TICK_MS - 1, wall + 1);
    assert_int_equal(report->hang.duration_ns, hand.event[1].duration_ns);
    assert_int_equal(report->hang.threshold_ns, 300 * MS);
    assert_int_equal(report->hang.ending, FWR_RECOVERED);
    uint64_t weight = 0, count = 0, last = 0;
    for (size_t i = 0; i < report->sample_count; i++) {
        weight += report->samples[i].weight_ns;
        count += report->samples[i].count;
        assert_true(report->samples[i].at_ns >= last);
        last = report->samples[i].at_ns;
    }
    assert_int_equal(count, hand.sampled);
    assert_int_equal(report->hang.samples, hand.sampled);
    assert_string_equal(report->hang.watch, "main");
    /* to the nanosecond, whatever was written when */
    assert_int_equal(weight + report->hang.unsampled_ns, report->hang.duration_ns);
    assert_true(report->sample_count < 40); /* runs, not samples */
    assert_int_equal(total_in(report, "hangs"), 1);
    report_free(report);
    free(text);
    finish();
}

static void the_same_stack_again(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    for (unsigned i = 1; i <= 100; i++) {
        hand.events = 0;
        hand_turn(&hand, watch, (300 + i) * MS, 10 * MS);
        const bool own = i == 1 || i == 10 || i == 100;
        assert_int_equal(hand.events, 2);
        assert_int_equal(hand.event[1].report_id[0] != '\0', own);
    }
    struct report *report = read_report(hand.event[1].report_id);
    assert_int_equal(total_in(report, "hangs"), 100);
    assert_int_equal(total_in(report, "hangs.annealed"), 97);
    assert_int_equal(total_in(report, "left_out"), 89); /* since the 10th */
    assert_in_range(total_in(report, "left_out.longest_ns") / MS, 398, 405);
    assert_in_range(total_in(report, "left_out.ns") / MS, 89 * 350, 89 * 362);
    report_free(report);
    free(text);
    hand.where = 0x7000; /* another stack is another matter */
    hand_turn(&hand, watch, 300 * MS, 10 * MS);
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.hangs, 101);
    assert_int_equal(totals.reported, 4);
    assert_int_equal(totals.annealed, 97);
    struct spool_contents contents;
    spool_look(folder, &contents);
    assert_int_equal(contents.ended, 4);
    finish();
}

static void so_many_a_day(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){.reports_per_day = 3});
    for (unsigned i = 0; i < 10; i++) {
        hand.where = 0x10000 + i * 0x100;
        hand_turn(&hand, watch, 300 * MS, 10 * MS);
    }
    assert_int_equal(hand_totals(&hand).reported, 3);
    assert_int_equal(hand_totals(&hand).capped, 7);
    hand_pass(&hand, UINT64_C(86400000) * MS);
    for (unsigned i = 0; i < 10; i++) {
        hand.where = 0x20000 + i * 0x100;
        hand_turn(&hand, watch, 300 * MS, 10 * MS);
    }
    const struct fw_hang_totals totals = hand_totals(&hand);
    assert_int_equal(totals.reported, 6);
    assert_int_equal(totals.hangs, 20);
    finish();
}

static void days_of_a_clock_that_jumps(void **state)
{
    (void)state;
    static struct annealing a;
    const uint64_t day = 86400000;
    uint64_t key = 1, now = 0, wall = 20000 * day;
    assert_int_equal(annealing_ask(&a, key++, now, wall, 1), ANNEALING_REPORT);
    assert_int_equal(annealing_ask(&a, key++, now, wall, 1), ANNEALING_CAPPED);
    /* back and forth within the same real day: no more of them */
    assert_int_equal(annealing_ask(&a, key++, now, wall - 10 * day, 1), ANNEALING_CAPPED);
    assert_int_equal(annealing_ask(&a, key++, now, wall, 1), ANNEALING_CAPPED);
    /* far ahead and back: a day later there are some again */
    assert_int_equal(annealing_ask(&a, key++, now, wall + 9999 * day, 1), ANNEALING_REPORT);
    assert_int_equal(annealing_ask(&a, key++, now, wall, 1), ANNEALING_CAPPED);
    now += day * MS;
    assert_int_equal(annealing_ask(&a, key++, now, wall + day, 1), ANNEALING_REPORT);
    assert_int_equal(annealing_ask(&a, key++, now, wall + day, 1), ANNEALING_CAPPED);
}

/* Thousands of stacks: the table keeps those used last. */
static void many_stacks(void **state)
{
    (void)state;
    static struct annealing a;
    for (uint64_t key = 1; key <= 5000; key++) {
        assert_int_equal(annealing_ask(&a, key, 0, 1, 1000000), ANNEALING_REPORT);
        if (key > 1) /* 1 is used all the time: never forgotten */
            assert_int_equal(annealing_ask(&a, 1, 0, 1, 0) == ANNEALING_REPORT, false);
    }
    assert_int_equal(annealing_ask(&a, 5000, 0, 1, 1000000), ANNEALING_SAME);
    assert_int_equal(annealing_ask(&a, 2, 0, 1, 1000000), ANNEALING_REPORT); /* forgotten */
    assert_int_equal(annealing_ask(&a, 0, 0, 1, 1000000), ANNEALING_REPORT); /* no stack */
    assert_int_equal(annealing_ask(&a, 0, 0, 1, 1000000), ANNEALING_SAME);
}

/* A hang that turns out to be none leaves nothing. */
static void discarded(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    struct spool_contents contents;
    hand.where = 0;
    fw_hang_busy(watch);
    hand_pass(&hand, 400 * MS);
    spool_look(folder, &contents);
    assert_int_equal(contents.parts, 1);
    hand.where = HAND_WAIT;
    hand_pass(&hand, 1000 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 10 * MS);
    spool_look(folder, &contents);
    assert_int_equal(contents.parts + contents.whole, 0);
    assert_int_equal(hand_totals(&hand).reported, 0);
    finish();
}

/* Stopped in the middle: the report says so. */
static void stopped_while_it_hangs(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 2000 * MS);
    hang_close(hand.monitor);
    struct report *report = read_report(hand.event[1].report_id);
    assert_int_equal(report->hang.ending, FWR_STOPPED);
    assert_in_range(report->hang.duration_ns, 2000 * MS, 2005 * MS);
    report_free(report);
    free(text);
    finish();
}

/* Before exec the whole time is written, sampled or not; and when exec fails, the hang goes on. */
static void written_in_the_middle(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 1000 * MS);
    hand.now += 7 * MS;
    const uint64_t age = hang_age(&hand.monitor->turns[0], hand.now);
    struct fwr_state known = {0};
    hang_flush(hand.monitor);
    FILE *file = fopen(spool_path(folder, hand.event[0].report_id, ".part"), "rb");
    assert_non_null(file);
    assert_true(spool_survey(fileno(file), UINT64_MAX, &known));
    fclose(file);
    assert_int_equal(known.duration_ns, age);
    assert_false(known.has_hang_end);
    hand_pass(&hand, 500 * MS);
    fw_hang_idle(watch);
    hand_pass(&hand, 500 * MS);
    struct report *report = read_report(hand.event[1].report_id);
    assert_int_equal(report->hang.ending, FWR_RECOVERED);
    assert_in_range(report->hang.duration_ns, 1507 * MS, 1512 * MS);
    report_free(report);
    free(text);
    finish();
}

/* The thread came back, and the monitor is stopped before it has looked: that is no open end. */
static void stopped_just_after_its_end(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 1000 * MS);
    fw_hang_idle(watch);
    hand.now += 500 * MS;
    hang_close(hand.monitor);
    struct report *report = read_report(hand.event[1].report_id);
    assert_int_equal(report->hang.ending, FWR_RECOVERED);
    assert_in_range(report->hang.duration_ns, 1000 * MS, 1005 * MS);
    report_free(report);
    free(text);
    finish();
}

/* A report's counters hold its own hang: as far as it is known at the threshold, and whole at its
 * end. */
static void its_own_hang_counts(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hand_turn(&hand, watch, 2500 * MS, 10 * MS);
    struct report *report = read_report(hand.event[1].report_id);
    assert_int_equal(total_in(report, "hangs"), 1);
    assert_int_equal(total_in(report, "hangs.severe"), 1);
    assert_int_equal(total_in(report, "hangs.reported"), 1);
    assert_int_equal(total_in(report, "hangs.ns"), report->hang.duration_ns);
    assert_int_equal(total_in(report, "hangs.samples"), hand.sampled);
    report_free(report);
    free(text);

    hand.where = 0x7000; /* and when its process is killed */
    fw_hang_busy(watch);
    hand_pass(&hand, 400 * MS);
    const uint64_t before = hand_totals(&hand).hang_ns;
    char id[FW_REPORT_ID_SIZE];
    strcpy(id, hand.event[2].report_id);
    report = read_part(id);
    assert_int_equal(total_in(report, "hangs"), 2);
    assert_in_range(total_in(report, "hangs.ns"), 2750 * MS, before);
    report_free(report);
    free(text);
    fw_hang_idle(watch);
    finish();
}

/* A machine that is switched off because it does not answer: what is severe is on the disk by
 * then. What is shorter waits for its end, so that no sample waits for the disk. */
static void a_severe_hang_is_durable(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    fw_hang_busy(watch);
    hand_pass(&hand, 1900 * MS);
    assert_false(hand.monitor->turns[0].report->named);
    hand_pass(&hand, 400 * MS);
    assert_true(hand.monitor->turns[0].report->named);
    fw_hang_idle(watch);
    finish();
}

static unsigned annotated;
static void annotate(void *context, struct fwr_writer *writer, uint64_t thread, uint64_t at_ns)
{
    const struct fwr_script_frame frame = {"handler", "server.py", 7};
    assert_ptr_equal(context, &annotated);
    assert_in_range(at_ns, 250 * MS, 256 * MS);
    fwr_script(writer, thread, at_ns, "python", &frame, 1);
    annotated++;
}

static void a_word_of_the_agent(void **state)
{
    (void)state;
    struct fw_hang_watch *watch = start((struct fw_hang_options){0});
    hang_set_annotate(hand.monitor, annotate, &annotated);
    hand_turn(&hand, watch, 600 * MS, 10 * MS);
    assert_int_equal(annotated, 1);
    struct report *report = read_report(hand.event[1].report_id);
    assert_int_equal(report->script_count, 1);
    report_free(report);
    free(text);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_a_report),
        cmocka_unit_test(the_same_stack_again),
        cmocka_unit_test(so_many_a_day),
        cmocka_unit_test(days_of_a_clock_that_jumps),
        cmocka_unit_test(many_stacks),
        cmocka_unit_test(discarded),
        cmocka_unit_test(stopped_while_it_hangs),
        cmocka_unit_test(written_in_the_middle),
        cmocka_unit_test(stopped_just_after_its_end),
        cmocka_unit_test(its_own_hang_counts),
        cmocka_unit_test(a_severe_hang_is_durable),
        cmocka_unit_test(a_word_of_the_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
