/*
 * Framewalk's own reports in every form: what is expected stands beside the tests (watch-*.to-*);
 * FW_REPORT_UPDATE=1 writes these files anew; review them then. Sums of weights are checked by
 * adding up what was written; names that are attacks by looking for what must not come through.
 */
#include "report/watch_reports.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/fwr.h"

typedef fw_error writer(const struct report *, report_resolve, void *, struct report_bytes *);

static struct report_bytes write_with(writer *write, const struct report *r)
{
    struct report_bytes out = {0};
    assert_int_equal(write(r, NULL, NULL, &out), FW_OK);
    return out;
}

static void compare(const char *name, writer *write, const struct report *r)
{
    struct report_bytes out = write_with(write, r);
    if (getenv("FW_REPORT_UPDATE")) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", FW_REPORT_DATA, name);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fwrite(out.data, 1, out.size, file);
        fclose(file);
    }
    struct span expected = load_own(name);
    if (expected.size != out.size || memcmp(expected.data, out.data, out.size) != 0)
        print_error("%s differs; got:\n%s\n", name, out.data);
    assert_int_equal(expected.size, out.size);
    assert_memory_equal(expected.data, out.data, out.size);
    free((void *)(uintptr_t)expected.data);
    report_bytes_free(&out);
}

static void as_expected(void **state)
{
    (void)state;
    compare("watch-hang.to-text", report_to_text, hang_report());
    compare("watch-hang.to-json", report_to_json, hang_report());
    compare("watch-hang.to-collapsed", report_to_collapsed, hang_report());
    compare("watch-hang.to-speedscope", report_to_speedscope, hang_report());
    compare("watch-hang.to-firefox", report_to_firefox, hang_report());
    compare("watch-hang.to-crash", report_to_crash, hang_report());
    compare("watch-calls.to-text", report_to_text, calls_report());
    compare("watch-calls.to-json", report_to_json, calls_report());
    compare("watch-calls.to-collapsed", report_to_collapsed, calls_report());
    compare("watch-calls.to-speedscope", report_to_speedscope, calls_report());
}

/* The numbers at the ends of lines that begin with `root`. */
static uint64_t collapsed_sum(const struct report_bytes *out, const char *root)
{
    uint64_t sum = 0;
    for (char *line = strtok(out->data, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, root, strlen(root)) == 0)
            sum += strtoull(strrchr(line, ' '), NULL, 10);
    return sum;
}

/* A list of decimal fractions behind `key`, in millionths. */
static uint64_t exact_sum(const char *text, const char *key)
{
    uint64_t sum = 0;
    const char *p = strstr(text, key);
    assert_non_null(p);
    for (p = strchr(p, '[') + 1; *p != ']'; p += *p == ',') {
        char *end;
        sum += strtoull(p, &end, 10) * 1000000;
        unsigned scale = 100000;
        if (*end == '.')
            for (end++; isdigit((unsigned char)*end); end++, scale /= 10)
                sum += (uint64_t)(*end - '0') * scale;
        p = end;
    }
    return sum;
}

static void sums(void **state)
{
    (void)state;
    struct report_bytes out = write_with(report_to_collapsed, hang_report());
    assert_int_equal(collapsed_sum(&out, "main;"), HANG_SAMPLED_MS);
    report_bytes_free(&out);
    out = write_with(report_to_collapsed, hang_report());
    assert_int_equal(collapsed_sum(&out, "main (python);"), HANG_SAMPLED_MS);
    report_bytes_free(&out);
    out = write_with(report_to_collapsed, calls_report());
    assert_int_equal(collapsed_sum(&out, "calls;"), CALLS_COUNTED);
    report_bytes_free(&out);
    out = write_with(report_to_speedscope, hang_report());
    assert_int_equal(exact_sum(out.data, "\"weights\""), HANG_SAMPLED_NS);
    assert_non_null(strstr(out.data, "\"endValue\":1718.249999,"));
    report_bytes_free(&out);
    out = write_with(report_to_firefox, hang_report());
    assert_int_equal(exact_sum(out.data, "\"weight\""), HANG_SAMPLED_NS);
    report_bytes_free(&out);
}

/* Small weights must not all be rounded away: their sum counts. */
static void many_small_weights(void **state)
{
    enum { COUNT = 1000 };
    static struct report_sample samples[COUNT];
    struct report r = *hang_report();
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        samples[i] =
            (struct report_sample){.stack = 4 + i % 3, .count = 1, .at_ns = i, .weight_ns = 123456};
    r.samples = samples;
    r.sample_count = COUNT;
    struct report_bytes out = write_with(report_to_collapsed, &r);
    assert_int_equal(collapsed_sum(&out, "main;"), 123);
    report_bytes_free(&out);
}

/* Nothing that acts on a terminal, and no byte that is no character. */
static void assert_tame(const char *text)
{
    for (size_t length; *text; text += length) {
        length = utf8_length(text);
        assert_true(length > 0);
        assert_true(*text == '\n' || !utf8_is_control(text));
    }
}

static void hostile_names(void **state)
{
    static writer *const writers[] = {report_to_json,  report_to_collapsed, report_to_speedscope,
                                      report_to_pprof, report_to_firefox,   report_to_text};
    (void)state;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        struct report_bytes out = write_with(writers[i], hostile_report());
        assert_true(out.size > 0);
        report_bytes_free(&out);
    }
    struct report_bytes out = write_with(report_to_text, hostile_report());
    assert_tame(out.data);
    assert_non_null(strstr(out.data, "\\x1b[31mred"));
    assert_non_null(strstr(out.data, "\\xe2\\x80\\xae txt.exe"));
    report_bytes_free(&out);
    out = write_with(report_to_collapsed, hostile_report());
    assert_null(strchr(out.data, '\x1b'));
    assert_null(strchr(out.data, '\r'));
    report_bytes_free(&out);
}

static void lines_are_narrow(void **state)
{
    (void)state;
    const struct report *reports[] = {hang_report(), calls_report()};
    for (size_t i = 0; i < 2; i++) {
        struct report_bytes out = write_with(report_to_text, reports[i]);
        for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(strlen(line) <= 100);
        report_bytes_free(&out);
    }
}

/* A loop is sampled at many addresses: what counts is the function, not the address with the most.
 */
static void scattered_addresses(void **state)
{
    enum { STACKS = 4 };
    static struct report_name names[] = {
        {.function = "guilty", .file = "guilty.c", .line = 7, .has_offset = true, .offset = 1},
        {.function = "other", .file = "other.c", .line = 9, .has_offset = true, .offset = 1}};
    static struct report_frame frames[STACKS];
    static struct report_thread threads[STACKS];
    static struct report_sample samples[STACKS];
    struct report r = *hang_report();
    (void)state;
    for (uint32_t i = 0; i < STACKS; i++) {
        bool other = i == 0;
        frames[i] = (struct report_frame){.thread = i,
                                          .parent = REPORT_NONE,
                                          .has_offset = true,
                                          .offset = i + 1,
                                          .samples = 1,
                                          .first_name = other,
                                          .name_count = 1};
        threads[i] = (struct report_thread){.stack = true, .first_frame = i, .frame_count = 1};
        samples[i] = (struct report_sample){
            .stack = i, .count = 1, .at_ns = i, .weight_ns = other ? 50000000 : 20000000};
    }
    r.names = names;
    r.frames = frames;
    r.frame_count = r.thread_count = r.sample_count = STACKS;
    r.threads = threads;
    r.samples = samples;
    r.script_count = 0;
    r.hang.thread = REPORT_NONE;
    struct report_bytes out = write_with(report_to_text, &r);
    const char *heaviest = strstr(out.data, "The stack with the most time (60 ms, 55 %)");
    assert_non_null(heaviest);
    assert_non_null(strstr(heaviest, "0  guilty"));
    assert_non_null(strstr(heaviest, "guilty.c:7"));
    report_bytes_free(&out);
}

/* A tree as deep as it has frames, each with a weight of its own: where callers stand inside
 * callees every frame is the beginning of another stack. The sum is kept, or the tree is refused.
 */
static void deep_trees(void **state)
{
    enum { DEPTH = 20000 };
    static struct report_frame frames[DEPTH];
    struct report_thread thread = {.order = REPORT_CALLERS, .frame_count = DEPTH};
    struct report r = {.kind = REPORT_METRICKIT,
                       .complete = true,
                       .threads = &thread,
                       .thread_count = 1,
                       .frames = frames,
                       .frame_count = DEPTH};
    (void)state;
    for (uint32_t i = 0; i < DEPTH; i++)
        frames[i] = (struct report_frame){.image = REPORT_NONE,
                                          .parent = i ? i - 1 : REPORT_NONE,
                                          .has_address = true,
                                          .address = i + 1,
                                          .samples = DEPTH - i};
    struct report_bytes out = write_with(report_to_text, &r);
    assert_non_null(strstr(out.data, "(20,000 samples)"));
    report_bytes_free(&out);
    out = write_with(report_to_firefox, &r);
    report_bytes_free(&out);
    thread.order = REPORT_CALLEES;
    assert_int_equal(report_to_text(&r, NULL, NULL, &out), FW_ERR_FULL);
    assert_int_equal(report_to_collapsed(&r, NULL, NULL, &out), FW_ERR_FULL);
    assert_int_equal(report_to_firefox(&r, NULL, NULL, &out), FW_ERR_FULL);
    report_bytes_free(&out);
}

static void endings(void **state)
{
    static const char *const phrases[] = {"breaks off here", "then came back", "was killed",
                                          "the watch was stopped", "was no hang"};
    (void)state;
    for (uint8_t ending = 0; ending < 5; ending++) {
        struct report r = *hang_report();
        r.hang.ending = ending;
        struct report_bytes out = write_with(report_to_text, &r);
        assert_non_null(strstr(out.data, phrases[ending]));
        report_bytes_free(&out);
    }
}

/* A hang that broke off before its samples: the snapshot is what there is. */
static void without_samples(void **state)
{
    struct report r = *hang_report();
    (void)state;
    r.sample_count = 0;
    struct report_bytes out = write_with(report_to_text, &r);
    assert_null(strstr(out.data, "Where the time went"));
    assert_non_null(strstr(out.data, "Thread 4711 \"shop\" (main) (watched) running"));
    report_bytes_free(&out);
    out = write_with(report_to_collapsed, &r);
    assert_int_equal(collapsed_sum(&out, "shop;"), 1);
    report_bytes_free(&out);
}

static void nothing_to_write(void **state)
{
    static writer *const writers[] = {report_to_speedscope, report_to_pprof, report_to_firefox,
                                      report_to_crash};
    struct report r = {.kind = REPORT_FRAMEWALK, .complete = true};
    (void)state;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        struct report_bytes out = {0};
        assert_int_equal(writers[i](&r, NULL, NULL, &out), FW_ERR_UNSUPPORTED);
        report_bytes_free(&out);
    }
    struct report_bytes out = write_with(report_to_collapsed, &r);
    assert_int_equal(out.size, 0);
    report_bytes_free(&out);
    out = write_with(report_to_text, &r);
    assert_string_equal(out.data, "A program: threads\n");
    report_bytes_free(&out);
    out = write_with(report_to_json, &r);
    report_bytes_free(&out);
}

/* A hang's classic text says what ended it, and every frame's place can be read back from it. */
static void hang_as_crash(void **state)
{
    (void)state;
    struct report hang = *hang_report();
    struct report *back = NULL;
    struct fw_failure why = {0};
    for (uint8_t ending = FWR_ENDING_NONE; ending <= FWR_VETOED; ending++) {
        hang.hang.ending = ending;
        struct report_bytes out = write_with(report_to_crash, &hang);
        const bool killed = ending == FWR_KILLED;
        assert_int_equal(strstr(out.data, "SIGKILL") != NULL, killed);
        assert_int_equal(strstr(out.data, "Crashed") != NULL, killed);
        assert_int_equal(strstr(out.data, "Event: ") != NULL, !killed);
        assert_int_equal(strstr(out.data, "Hung Thread: ") != NULL, !killed);
        assert_int_equal(report_read((struct span){(uint8_t *)out.data, out.size}, &back, &why),
                         FW_OK);
        assert_int_equal(back->kind, REPORT_CRASH);
        for (size_t i = 0, at = 0; i < back->frame_count; i++) {
            const struct report_frame *frame = &back->frames[i];
            if (at < hang.frame_count - 1 && frame->offset != hang.frames[at].offset)
                at++; /* an inlined function has a line of its own */
            assert_int_equal(frame->offset, hang.frames[at].offset);
            assert_string_equal(back->images[frame->image].path,
                                hang.images[hang.frames[at].image].path);
        }
        report_free(back);
        report_bytes_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hang_as_crash),
        cmocka_unit_test(as_expected),
        cmocka_unit_test(sums),
        cmocka_unit_test(many_small_weights),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(lines_are_narrow),
        cmocka_unit_test(scattered_addresses),
        cmocka_unit_test(deep_trees),
        cmocka_unit_test(endings),
        cmocka_unit_test(without_samples),
        cmocka_unit_test(nothing_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
